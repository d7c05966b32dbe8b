"""`equipoise verify`: is a run what was stored, and a report what was made of it?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from typer import Argument, Option

from equipoise.cli import options
from equipoise.cli.output import open_console, print_json
from equipoise.errors import IntegrityError
from equipoise.safe_text import printable_line

WHO_ANSWERED = "Nobody can verify from a file who gave its answers; docs/provenance.md says what a signature adds."


def command(
    files: list[Path] = Argument(help="Run files and reports on them.", metavar="FILE…"),
    *,
    digest: bool = Option(
        False, "--digest", help="Print only the digests, one a line: what you sign, or check a signature of."
    ),
    as_json: options.AsJson = False,
) -> None:
    """Check runs and reports: what is proved and what is not, a line for each file.

    Digests of a run are computed again and its prompts planned again. A report is written again from its runs, and
    every number is compared. Exit code 0 if all of it could be checked and fits; 6 with what does not fit, or could
    not be checked here. docs/provenance.md says how to sign the digests with your key.

    Examples: equipoise verify run.equipoise · equipoise verify run.equipoise report.html ·
    equipoise verify *.equipoise *.html --digest > digests.txt
    """
    from equipoise.report.files import is_run_file

    runs: dict[str, Path] = {}
    checked: dict[Path, dict[str, Any]] = {}
    for file in sorted(files, key=is_run_file, reverse=True):  # runs first: reports are checked against them
        kind = "run" if is_run_file(file) else "report"
        checked[file] = {"file": str(file), "kind": kind, "digest": "", "proved": [], "not_proved": [], "problems": []}
        try:
            checked[file] |= _check_run(file, runs) if kind == "run" else _check_report(file, runs)
        except IntegrityError as error:
            checked[file]["problems"] = [str(error)]
    entries = [checked[file] for file in files]
    problems = [problem for entry in entries for problem in entry["problems"]]
    if as_json:
        print_json("verify/1", {"files": entries})
    elif not digest or not problems:
        for entry in entries:
            line = f"{entry['kind']} sha256:{entry['digest']}" if digest else _describe(entry)
            open_console().print(printable_line(line), markup=False, soft_wrap=True)
        if runs and not digest:
            open_console().print(WHO_ANSWERED, markup=False, soft_wrap=True)
    if problems:
        raise IntegrityError(" ".join(problems))
    if unverified := [f"{entry['file']}: {reason}" for entry in entries for reason in entry["not_proved"]]:
        raise IntegrityError(f"Not everything could be checked here. {'; '.join(unverified)}.")


def _check_run(file: Path, runs: dict[str, Path]) -> dict[str, Any]:
    """What is known of a run; if it is what was stored, it is added to the runs by its digest."""
    from equipoise.runs.finished import verify_run

    found = verify_run(file)
    runs[found.digest] = file
    return {
        "digest": found.digest,
        "proved": list(found.fitting),
        "not_proved": list(found.unchecked),
        "problems": [f"{file} does not fit: {problem.rstrip('.')}." for problem in found.problems],
    }


def _check_report(file: Path, runs: dict[str, Path]) -> dict[str, Any]:
    """What is known of a report on these runs."""
    from equipoise.report.html.write import check_report

    digest, proved, not_proved = check_report(file, runs)
    return {"digest": digest, "proved": [proved], "not_proved": [not_proved] if not_proved else []}


def _describe(entry: dict[str, Any]) -> str:
    """One line: what is proved of a file, what is not, and what contradicts."""
    parts = [
        f"{heading} {'; '.join(entry[name])}"
        for heading, name in (("proved:", "proved"), ("not proved:", "not_proved"), ("wrong:", "problems"))
        if entry[name]
    ]
    return f"{entry['kind']} {entry['file']}: {' · '.join(parts)}"
