"""Shards of answers scored on Ray: one task per file, and the same numbers as in one process.

A task that is lost with its worker or its machine is done again. A file is read where its task runs, so all machines
must see it under the same path. The workers need equipoise and, for corpora that are fetched, the same mirror.
"""

from __future__ import annotations

import logging
import os
import socket
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from equipoise.answers.files import NO_NAMES, Names
from equipoise.answers.shards import PartScorer
from equipoise.errors import EndpointError, EquipoiseError, InputError, StorageError
from equipoise.measuring.partials import Partial, Values
from equipoise.measuring.plan import Plan, plan
from equipoise.settings import environment

TRIES = 4
"""How often a task is started that loses its worker."""
WORKER_VARIABLES = {"POLARS_MAX_THREADS": "1"}
"""The environment of a worker: a task has one core."""
SECONDS_TO_CONNECT = 5.0
HTTP2_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5)
"""How a connection of gRPC begins, with empty settings; the other side answers with a frame of settings."""
FRAME_HEADER, SETTINGS_FRAME = 9, b"\x04"
"""Bytes of the header of a frame, of which the fourth says its kind."""


def score_shards(
    planned: Plan, files: Sequence[Path], names: Names = NO_NAMES, *, address: str | None = None
) -> Iterator[Partial]:
    """The partial of each file, as they come: one task per file.

    Without an address: on a Ray that runs already, or on one of this machine.
    """
    ray = _import_ray()
    with _connect(ray, address), _translate_errors(ray):
        # As bytes, so that a worker makes the plan once and not for each task.
        asked = ray.put(ray.cloudpickle.dumps((planned.probe, dict(planned.parameters))))
        score = ray.remote(num_cpus=1, max_retries=TRIES - 1)(_score_file)
        under_way = [score.remote(asked, str(path.absolute()), dict(names)) for path in files]
        while under_way:
            (ended,), under_way = ray.wait(under_way, num_returns=1)
            values, attempts = ray.get(ended)
            yield Partial(setup=planned.setup, values=values, attempts=attempts)


# What workers do


@cache
def _scorer(asked: bytes) -> PartScorer:
    import ray  # noqa: PLC0415 - only here, and in a worker

    probe, parameters = ray.cloudpickle.loads(asked)
    return PartScorer(plan(probe, **parameters))


def _score_file(asked: bytes, path: str, names: Names) -> tuple[Values, pl.DataFrame]:
    """The values and the attempts of the partial of a file."""
    scored = _scorer(asked).score_file(Path(path), names)
    return scored.values, scored.attempts


# Ray itself


def _import_ray() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import ray  # noqa: PLC0415 - never imported otherwise
            import ray.cloudpickle  # noqa: PLC0415
    except ImportError:
        raise InputError("The engine ray needs Ray: pip install 'equipoise[ray]'") from None
    return ray


@contextmanager
def _connect(ray: Any, address: str | None) -> Iterator[None]:
    """A connection to Ray while the body runs. One that is there already is used, and left as it is."""
    if ray.is_initialized():
        yield
        return
    if address:
        _check_reachable(address)
    try:
        # Ray would tell its makers that it is used. It reads this there, and so do the processes that it starts.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # noqa: TID251
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ray.init(
                address=address,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                runtime_env={"env_vars": WORKER_VARIABLES},
            )
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        where = f"at {address}" if address else "on this machine"
        raise EndpointError(f"Ray cannot be reached {where}: {str(error).splitlines()[0]}") from None
    try:
        yield
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Refuse an address where nobody listens, or something that does not speak gRPC: Ray would try for minutes.

    Names such as `auto`, and encrypted connections, are left to Ray.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not (host and port.isdigit()) or environment().get("RAY_USE_TLS", "0") not in ("", "0"):
        return
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=SECONDS_TO_CONNECT) as connection:
            connection.sendall(HTTP2_GREETING)
            answer = connection.recv(FRAME_HEADER)
    except (OSError, OverflowError) as error:
        raise EndpointError(f"Ray cannot be reached at {address}: {error}. Is it running? See: ray status") from None
    if answer[3:4] != SETTINGS_FRAME:
        raise EndpointError(f"What answers at {address} is not Ray. Its address is the one that ray status shows.")


@contextmanager
def _translate_errors(ray: Any) -> Iterator[None]:
    """Errors of our own that a task has raised are raised here; a task that cannot be done is told in plain words."""
    try:
        yield
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, EquipoiseError):
            raise error.cause from None
        raise
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()[0]
        raise StorageError(f"Ray lost a task {TRIES} times, and it was given up: {reason}") from None
