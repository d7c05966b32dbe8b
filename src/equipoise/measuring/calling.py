"""Calling the functions of a probe: a mistake in them is reported as the probe's, not as the user's or the file's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from equipoise.authoring import Probe
from equipoise.errors import EquipoiseError, ProbeError


@contextmanager
def running(probe: Probe, part: str) -> Iterator[None]:
    """Turn what this part of a probe raises into ProbeError. Errors that are meant for the user pass."""
    try:
        yield
    except EquipoiseError:
        raise
    except Exception as error:
        reason = str(error).partition("\n")[0].rstrip(".")  # polars goes on with its query plan
        raise ProbeError(
            f"The probe {probe.name!r} has a mistake in its {part}: {type(error).__name__}: {reason}. "
            "EQUIPOISE_TRACEBACK=1 shows where."
        ) from error
