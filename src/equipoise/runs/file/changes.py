"""Whether a run is resumed as it was started. Answers to different questions are never mixed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from equipoise.errors import IntegrityError
from equipoise.measuring.plan import Plan
from equipoise.models.protocol import Asking
from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.settings import WRITTEN_BY_THE_FILE, RunSettings, asking_of

_ABSENT = object()


def refuse_changes(run: RunReader, settings: RunSettings, plans: Iterable[Plan] | None = None) -> None:
    """Refuse other settings, or other probes if plans are given: IntegrityError that names each changed field."""
    differences = changes(run, settings, plans)
    if differences:
        raise IntegrityError(
            f"{run.path} was started with other settings, and answers to different questions are not mixed:\n"
            + "\n".join(f"  {line}" for line in differences)
            + f"\nTo go on as it was started: equipoise resume {run.path}. For the new settings, start a new run."
        )


def changes(run: RunReader, settings: RunSettings, plans: Iterable[Plan] | None = None) -> list[str]:
    """The differences, one line per field: `field: was X, is Y`."""
    differences = list(_differences(_given(run.settings), _as_stored(_given(settings))))
    if plans is not None:
        looks = settings.looks  # their sizes are compared with the settings; how many were taken is no difference
        stored = {
            probe.name: _describe(probe, probe.version, probe.asking, grows=probe.name in looks)
            for probe in run.probes()
        }
        planned = {
            plan.probe.name: _describe(
                plan,
                plan.probe.version,
                asking_of(plan.probe, settings.sampling),
                grows=plan.probe.name in looks,
            )
            for plan in plans
        }
        differences += _differences(stored, _as_stored(planned))
    return differences


def refuse_other_judge(run: RunReader, settings: RunSettings) -> None:
    """Refuse another judge than the one whose verdicts the file holds."""
    stored = run.settings.judge
    differences = list(_differences(_given(stored), _as_stored(_given(settings)))) if stored else []
    if differences:
        raise IntegrityError(
            f"{run.path} has another judge, and verdicts of different judges are not mixed:\n"
            + "\n".join(f"  {line}" for line in differences)
            + f"\nTo go on with that judge: equipoise resume {run.path}"
        )


def _given(settings: RunSettings) -> dict[str, object]:
    return {name: value for name, value in settings.to_json().items() if name not in (*WRITTEN_BY_THE_FILE, "judge")}


def _describe(source: Any, version: int, asking: Asking, *, grows: bool) -> dict[str, object]:
    return {
        "version": version,
        "corpus": source.corpus,
        "corpus_sha256": source.corpus_sha256,
        "parameters": {name: value for name, value in source.parameters.items() if not (grows and name == "sample")},
        "max_tokens": asking.max_tokens,
        "probabilities": asking.probabilities,
    }


def _differences(old: object, new: object, field: str = "") -> Iterator[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted(old.keys() | new.keys()):
            inner = f"{field}.{key}" if field else str(key)
            yield from _differences(old.get(key, _ABSENT), new.get(key, _ABSENT), inner)
    elif old != new:
        yield f"{field}: was {_show(old)}, is {_show(new)}"


def _as_stored(value: object) -> object:
    """The value as it would come back from the file, where tuples are lists."""
    return orjson.loads(orjson.dumps(value))


def _show(value: object) -> str:
    if value is _ABSENT:
        return "not given"
    return "given" if isinstance(value, Mapping) else orjson.dumps(value).decode()
