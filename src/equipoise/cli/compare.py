"""`equipoise compare`: runs side by side."""

from __future__ import annotations

from pathlib import Path

from typer import Argument, Option

from equipoise.cli import options
from equipoise.cli.output import note, open_console, print_json
from equipoise.safe_text import printable_line


@options.takes(*options.READING)
def command(
    files: list[Path] = Argument(help="Run files, two or more: A, B, C …", metavar="RUN…"),
    *,
    every_pair: bool = Option(False, "--every-pair", help="Compare every pair of runs, not only each with the first."),
    everything: bool = Option(False, "--all", help="Show the metrics without marks, too."),
    as_json: options.AsJson = False,
    given: options.Given,
) -> None:
    """Compare runs: paired differences on the prompts both answered, and which is nearer to even-handed.

    Each run is compared with the first; p-values are corrected over all comparisons together. A probe is compared if
    both runs asked it in the same way: the same version, corpus and parameters. Otherwise the differences are named.

    Examples: equipoise compare small.equipoise large.equipoise · equipoise compare *.equipoise --every-pair ·
    equipoise compare old.equipoise new.equipoise --json
    """
    from equipoise.report.terminal import results
    from equipoise.runs import finished

    runs = [given.open_run(file) for file in files]
    compared = finished.compare_all(runs, all_pairs=every_pair)
    named = dict(zip(finished.name_runs(len(runs)), runs, strict=True))
    if as_json:
        described = [
            {
                "name": name,
                "model": run.model,
                "answers_origin": run.record.origin,
                "file": str(run.path),
                "complete": run.complete,
            }
            for name, run in named.items()
        ]
        print_json("compare/1", {"runs": described, "comparisons": [one.to_dict() for one in compared]})
        return
    console = open_console()
    console.print(results.describe_reach(compared), soft_wrap=True)
    for name, run in named.items():
        console.print(printable_line(f"{name}: {run.model} · {run.path} · {run.describe_state()}"), soft_wrap=True)
    for comparison in compared:
        for probe in comparison.probes.values():
            table = results.comparison_table(probe, comparison.names, everything=everything, width=console.width)
            console.print()
            console.print(table)
        console.print()
        for name, reason in comparison.refused.items():
            a, b = comparison.names
            console.print(printable_line(f"{name} of {a} and {b} is not compared: {reason}"), soft_wrap=True)
    for line in results.explain_comparisons(compared):
        console.print(line, style="dim")
    for text in dict.fromkeys(text for comparison in compared for text in comparison.notes):
        note(f"note: {printable_line(text)}")
