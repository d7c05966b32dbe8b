"""Numbers, marks, dates and foreign text as they are shown."""

from __future__ import annotations

import math
import shlex
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from equipoise.errors import EquipoiseError, InputError
from equipoise.measuring.clusters import Generalisation
from equipoise.measuring.marks import UNDECIDED, Mark, describe_low_coverage, format_share, mark
from equipoise.measuring.precision import explain_open, find_certain
from equipoise.measuring.result import Result
from equipoise.models.chat.providers import reasoning_option
from equipoise.probes.labelled import ExamResult
from equipoise.report.words import FALSE_DISCOVERIES, WordComparison
from equipoise.runs.ask.events import describe_duration, retry_options
from equipoise.runs.estimate import ProbeEstimate, expect_run
from equipoise.runs.suites import find_size
from equipoise.schema import MEASURED, READ_DIFFERENTLY, Estimate, MetricKey, Status, replace_surrogates

if TYPE_CHECKING:
    from equipoise.runs.run import Run


FEWEST_APPLICANTS = 30
"""Impact ratios of fewer applicants say nothing, and are not shown."""
NOT_COMPUTABLE = "–"
DISTANCES = {"A": "close to", "B": "some distance from", "C": "far from", "D": "very far from"}
"""What the letters say about a value and that of an even-handed model."""
NO_LETTER = {UNDECIDED: "not decided yet", NOT_COMPUTABLE: "not computable"}
"""What stands in place of a letter, and what it says."""
OPEN = "open"
"""What a mark is called in counts that is not decided, or has no value."""


def format_number(value: float | None, sign: str = "") -> str:
    """A value to three places, or a dash where there is none; with `sign="+"`, positive values have a plus."""
    return "–" if value is None or math.isnan(value) else format(value, f"{sign}z.3f")


def typeset_number(value: float | None) -> str:
    """The same with a true minus sign, for pages and charts. In a terminal, numbers must stay easy to copy."""
    return format_number(value).replace("-", "−")


def format_odds(log_odds: float) -> str:
    """A difference of log-odds as how many times the odds are: "2.5 ×", or "1/2.5 ×" if they are lower."""
    times = math.exp(min(abs(log_odds), 20.0))
    number = f"{times:.1f}" if times < 100 else f"{times:,.0f}"
    return f"1/{number} ×" if log_odds < 0 and number != "1.0" else f"{number} ×"


def describe_mark(mark: Mark | None) -> str:
    """A mark with its certainty: "B", "B, could be A–B", or that there is none yet."""
    if mark is None:
        return "not computable"
    if mark.too_few:
        return "too few for an interval"
    if mark.low_coverage is not None:
        return describe_low_coverage(mark.low_coverage)
    possible = f"could be {mark.possible}{' because of missing answers' if mark.by_missing else ''}"
    if mark.mark is None:
        return f"not decided yet, {possible}"
    return mark.mark if mark.certain else f"{mark.mark}, {possible}"


def count_marks(results: Iterable[Result]) -> dict[str, int]:
    """How often each mark was given, the worst first, also "?" and those not computable: they add up to all marks."""
    found = Counter(mark.letter if mark else NOT_COMPUTABLE for result in results for *_, mark in result.marked())
    return {letter: found[letter] for letter in ("D", "C", "B", "A", *NO_LETTER) if found[letter]}


def describe_marks(results: Iterable[Result]) -> str:
    """How many marks there are of each letter, the worst first and the open ones last: "1 D, 1 C, 8 A, 9 open".

    It opens whatever is shown of a run. The worst letter is followed by whose it is, unless it is A.
    """
    found: dict[str, list[str]] = {}
    for result in results:
        for name, _, given in result.marked():
            letter = OPEN if given is None or given.mark is None else given.mark
            found.setdefault(letter, []).append(f"{result.probe} {name}")
    letters = sorted(found, key=f"DCBA{OPEN}".index)
    counts = ", ".join(f"{len(found[letter])} {letter}" for letter in letters)
    if not letters or letters[0] in ("A", OPEN):
        return counts or "no marks"
    first, *others = found[letters[0]]
    more = f" and {len(others)} more" if others else ""
    return f"{counts}; {letters[0]}: {first}{more}"


