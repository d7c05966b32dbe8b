"""The settings of a run as one frozen value, checked whenever they are read from a file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import NoneType
from typing import Any

from equipoise.authoring import Probe
from equipoise.errors import BadParameter, IntegrityError
from equipoise.measuring.looks import SPENT
from equipoise.models import Sampling
from equipoise.models.protocol import Asking
from equipoise.schema import PROBABILITIES, READINGS

WRITTEN_BY_THE_FILE = frozenset({"created", "equipoise", "notes"})
"""Settings that the run file fills in itself. They do not shape the answers."""

STORED_TYPES = frozenset({"String", "Int64", "Float64", "Boolean"})
"""The types of covariates, by the names that polars has for them."""
_TYPES: Mapping[str, tuple[type, ...]] = {
    "a text": (str,),
    "a text or null": (str, NoneType),
    "a number or null": (int, float, NoneType),
    "a whole number or null": (int, NoneType),
    "true or false": (bool,),
    "a mapping": (dict,),
    "a mapping or null": (dict, NoneType),
    "a list of texts": (list,),
}
_FIELDS = {
    "model": "a text",
    "model_settings": "a mapping",
    "suite": "a text",
    "base_url": "a text or null",
    "key_variable": "a text or null",
    "allow_insecure": "true or false",
    "sampling": "a mapping",
    "looks": "a mapping",
    "created": "a text",
    "equipoise": "a text",
    "notes": "a list of texts",
    "judge": "a mapping or null",
}
_SAMPLING_FIELDS = {
    "temperature": "a number or null",
    "top_p": "a number or null",
    "max_tokens": "a whole number or null",
    "seed": "a whole number or null",
    "system": "a text or null",
    "extra": "a mapping",
}


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How the model of a run is reached and asked: enough to resume the run, and no secret."""

    model: str
    model_settings: Mapping[str, Any]
    """What shapes the answers, as the model itself describes it (`Model.settings`)."""
    suite: str
    base_url: str | None
    key_variable: str | None
    """The environment variable that holds the key, never the key."""
    allow_insecure: bool
    sampling: Sampling
    looks: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """If the run stops when its marks are certain: for each probe how many items it has at each look."""
    created: str = ""
    """When the file was written: ISO 8601, UTC. This and the following are filled in by the run file."""
    equipoise: str = ""
    """The version that wrote it."""
    notes: tuple[str, ...] = ()
    """What the user was told while the model was asked."""
    judge: RunSettings | None = None
    """How the judge is reached and asked, if there is one. Its `suite` is the reading whose open answers it judges."""

    @property
    def imported(self) -> bool:
        """Whether the answers come from elsewhere, so that nobody knows how the model was asked."""
        return self.model_settings == {"imported": True}

    @property
    def simulated(self) -> bool:
        """Whether the answers are those of a reference model, made up by equipoise."""
        return "simulated" in self.model_settings

    def to_json(self) -> dict[str, object]:
        """The value stored under each key of the table `settings`."""
        stored = _to_dict(self) | {
            "model_settings": dict(self.model_settings),
            "sampling": _to_dict(self.sampling) | {"extra": dict(self.sampling.extra)},
            "looks": {probe: list(sizes) for probe, sizes in self.looks.items()},
            "notes": list(self.notes),
        }
        stored = stored if self.looks else _without(stored, "looks")
        return stored | {"judge": self.judge.to_json()} if self.judge else _without(stored, "judge")

    @classmethod
    def parse(cls, stored: Mapping[str, Any], path: Path) -> RunSettings:
        """The settings that a file holds. IntegrityError if one is missing, unknown or of the wrong type."""
        stored = {"judge": None, "looks": {}, **stored}
        _check_types(stored, _FIELDS, path)
        _check_looks(stored["looks"], path)
        _check_types(stored["sampling"], _SAMPLING_FIELDS, path, prefix="sampling.")
        try:
            sampling = Sampling(**stored["sampling"])
        except BadParameter as error:
            raise IntegrityError(f"{path} is damaged: {error}") from None
        judge = stored["judge"] if stored["judge"] is None else cls.parse(stored["judge"], path)
        if judge is not None and (judge.judge is not None or judge.suite not in READINGS):
            raise IntegrityError(f"{path} is damaged: the setting 'judge' is not one of a judge.")
        return cls(**{**stored, "sampling": sampling, "notes": tuple(stored["notes"]), "judge": judge})


def asking_of(probe: Probe, sampling: Sampling) -> Asking:
    """How a probe is asked: with the user's limit on the length of answers, or else its own; or for one token only."""
    if probe.reading == PROBABILITIES:
        return Asking(max_tokens=1, probabilities=True)
    return Asking(max_tokens=sampling.max_tokens or probe.max_tokens)


def check_covariates(covariates: object, probe: str, path: Path) -> None:
    """Refuse what is not a mapping from the names of columns to the names of their types."""
    right = isinstance(covariates, dict) and all(
        isinstance(kind, str) and kind in STORED_TYPES for kind in covariates.values()
    )
    if not right:
        raise IntegrityError(f"{path} is damaged: the covariates of {probe} must be a mapping from names to types.")


def _check_looks(looks: Mapping[str, Any], path: Path) -> None:
    """Refuse what no run that stops when its marks are certain says about its looks."""
    for probe, sizes in looks.items():
        right = isinstance(sizes, list) and sizes and all(type(size) is int and size > 0 for size in sizes)
        if not right or len(sizes) > len(SPENT) or sizes != sorted(set(sizes)):
            raise IntegrityError(f"{path} is damaged: the looks of {probe} must be up to {len(SPENT)} growing sizes.")


def _to_dict(settings: RunSettings | Sampling) -> dict[str, object]:
    return {field.name: getattr(settings, field.name) for field in fields(settings)}


def _without(values: dict[str, object], name: str) -> dict[str, object]:
    return {key: value for key, value in values.items() if key != name}


def _check_types(stored: Mapping[str, Any], kinds: Mapping[str, str], path: Path, prefix: str = "") -> None:
    for name in kinds:
        if name not in stored:
            raise IntegrityError(f"{path} is damaged: the setting {prefix + name!r} is missing.")
    for name, value in stored.items():
        kind = kinds.get(name)
        if kind is None:
            raise IntegrityError(f"{path} is damaged: the setting {prefix + name!r} is unknown.")
        # Exact types, because JSON has no others, and in Python true is a number.
        right_type = type(value) in _TYPES[kind]
        if not right_type or (isinstance(value, list) and not all(isinstance(entry, str) for entry in value)):
            shown = json.dumps(value)
            shown = shown if len(shown) <= 60 else f"{shown[:60]}…"
            raise IntegrityError(f"{path} is damaged: the setting {prefix + name!r} must be {kind}, but is {shown}.")
