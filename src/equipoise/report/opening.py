"""Opening a run for a report or an export, whatever it is given as."""

from __future__ import annotations

from pathlib import Path

from equipoise.errors import InputError
from equipoise.measuring.result import Audit
from equipoise.runs.run import Run

RunSource = str | Path | Run | Audit
"""A run, the path of its file, or an audit whose answers are in a file."""


def open_run(source: RunSource) -> Run:
    """The run. That of an audit is opened with the probes of the audit, which need not be installed."""
    if isinstance(source, Run):
        return source
    if isinstance(source, str | Path):
        return Run.open(source)
    if source.path is None:
        raise InputError("This audit has no run file, so its answers cannot be shown. Give `out` when you audit.")
    return Run.open(source.path, probes=[result.setup.probe for result in source.values()])
