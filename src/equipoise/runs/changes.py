"""Whether a run goes on as it was started: other settings are never mixed into it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from equipoise.errors import IntegrityError
from equipoise.plans import Plan
from equipoise.runs.planning import OURS
from equipoise.runs.store import RunFile

_ABSENT = object()


def refuse_changes(run: RunFile, settings: Mapping[str, object], plans: Iterable[Plan] | None = None) -> None:
    """Refuse to go on with other settings, or other probes if plans are given: IntegrityError, field by field."""
    found = changes(run, settings, plans)
    if found:
        raise IntegrityError(
            f"{run.path} was started with other settings, and answers to different questions are not mixed:\n"
            + "\n".join(f"  {line}" for line in found)
            + f"\nTo go on as it was started: equipoise resume {run.path}. For the new settings, start a new run."
        )


def changes(run: RunFile, settings: Mapping[str, object], plans: Iterable[Plan] | None = None) -> list[str]:
    """What differs, a line each: `field: was X, is Y`."""
    was = {key: value for key, value in run.settings.items() if key not in OURS}
    found = list(_differences(was, settings, ""))
    if plans is not None:
        asked = {probe.name: _probe(probe.version, probe) for probe in run.probes()}
        planned = {plan.probe.name: _probe(plan.probe.version, plan) for plan in plans}
        found += _differences(asked, planned, "")
    return found


def _probe(version: int, source: Any) -> dict[str, object]:
    return {
        "version": version,
        "corpus": source.corpus,
        "corpus_sha256": source.corpus_sha256,
        "parameters": dict(source.parameters),
    }


def _differences(was: object, now: object, field: str) -> Iterator[str]:
    was, now = _plain(was), _plain(now)
    if isinstance(was, Mapping) and isinstance(now, Mapping):
        for key in sorted(was.keys() | now.keys()):
            inner = f"{field}.{key}" if field else str(key)
            yield from _differences(was.get(key, _ABSENT), now.get(key, _ABSENT), inner)
    elif was != now:
        yield f"{field}: was {_shown(was)}, is {_shown(now)}"


def _plain(value: object) -> object:
    """As it would come back from the file: tuples are lists there."""
    return value if value is _ABSENT else orjson.loads(orjson.dumps(value))


def _shown(value: object) -> str:
    if value is _ABSENT:
        return "not given"
    return "given" if isinstance(value, Mapping) else orjson.dumps(value).decode()
