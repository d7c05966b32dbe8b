"""`equipoise read`: how the detector of a probe reads answers, one by one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from typer import Argument

from equipoise.cli import options
from equipoise.cli.output import open_console, print_json
from equipoise.safe_text import printable_line


@options.takes("sample", "seed", "settings", "reading")
def command(
    probe: str = Argument(help="The probe whose detector reads; see: equipoise probes"),
    file: str = Argument(
        "-",
        help="Answers in any form that score reads, with prompt or id where the detector wants the prompt; - is JSONL "
        "on stdin.",
        metavar="[FILE|-]",
    ),
    *,
    as_json: options.AsJson = False,
    given: options.Given,
) -> None:
    """Print for each answer, in order, the label, the words it rests on and the reading.

    It shows how the instrument reads your own texts. With --json: one line per answer with label (null: nothing is
    decided), words and reading. --sample, --seed and --set say which prompts were planned, for detectors that use more
    of a prompt than its text.

    Examples: equipoise read jobs_lum answers.jsonl · equipoise read hiring_an answers.csv --reading specified --json
    """
    from equipoise import probes
    from equipoise.answers import files, reading
    from equipoise.measuring import plan as planning

    chosen = probes.get_probe(probe).read_by(given.get("reading"))
    parameters = given.parameters([chosen])
    tables = files.read_tables(Path(file))
    console = open_console()
    for number, read in enumerate(reading.read_answers(chosen, tables, lambda: planning.plan(chosen, **parameters)), 1):
        if as_json:
            print_json("read/1", asdict(read), indent=None)
        else:
            words = printable_line(" · ".join(read.words)) or "–"
            console.print(f"{number:>5}  {read.label or 'undetected':<10}  {words}", soft_wrap=True, markup=False)
