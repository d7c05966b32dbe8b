"""The verdict of a gate for people and machines: lines for the terminal, JUnit XML, a Markdown summary."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from rich.text import Text

from equipoise.measuring.gate import Check, Gate, Outcome, worst_outcome
from equipoise.safe_text import printable_line

SUITE = "equipoise gate"
VERDICTS = {
    # in a headline, in a terminal and its style there, in Markdown
    Outcome.FAILED: ("FAILED", "FAIL", "bold red", "❌ **FAIL**"),
    Outcome.UNDECIDED: ("UNDECIDED", "OPEN", "bold yellow", "❔ **undecided**"),
    Outcome.PASSED: ("PASSED", "PASS", "green", "✅ PASS"),
}
"""What outcomes are called, the worst first."""


def gate_lines(gate: Gate, *, everything: bool = False) -> Iterator[Text]:
    """The verdict, what failed, what is open, and how many rules are kept; `everything`: each of these, too."""
    source = printable_line(" · ".join(filter(None, (gate.model, gate.file))))
    yield Text(headline(gate), style=VERDICTS[gate.outcome][2]).append(f"  {source}", style="not bold dim default")
    shown = [check for check in rank_checks(gate) if everything or check.outcome is not Outcome.PASSED]
    tolerated = gate.tolerated if not everything else []
    yield from check_lines([check for check in shown if check not in tolerated])
    if tolerated:
        names = ", ".join(printable_line(check.what) for check in tolerated)
        yield Text(f"open, which does not fail the gate (--undecided fail would): {names}")
    if not everything and (passed := len(gate.with_outcome(Outcome.PASSED))):
        yield Text(f"{passed} passed (--all shows each)", style="dim")


def rank_checks(gate: Gate) -> list[Check]:
    """What failed, then what is undecided, then what is passed."""
    return sorted(gate.checks, key=lambda check: list(VERDICTS).index(check.outcome))


def check_lines(checks: Sequence[Check]) -> Iterator[Text]:
    """One line per check: FAIL, OPEN or PASS, what, by which rule, what was found and what is allowed."""
    rows = [_printable_fields(check) for check in checks]
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    for check, (what, rule, found, limit) in zip(checks, rows, strict=True):
        _, word, style, _ = VERDICTS[check.outcome]
        line = f"  {what:{widths[0]}}  {rule:{widths[1]}}  {found}; allowed: {limit}"
        yield Text(word, style=style).append(line, style="not bold default")


def headline(gate: Gate) -> str:
    """The verdict in one line: "FAILED: 1 of 20 rules; jobs_lum.stereotype_rate is D"."""
    total = len(gate.checks)
    failed, undecided = (gate.with_outcome(outcome) for outcome in (Outcome.FAILED, Outcome.UNDECIDED))
    deciding = failed or [check for check in undecided if check not in gate.tolerated]
    parts = [f"all {total} rules"]
    if deciding:
        first, *others = deciding
        more = f", and {len(others)} more" if others else ""
        parts = [f"{len(deciding)} of {total} rules", f"{first.what} {first.summary}{more}"]
    elif undecided:
        parts = [f"{total - len(undecided)} of {total} rules"]
    if others_open := [check for check in undecided if check not in deciding]:
        parts += [f"{len(others_open)} open"]
    return printable_line(f"{VERDICTS[gate.outcome][0]}: {'; '.join(parts)}")


def headline_of_all(gates: Sequence[Gate]) -> Text:
    """The verdict on several runs in one line: "FAILED: 1 of 3 runs"."""
    worst = worst_outcome(gates)
    verdict, _, style, _ = VERDICTS[worst]
    return Text(f"{verdict}: {sum(gate.outcome is worst for gate in gates)} of {len(gates)} runs", style=style)


def junit(gates: Sequence[Gate]) -> bytes:
    """JUnit XML as CI servers read it: a suite for each run, one test case per check."""
    root = ET.Element("testsuites")
    for gate in gates:
        failed, undecided = (len(gate.with_outcome(outcome)) for outcome in (Outcome.FAILED, Outcome.UNDECIDED))
        counts = {"tests": str(len(gate.checks)), "failures": str(failed), "errors": "0", "skipped": str(undecided)}
        suite = ET.SubElement(root, "testsuite", {"name": SUITE, **counts})
        properties = ET.SubElement(suite, "properties")
        for name, value in (("model", gate.model), ("file", gate.file), *(("note", note) for note in gate.notes)):
            ET.SubElement(properties, "property", name=name, value=printable_line(value))
        for check in gate.checks:
            what, rule, found, limit = _printable_fields(check)
            case = ET.SubElement(suite, "testcase", classname=SUITE, name=f"{what} {rule}", time="0")
            if check.outcome is Outcome.PASSED:
                ET.SubElement(case, "system-out").text = f"{found}; allowed: {limit}"
            elif check.outcome is Outcome.FAILED:
                ET.SubElement(case, "failure", message=f"{found}; allowed: {limit}", type=rule)
            else:
                ET.SubElement(case, "skipped", message=f"undecided: {found}; allowed: {limit}")
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def markdown(gate: Gate) -> str:
    """A summary for a pull request or a job's page."""
    lines = [
        f"### {SUITE}: {_escape(headline(gate))}",
        "",
        f"Model {_code(gate.model)}, run {_code(gate.file)}",
        "",
        "| | what | rule | found | allowed |",
        "| --- | --- | --- | --- | --- |",
    ]
    for check in rank_checks(gate):
        _, _, _, verdict = VERDICTS[check.outcome]
        cells = (verdict, _code(check.what), _code(check.rule), _escape(check.found), _escape(check.limit))
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", *(f"Note: {_escape(text)}" for text in gate.notes)]
    return "\n".join(lines).rstrip() + "\n"


def _printable_fields(check: Check) -> tuple[str, str, str, str]:
    what, rule, found, limit = map(printable_line, (check.what, check.rule, check.found, check.limit))
    return what, rule, found, limit


def _code(text: str) -> str:
    """Text as code. In a code element no renderer looks for mentions, links or emphasis."""
    if re.fullmatch(r"[\w ./-]*\w", text, flags=re.ASCII):
        return f"`{text}`"
    return f"<code>{_escape(text)}</code>"


def _escape(text: str) -> str:
    """Text without markup: every character that could be part of it is written as its number."""
    special = r"[^\w ,.()%+–-]|_|(?<!\d)\.|\.(?!\d)"
    return re.sub(special, lambda match: f"&#{ord(match[0])};", printable_line(text))
