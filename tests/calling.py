"""The command as a user types it, in this process."""

from __future__ import annotations

import sys

import pytest

from equipoise.cli import main


def exit_code(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """Run `equipoise` with these words and give its exit code."""
    monkeypatch.setattr(sys, "argv", ["equipoise", *words])
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0
