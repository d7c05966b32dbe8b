"""`equipoise.toml`: what is asked again and again, written down once. It holds no secrets."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from equipoise.errors import BadFile, BadParameter, InputError, UnknownName
from equipoise.settings import environment

SIZE = "a whole number or 'all'"
_KINDS: Mapping[str, tuple[type, ...]] = {
    "a text": (str,),
    "a number": (int, float),
    "a whole number": (int,),
    "true or false": (bool,),
    "a list of texts": (list,),
    "a table": (dict,),
    SIZE: (int, str),
}
_SHARED = {
    "suite": "a text",
    "probes": "a list of texts",
    "sample": SIZE,
    "repeat": "a whole number",
    "seed": "a whole number",
    "reading": "a text",
    "until_certain": "true or false",
    "probabilities": "true or false",
    "temperature": "a number",
    "top_p": "a number",
    "max_tokens": "a whole number",
    "model_seed": "a whole number",
    "system": "a text",
    "extra": "a table",
    "concurrency": "a whole number",
    "deadline": "a number",
    "tries": "a whole number",
    "rpm": "a number",
    "allow_missing": "a number",
    "judge": "a text",
    "judge_base_url": "a text",
    "judge_key_variable": "a text",
    "judge_price": "a text",
    "judge_anyway": "true or false",
    "parameters": "a table",
    "budget": "a table",
}
"""Settings for all models, each of which may have its own."""
_OF_A_MODEL = {
    "model": "a text",
    "out": "a text",
    "base_url": "a text",
    "key_variable": "a text",
    "headers": "a table",
    "price": "a text",
    "allow_insecure": "true or false",
}
_OF_THE_FILE = {"models": "a list of texts", "report": "a text", "gate": "a table"}
_BUDGET = {"max_cost": "a number", "max_requests": "a whole number", "max_tokens_total": "a whole number"}
_GATE = {
    "fail_on": "a text",
    "max": "a table",
    "no_regression": "true or false",
    "baseline": "a text",
    "uncertain": "a text",
    "undecided": "a text",
    "allow_incomplete": "true or false",
}
_OPTIONS = {"probes": "probe"}
"""Settings whose option is called otherwise."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """What a file says, as the values of options."""

    path: Path
    models: tuple[Mapping[str, Any], ...]
    """For each model the options of `run`, by the names of its parameters."""
    shared: Mapping[str, Any]
    """Those for a model that the file does not name."""
    report: Path | None
    gate: Mapping[str, Any]
    """The rules, by the names of the parameters of `gate`."""

    def options_for(self, model: str | None) -> list[Mapping[str, Any]]:
        """The options of every run: of the models of the file, or of this one, with what the file says of it."""
        if model is None:
            if not self.models:
                raise InputError(f"{self.path} names no model. Add [[models]] with model = …, or name one here.")
            return list(self.models)
        found = [options for options in self.models if options["model"] == model]
        return found or [{**self.shared, "model": model}]


def read_config(path: Path) -> Config:
    """Read and check a file. Wrong names get a suggestion, and whatever looks like a secret is refused."""
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except FileNotFoundError:
        raise BadFile(f"There is no file {path}.") from None
    except IsADirectoryError:
        raise BadFile(f"{path} is a folder, not a file.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadFile(f"{path} is not TOML: {error}") from None
    _refuse_secrets(path, content)
    entries = content.pop("models", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise BadParameter(f'{path}: models are written as [[models]], each with model = "provider/name".')
    _check(path, content, {**_SHARED, **_OF_THE_FILE})
    report, gate = content.pop("report", None), content.pop("gate", {})
    _check(path, gate, _GATE, "gate.")
    for number, entry in enumerate(entries, 1):
        _check(path, entry, {**_SHARED, **_OF_A_MODEL}, f"models {number}: ")
        if "model" not in entry:
            raise BadParameter(f'{path}: models {number} has no name, as in model = "openai/gpt-4o-mini".')
    models = tuple(_make_options(path, _merge(content, entry)) for entry in entries)
    outs = [options["out"] for options in models if "out" in options]
    if len(outs) != len(set(outs)):
        raise BadParameter(f"{path}: two models have the same run file. Each needs its own.")
    return Config(
        path=path,
        models=models,
        shared=_make_options(path, content),
        report=Path(report) if report else None,
        gate=_make_gate(path, gate),
    )


def typed_options(context: typer.Context) -> set[str]:
    """The names of the parameters that stand on the command line."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"}