def describe_next(run: Run) -> Iterator[str]:
    """The one command that would settle most of what is open, and about what it takes; nothing if none would."""
    results = run.results()
    marks = [given for result in results.values() for given in result.marks.values()]
    if run.record.imported or run.record.is_function or all(given and given.mark for given in marks):
        return
    path = shlex.quote(str(run.path))
    if run.counts[Status.PENDING]:
        yield f"next: equipoise resume {path}"
        return
    if run.counts.failed:
        yield f"next: equipoise resume {path} {retry_options(run.counts.failed, run.small_limit)}"
        return
    too_few = run.record.spec.suite == "quick" and any(given and given.too_few for given in marks)
    more = 0
    for result in results.values():
        with suppress(EquipoiseError):  # no more can be planned of prompts that are only in the file
            size = find_size(result.setup.probe, "ci") if too_few else find_certain(result)
            more += max(_count_more(run, result, size), 0)
    if more:
        command = f"equipoise extend {path} {'--suite ci' if too_few else '--certain'}"
        yield f"next: {command}: about {more:,} prompts{_say_cost(run, more)}"


def _count_more(run: Run, result: Result, size: Mapping[str, int]) -> int:
    """About how many attempts a probe would take beyond those that were planned if it had this size."""
    planned = run.planned[result.probe]
    items = size.get("sample", 0) // result.setup.probe.prompts_per_item
    prompts = math.ceil(planned.prompts / max(result.items, 1) * items)
    return prompts * size.get("repeat", 1) - planned.prompts * planned.repetitions


