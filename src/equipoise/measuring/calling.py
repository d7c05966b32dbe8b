"""Calling the functions of a probe: a mistake in them is reported as the probe's, not as the user's or the file's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import polars as pl

from equipoise.authoring import Probe
from equipoise.detect.detector import PROBABILITY, TOKEN
from equipoise.errors import EquipoiseError, ProbeError
from equipoise.schema import ANSWER, text_column


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


def simulate_answers(probe: Probe, prompts: pl.DataFrame, stance: str, rng: np.random.Generator) -> pl.Series:
    """The answers of a reference model to some prompts, whole items; ProbeError if the probe gives something else."""
    with running(probe, "simulate"):
        answers = text_column(ANSWER, probe.simulate(prompts, stance, rng))
    if len(answers) != prompts.height:
        counts = f"{len(answers)} answers to {prompts.height} prompts"
        raise ProbeError(f"The probe {probe.name!r} cannot be used: simulate gave {counts}.")
    return answers


def certain_token(answer: str) -> list[dict[str, str | float]]:
    """A simulated answer as it is read from probabilities: all of it, as if it were one token that is certain."""
    return [{TOKEN: answer, PROBABILITY: 1.0}]