def _merge(shared: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a model: its own over the shared ones, also inside of tables."""
    merged = {**shared, **entry}
    for name in ("parameters", "budget", "extra"):
        if name in shared and name in entry:
            merged[name] = {**shared[name], **entry[name]}
    return merged


def _make_options(path: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as the values that the options of `run` have."""
    options = {_OPTIONS.get(name, name): value for name, value in settings.items()}
    budget = options.pop("budget", {})
    _check(path, budget, _BUDGET, "budget.")
    parameters = options.pop("parameters", None)
    headers = options.pop("headers", None)
    options |= budget
    if not 0 <= options.get("allow_missing", 0) <= 1:
        raise BadParameter(
            f"{path}: 'allow_missing' must be a share from 0 to 1. Got {options['allow_missing']} instead."
        )
    if parameters is not None:
        options["settings"] = list(_flatten(parameters))
    if headers is not None:
        options["header"] = [f"{name}={_read_variable(path, name, variable)}" for name, variable in headers.items()]
    if "extra" in options:
        options["extra"] = json.dumps(options["extra"])
    if "sample" in options:
        options["sample"] = str(options["sample"])
    if "out" in options:
        options["out"] = Path(options["out"])
    return options


def _make_gate(path: Path, gate: Mapping[str, Any]) -> dict[str, Any]:
    from equipoise.measuring import gate as gating

    rules = dict(gate)
    for metric, limit in rules.get("max", {}).items():
        if type(limit) not in (int, float):
            raise BadParameter(f"{path}: 'gate.max.{metric}' must be a number. Got {limit!r} instead.")
    if "fail_on" in rules:
        rules["fail_on"] = rules["fail_on"].upper()
    checked = {name: rules[name] for name in ("fail_on", "uncertain") if name in rules}
    try:
        gating.Rules(**checked, no_regression=True)  # which rules there are, the command line may add to
    except InputError as error:
        raise BadParameter(f"{path}: {error}") from None
    if rules.get("undecided", "pass") not in ("pass", "fail"):
        raise UnknownName(f"outcome of an undecided gate in {path}", str(rules["undecided"]), ("pass", "fail"))
    if "max" in rules:
        rules["max_"] = [f"{metric}={limit}" for metric, limit in rules.pop("max").items()]
    if "baseline" in rules:
        rules["baseline"] = Path(rules["baseline"])
    return rules


def _flatten(parameters: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """NAME=VALUE for each parameter; a table inside holds those of one probe."""
    for name, value in parameters.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{name}.")
        else:
            yield f"{prefix}{name}={value if isinstance(value, str) else json.dumps(value, default=str)}"


def _read_variable(path: Path, header: str, variable: object) -> str:
    """The value of a header, which stands in an environment variable."""
    value = environment().get(variable) if isinstance(variable, str) else None
    if not value:
        raise InputError(
            f"{path}: the header {header} needs the name of an environment variable that holds its value, and that "
            "is set. Values of headers are secrets, and this file holds none."
        )
    return value


def _check(path: Path, settings: object, kinds: Mapping[str, str], prefix: str = "") -> None:
    """Refuse settings that are unknown, or of the wrong kind."""
    if not isinstance(settings, dict):
        raise BadParameter(f"{path}: {prefix.rstrip('.: ')!r} must be a table. Got {settings!r} instead.")
    for name, value in settings.items():
        if name not in kinds:
            raise UnknownName(f"setting of {path}", f"{prefix}{name}", [f"{prefix}{known}" for known in kinds])
        kind = kinds[name]
        right = type(value) in _KINDS[kind] and (
            kind != "a whole number or 'all'" or value == "all" or value != str(value)
        )
        if not right or (isinstance(value, list) and not all(isinstance(entry, str) for entry in value)):
            raise BadParameter(f"{path}: {prefix + name!r} must be {kind}. Got {value!r} instead.")


def _refuse_secrets(path: Path, value: Any, name: str = "") -> None:
    """Refuse what looks like a key, by its name or as it stands, without showing it."""
    from equipoise.models import redact

    if isinstance(value, dict):
        for inner_name, inner in value.items():
            _refuse_secrets(path, inner, str(inner_name))
    elif isinstance(value, list):
        for inner in value:
            _refuse_secrets(path, inner, name)
    elif isinstance(value, str) and (redact.is_secret(name, value) or redact.looks_like_key(value)):
        raise InputError(
            f"{path}: {name!r} looks like a secret, and files like this one are shared. Put it into an environment "
            'variable and name that: key_variable = "MY_KEY". It is not shown here.'
        )