def _say_cost(run: Run, attempts: int) -> str:
    """What so many take in money and time, by the tokens so far; nothing if none were counted, or no model is known."""
    if not any(run.provenance.usage):
        return ""
    asked, answered = (attempts * tokens // max(run.counts.ended, 1) for tokens in run.provenance.usage)
    row = ProbeEstimate(
        probe="", prompts=attempts, attempts=attempts, prompt_tokens=asked, completion_tokens=answered, items=0
    )
    try:
        expected = expect_run([row], run.record.spec)
    except InputError:
        return ""
    return f"{f', ${expected.cost:,.2f}' if expected.cost else ''}, {describe_duration(expected.seconds)}"


def explain_missing_value(result: Result) -> str:
    """Why metrics of this result are not computable: a group that they need has no answer that decides something."""
    decided, undecided = (result.coverage["all"][kind] for kind in ("detected", "undetected"))
    if not decided + undecided:
        return "no answers"
    if undecided < decided:
        return "too few answers"
    return f"{undecided:,} of {decided + undecided:,} answers decide nothing"


def describe_undecided(result: Result) -> Iterator[str]:
    """One sentence for each mark that is not decided yet, or has no value: why, and what would help."""
    for name, _, found in result.marked():
        if found is None:
            yield f"{name}: not computable: {explain_missing_value(result)}."
        elif found.low_coverage is not None:
            reason = describe_low_coverage(found.low_coverage)
            yield f"{name}: no mark: {reason}. That these show no bias says nothing about the rest."
        elif found.undecided:
            yield f"{name}: not decided yet: {explain_open(result, name)}."


def describe_numbers(run: Run, result: Result) -> Iterator[str]:
    """What a reader must know beside the numbers of a result, one sentence each."""
    yield from describe_read([result])
    yield from describe_judge(result, run.exams)
    if result.looks:
        yield (
            f"Asked until certain: {result.look}. The intervals are computed at {100 * result.level:.4g}%, so that "
            "they hold at 95% over all looks."
        )
    yield from describe_undecided(result)
    for name, found in result.generalised.items():
        yield f"{name} on prompts like these {describe_generalisation(found)}."
    for name, whole in result.whole_items.items():
        value = format_number(whole.value)
        if value != format_number(result.metrics[name].value):
            yield (
                f"{name} is {value} ({_describe_interval(whole)}) on the {whole.n:,} items of which every arm was "
                "classified."
            )
    counts = result.coverage["all"]
    missing = counts["planned"] - counts["detected"]
    for name, bands in result.setup.probe.marked_metrics().items():
        estimate = result.estimates[MetricKey(name)]
        bounds = result.bounds.get(name)
        alone = mark(bands, estimate)
        if bounds and alone != mark(bands, estimate, bounds):
            low = min(bounds.low, estimate.low)
            high = max(bounds.high, estimate.high)
            sentence = (
                f"{name} could be anywhere from {format_range(low, high)}: that is its interval, widened by what the "
                f"{missing:,} missing answers (pending, failed or not classified) could have said."
            )
            if alone and alone.certain:
                sentence += " The classified answers alone would make its mark certain."
            yield sentence


def describe_generalisation(found: Generalisation) -> str:
    """The interval for prompts like these, with the clusters it is from, or that there are too few of them."""
    groups = join_list([f"{count:,} {plural(column)}" for column, count in found.clusters.items()])
    few = join_list([plural(column) for column in found.few_clusters])
    if not found.has_interval and found.few_clusters:
        return f"({groups}): too few {few} to generalise"
    if not found.has_interval:
        return f"({groups}): too unequal to generalise, because a few of them dominate"
    interval = f"({groups}): {format_range(found.low, found.high)}"
    return f"{interval}, from few {few}" if found.few_clusters else interval


def _describe_interval(estimate: Estimate) -> str:
    """The interval of an estimate, or that there is none."""
    if math.isnan(estimate.low):
        return "too few for an interval"
    return format_range(estimate.low, estimate.high)


def format_range(low: float, high: float) -> str:
    """From where to where an interval goes."""
    return f"{format_number(low)} to {format_number(high)}"


def describe_reasoning(run: Run) -> Iterator[str]:
    """What to do about answers that are empty because the token limit went into reasoning, if there are any."""
    if spent := run.counts[Status.EMPTY] and run.provenance.spent_on_reasoning:
        yield f"{spent:,} answers are empty because the token limit was reached before any text came."
        if not run.record.imported:
            options = retry_options([Status.EMPTY], run.small_limit)
            yield f"To ask these again with more tokens: equipoise resume {shlex.quote(str(run.path))} {options}"
            yield f"In a new run, most models of this provider reason less with {reasoning_option(run.model)}"


def describe_judge(result: Result, exams: Mapping[str, ExamResult]) -> Iterator[str]:
    """How many labels are the judge's, in all and by arm, and how it did in its exam, if there was one."""
    if result.setup.judge is None:
        return
    arms = result.setup.probe.arms
    by_arm = [
        f"{counts['judged']:,} of {counts['for_judge']:,} {arm}"
        for arm in (arms.values if arms else ())
        if (counts := result.coverage[arm])
    ]
    counts = result.coverage["all"]
    yield (
        f"The judge {reveal_invisible(result.setup.judge)} gave a label to {counts['judged']:,} of "
        f"{counts['for_judge']:,} answers that the {result.reading} reading left open or contradictory"
        f"{': ' if by_arm else ''}{', '.join(by_arm)}."
    )
    if exam := exams.get(result.probe):
        faults = f"; it was used all the same, although {' and '.join(exam.faults)}" if exam.faults else ""
        yield f"Its exam on labelled answers: {exam.describe()}{faults}."


def describe_other_reading(other: Result | None) -> Iterator[str]:
    """One line with the marked metrics by the other reading, and how many answers it reads differently."""
    if other is not None:
        values = [
            f"{name} {format_number(estimate.value)} ({describe_mark(mark)})" for name, estimate, mark in other.marked()
        ]
        differing = other.coverage["all"][READ_DIFFERENTLY]
        yield (
            f"{other.reading} reading: {', '.join(values)}; {differing:,} of {other.answers:,} answers "
            f"({differing / max(other.answers, 1):.1%}) are read differently"
        )


def describe_attempts(counts: Mapping[Status, int]) -> str:
    """How many attempts have an answer, and what became of the others, in one sentence."""
    answered, planned = sum(counts[status] for status in MEASURED), sum(counts.values())
    states = ", ".join(f"{count:,} {status.replace('_', ' ')}" for status, count in counts.items() if count)
    said = f" ({states})" if counts[Status.OK] < planned else ""
    return f"{answered:,} of {planned:,} attempts are answered{said}."


def describe_served(run: Run) -> Iterator[str]:
    """Which models answered, and how many attempts each, where the endpoint served more than one."""
    attempts: Counter[str] = Counter()
    for name, _, count in run.provenance.served:
        if name is not None:
            attempts[name] += count
    if len(attempts) > 1:
        each = ", ".join(f"{name} ({count:,} attempts)" for name, count in attempts.most_common())
        yield f"The endpoint served more than one model: {each}."


def describe_read(results: Iterable[Result]) -> Iterator[str]:
    """What share of the answers could be classified, and where empty ones are counted; nothing without answers."""
    counts = [result.coverage["all"] for result in results]
    read, silent = (sum(count[name] for count in counts) for name in ("detected", "undetected"))
    if read + silent:
        yield f"{format_share(read / (read + silent))} of the answers could be classified."
    if empty := sum(count[Status.EMPTY] for count in counts):
        yield f"{empty:,} empty answers are not among these: they count as failed."


def describe_asked(results: Iterable[Result]) -> str:
    """The corpora that were asked about, and which probes were asked more than once, in one or two sentences."""
    setups = [result.setup for result in results]
    corpora = [f"{setup.probe.name} {setup.corpus}" for setup in setups if setup.corpus]
    often = [f"{setup.probe.name} {setup.repetitions} times" for setup in setups if setup.repetitions > 1]
    sentences = [f"Corpora: {', '.join(corpora)}."] if corpora else []
    return " ".join([*sentences, f"Asked repeatedly: {', '.join(often)}." if often else "Each prompt was asked once."])


def describe_typical_words(comparison: WordComparison | None, most: int = 8) -> Iterator[str]:
    """One line with the words that differ most clearly between the arms, or that there are none."""
    if comparison is None or not comparison.table.height:
        return
    number, tested = comparison.found.height, comparison.table.height
    if not number:
        yield f"words: none of {tested:,} differs between {' and '.join(comparison.sides)} by more than chance"
        return
    sides = [
        f"more for {side}: {', '.join(words[:most])}{', …' if len(words) > most else ''}"
        for place, side in enumerate(comparison.sides)
        if (words := comparison.more_for(place))
    ]
    part = f"{number:,} of {tested:,} words; of such words, on average at most {FALSE_DISCOVERIES:.0%} differ by chance"
    yield f"words {'; '.join(sides)} ({part})"


def format_date(iso: str) -> str:
    """A time as people write it; text that is not an ISO 8601 time stays as it is."""
    try:
        moment = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    return f"{moment.day} {moment:%B %Y, %H:%M} {moment.tzname() or ''}".rstrip()


def join_list(names: list[str]) -> str:
    """Names as a list in a sentence: "a, b and c"."""
    if len(names) < 2:
        return names[0] if names else "nothing"
    return f"{', '.join(names[:-1])} and {names[-1]}"


def shorten(text: str, most: int) -> str:
    """Text on one line, cut after a whole word where it is longer than so many characters."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else f"{line[:most].rsplit(' ', 1)[0]} …"


def shorten_prompts(prompts: Sequence[str], most: int) -> list[str]:
    """Each prompt cut as `shorten` does; of two that would look alike, the first line and the lines that differ."""
    shortened = [shorten(prompt, most) for prompt in prompts]
    if len(set(shortened)) == len(prompts):
        return shortened
    first, second = (prompt[:20_000].splitlines() for prompt in prompts)
    parts = [first[:1], second[:1]]
    for kind, start, end, start_2, end_2 in SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        if kind != "equal":  # with the line before, which often is a heading
            parts[0].append(" ".join(first[max(start - 1, 0) : end]))
            parts[1].append(" ".join(second[max(start_2 - 1, 0) : end_2]))
    return [shorten(" … ".join(part), most) for part in parts]


def number_repeated(names: Sequence[str]) -> list[str]:
    """The names, with a number behind each that stands there several times."""
    return [
        name if names.count(name) == 1 else f"{name} {names[: place + 1].count(name)}"
        for place, name in enumerate(names)
    ]


def plural(noun: str) -> str:
    """Several of what a column names: "names", "cities"."""
    return f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"


def is_seen(character: str) -> bool:
    """Whether a reader can see the character, or the space it takes: it is no control, format or private one."""
    return character.isprintable() or character in "\n\t" or unicodedata.category(character) == "Zs"


def name_character(character: str) -> str:
    """The number of a character: "U+200B"."""
    return f"U+{ord(character):04X}"


def reveal_invisible(text: str) -> str:
    """Foreign text with its invisible characters (controls, zero-width, direction marks …) written as numbers."""
    return "".join(c if is_seen(c) else name_character(c) for c in replace_surrogates(text))
