"""What the package promises about itself."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_s15_dependencies_are_few_and_have_lower_bounds_only() -> None:
    needed = PROJECT["dependencies"]
    assert len(needed) <= 12
    every = needed + [name for extra in PROJECT["optional-dependencies"].values() for name in extra]
    loose = [name for name in every if not re.fullmatch(r"[a-z0-9-]+(>=[0-9.]+|\[[a-z,]+\])", name)]
    assert loose == []


def test_the_versions_agree() -> None:
    import equipoise

    assert PROJECT["version"] == equipoise.__version__
