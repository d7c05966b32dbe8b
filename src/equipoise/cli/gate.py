"""`equipoise gate`: pass or fail, for a pipeline."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import asdict
from typer import Argument, Exit, Option

from equipoise.cli import options
from equipoise.cli.output import note, open_console, print_json
from equipoise.errors import BadParameter
from equipoise.report.files import check_target, writing
from equipoise.runs.spec import load
from equipoise.safe_text import printable_line

EXIT_CODES = {"passed": 0, "failed": 7, "undecided": 8}


@options.takes("unjudged")
def command(
    files: list[Path] = Argument(help="Run files; each is checked against the rules.", metavar="RUN…"),
    *,
    baseline: Path | None = Option(None, help="The run file to compare with, for --no-regression.", metavar="RUN"),
    fail_on: str | None = Option(None, help="Fail if a marked metric has this mark or a worse one.", metavar="B|C|D"),
    limits: list[str] = Option(
        [],
        "--max",
        help="Fail if a metric is farther than this from even-handed (a metric without marks: larger than this). "
        "Repeatable. METRIC is stereotype_rate, jobs_lum.stereotype_rate for one probe, or "
        "race_white_diff_acceptance_rate for one group of a slice.",
        metavar="METRIC=VALUE",
    ),
    no_regression: bool = Option(
        False,
        "--no-regression",
        help="Fail if a marked metric differs from the baseline (p below 0.05 after Holm's correction) and the 95% "
        "interval shows it farther from even-handed.",
    ),
    undecided: str | None = Option(
        None,
        help="Let what is undecided pass (exit 0) or fail (exit 7). Default: exit 8; for --no-regression, only what is "
        "clearly worse fails.",
        metavar="pass|fail",
    ),
    allow_incomplete: bool = Option(
        False, "--allow-incomplete", help="Judge a run with pending attempts, or with many that failed, all the same."
    ),
    junit: Path | None = Option(None, help="Write JUnit XML.", metavar="FILE"),
    markdown: Path | None = Option(None, help="Write a Markdown summary.", metavar="FILE"),
    everything: bool = Option(False, "--all", help="Also show each rule that is kept."),
    config: options.ConfigFile = None,
    as_json: options.AsJson = False,
    given: options.Given,
) -> None:
    """Check runs against rules: exit 0 if all are kept, 7 if one is broken, 8 if the data do not say.

    The verdict comes first, then what failed, then what is open. A metric that is not computable is undecided, and so
    is a run with pending attempts or with more than 5% that have no answer.

    Examples: equipoise gate run.equipoise --fail-on C ·
    equipoise gate new.equipoise --baseline old.equipoise --no-regression --junit gate.xml ·
    equipoise gate run.equipoise --max hiring_an.diff_acceptance_rate=0.1
    """
    from equipoise.cli.config import read_config
    from equipoise.measuring import gate as gating
    from equipoise.report import text as texts
    from equipoise.report.terminal import gates
    from equipoise.runs import finished

    rules = asdict(read_config(config).gate) if config else {}
    pairs = [options.split_pair(limit, "--max", "METRIC=VALUE, as in stereotype_rate=0.15") for limit in limits]
    typed = {
        "fail_on": fail_on and fail_on.upper(),
        "max": {name: options.parse_json(value, f"--max {name}", 0.15) for name, value in pairs},
        "no_regression": no_regression,
        "undecided": undecided,
        "allow_incomplete": allow_incomplete,
    }
    rules |= {name: value for name, value in typed.items() if value}
    wanted = load(rules, gating.Rules, BadParameter)
    for out in (junit, markdown):
        check_target(out)
    other = given.open_run(baseline) if baseline else None
    opened = [given.open_run(file) for file in files]
    judged = [finished.gate(run, wanted, baseline=other) for run in opened]
    outcome = gating.worst_outcome(judged)
    if as_json:
        print_json("gate/1", {"outcome": outcome, "runs": [gate.to_dict() for gate in judged]})
    else:
        console = open_console()
        if len(judged) > 1:
            console.print(gates.headline_of_all(judged))
        for run, gate in zip(opened, judged, strict=True):
            for line in gates.gate_lines(gate, everything=everything):
                console.print(line, soft_wrap=True)
            if gate.outcome is gating.Outcome.UNDECIDED:
                for text in texts.describe_next(run):
                    console.print(printable_line(text), soft_wrap=True)
    for text in dict.fromkeys(text for gate in judged for text in gate.notes):
        note(f"note: {printable_line(text)}")
    pages = "\n".join(map(gates.markdown, judged)).encode()
    for path, content in ((junit, gates.junit(judged)), (markdown, pages)):
        if path is not None:
            with writing(path) as written_file:
                written_file.write(content)
    raise Exit(EXIT_CODES[outcome])
