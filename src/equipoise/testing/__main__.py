"""`python -m equipoise.testing`: check one probe from a shell."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from equipoise.errors import EquipoiseError
from equipoise.probes import get_probe
from equipoise.testing import ProbeCheckFailed, probe_checks
from equipoise.testing.definition import write_golden


def main(arguments: Sequence[str] | None = None) -> int:
    """Check one probe from a shell, by its name or as `package.module:PROBE`."""
    parser = argparse.ArgumentParser(prog="python -m equipoise.testing", description="Check what a probe promises.")
    parser.add_argument("probe", help="the name of an installed probe, or package.module:PROBE")
    parser.add_argument("--write-golden", action="store_true", help="write golden.json into the folder of the probe")
    given = parser.parse_args(arguments)
    module, colon, attribute = given.probe.partition(":")
    try:
        probe = get_probe(getattr(importlib.import_module(module), attribute) if colon else module)
        if given.write_golden:
            sys.stdout.write(f"{write_golden(probe)}\n")
        for name, check in probe_checks(probe):
            check()
            sys.stdout.write(f"ok  {name}\n")
    except (ProbeCheckFailed, EquipoiseError) as error:
        sys.stdout.write(f"FAILED  {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
