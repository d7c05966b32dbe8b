"""`equipoise verify`: is a run what was stored, and a report what was made of it?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from equipoise.cli.output import AsJson, open_console, print_json
from equipoise.errors import IntegrityError
from equipoise.safe_text import printable_line


def command(
    file: Annotated[Path, typer.Argument(help="The run file.", metavar="RUN")],
    report: Annotated[Path | None, typer.Argument(help="A report on it.", metavar="[REPORT]")] = None,
    *,
    digest: Annotated[
        bool,
        typer.Option("--digest", help="Print only the digests, one a line: what you sign, or check a signature of."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Recompute all digests of a run, plan its prompts again, and check that a report is unchanged and shows this run.

    Exit code 0 if all of it fits; 6 with what does not. docs/provenance.md says how to sign the digests with your key.

    Examples: equipoise verify run.equipoise · equipoise verify run.equipoise report.html ·
    equipoise verify run.equipoise report.html --digest > digests.txt
    """
    from equipoise.report.html import seal
    from equipoise.runs import verify as verification

    try:
        found = verification.verify_run(file)
    except IntegrityError as error:
        if as_json:
            print_json({"digests": {}, "fitting": [], "unchecked": [], "problems": [str(error)]})
        raise
    problems = list(found.problems)
    digests = {"run": found.digest}
    if report is not None:
        try:
            digests["report"] = seal.check_report(report, file, found.digest)
        except IntegrityError as error:
            problems.append(str(error))
    if as_json:
        print_json(
            {"digests": digests, "fitting": found.fitting, "unchecked": found.unchecked, "problems": problems},
        )
    elif not problems or not digest:
        lines = [] if digest else [*found.fitting, *(f"not checked: {entry}" for entry in found.unchecked)]
        if report is not None and "report" in digests and not digest:
            lines.append(f"{report} is unchanged and shows this run")
        console = open_console()
        for line in (*lines, *(f"{name} sha256:{value}" for name, value in digests.items())):
            console.print(printable_line(line), markup=False, soft_wrap=True)
    if problems:
        raise IntegrityError(f"{file} does not fit: {'; '.join(problem.rstrip('.') for problem in problems)}.")
