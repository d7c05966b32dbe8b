"""`equipoise.toml`: what is asked again and again, written down once. It holds no secrets, and is not trusted.

A file like this lies in a repository that somebody cloned. So it does not decide where a key is sent, and what is
written stays in its folder.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from equipoise.errors import BadFile, BadParameter, InputError
from equipoise.measuring.gate import Rules
from equipoise.runs.spec import HINTS, MOST, RunSpec, load
from equipoise.settings import environment

Whole = Annotated[int, Meta(ge=-MOST, le=MOST)] | None
_SETTINGS: list[Any] = [
    *((name, hint, None) for name, hint in HINTS.items() if name != "headers"),
    ("headers", Annotated[dict[str, str], Meta(description="Headers, each with the variable that holds it.")], None),
    ("sample", Annotated[int, Meta(ge=-MOST, le=MOST)] | Literal["all"] | None, None),
    ("repeat", Whole, None),
    ("seed", Whole, None),
    ("out", Annotated[str | None, Meta(description="The run file, in the folder of the configuration.")], None),
]
ModelTable = msgspec.defstruct("ModelTable", _SETTINGS, kw_only=True, forbid_unknown_fields=True)
"""What stands below [[models]]."""
_OF_THE_FILE: list[Any] = [
    ("models", list[ModelTable], []),  # type: ignore[valid-type]
    ("gate", Rules, Rules()),
]
File = msgspec.defstruct("File", [*_SETTINGS, *_OF_THE_FILE], kw_only=True, forbid_unknown_fields=True)
"""A whole file: settings for all models, the models, and the rules of the gate."""


class ModelConfig(NamedTuple):
    """What a file says of one model."""

    fields: Mapping[str, Any]
    """Fields of the specification."""
    headers: Mapping[str, str] = {}
    """For each header the variable that holds its value."""
    out: Path | None = None


def config_schema() -> dict[str, Any]:
    """The JSON Schema of a file, for editors: `docs/equipoise.schema.json`."""
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, "title": "equipoise.toml", **msgspec.json.schema(File)}


def read_config(path: Path) -> Any:
    """Read and check a file. A wrong name gets a suggestion, and whatever looks like a secret is refused."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise BadFile(f"{path} is not TOML: {error}") from None

    def fail(problem: str) -> Exception:
        return BadParameter(f"{path}: {problem}")

    _refuse_secrets(content, fail)
    return load(content, File, fail)


def read_models(path: Path, model: str | None) -> list[ModelConfig]:
    """What a file says of its models; or of this one only: if it does not name it, what holds for all."""
    file = read_config(path)
    shared = {name: value for name, value in _find_given(file).items() if name not in ("models", "gate")}
    tables = [{**shared, **_find_given(table)} for table in file.models]
    if model is not None:
        tables = [table for table in tables if table.get("model") == model] or [{**shared, "model": model}]
    if not tables or not all("model" in table for table in tables):
        raise InputError(f'{path} names no model. Add [[models]] with model = "provider/name", or name one here.')
    return [_read_model(path, table) for table in tables]


def _find_given(table: msgspec.Struct) -> dict[str, Any]:
    return {name: value for name, value in msgspec.structs.asdict(table).items() if value is not None}


def _read_model(path: Path, settings: Mapping[str, Any]) -> ModelConfig:
    fields = {name: value for name, value in settings.items() if name in RunSpec.__struct_fields__}
    headers = fields.pop("headers", {})
    parameters: dict[str, Any] = {}
    for name, value in fields.pop("parameters", {}).items():
        inner = {f"{name}.{one}": each for one, each in value.items()} if isinstance(value, dict) else {name: value}
        parameters |= inner
    parameters |= {name: settings[name] for name in ("sample", "repeat", "seed") if name in settings}
    is_all = {name: None for name, value in parameters.items() if name.endswith("sample") and value == "all"}
    if parameters:
        fields["parameters"] = parameters | is_all
    out = path.parent / settings["out"] if "out" in settings else None
    if out is not None and path.parent.resolve() not in out.resolve().parents:
        raise BadParameter(
            f"{path}: {settings['out']!r} is not in the folder of this file, and files are written nowhere else. "
            "Type it: --out"
        )
    return ModelConfig(fields, headers, out)


def read_variables(path: Path, headers: Mapping[str, str]) -> dict[str, str]:
    """The values of headers, which stand in environment variables."""
    values = {header: environment().get(variable) or "" for header, variable in headers.items()}
    if unset := [header for header, value in values.items() if not value]:
        raise InputError(
            f"{path}: the header {unset[0]} needs the name of an environment variable that holds its value, and "
            "that is set. Values of headers are secrets, and this file holds none."
        )
    return values


def _refuse_secrets(content: Mapping[str, Any], fail: Callable[[str], Exception]) -> None:
    """Refuse what looks like a key, without showing it; and texts that no setting has.

    In the table of headers stand names of variables, so there it is the values that count.
    """
    from equipoise.models.redact import has_known_key, is_secret

    stack: list[tuple[str, Any]] = [("", content)]
    while stack:
        name, value = stack.pop()
        if isinstance(value, dict):
            stack += [(name if name == "headers" else str(inner), each) for inner, each in value.items()]
        elif isinstance(value, list):
            stack += [(name, each) for each in value]
        elif isinstance(value, str) and "\0" in value:
            raise fail(f"{name!r} holds a NUL.")
        elif isinstance(value, str) and (has_known_key(value) or (name != "headers" and is_secret(name, value))):
            raise InputError(
                f"{fail(repr(name))} looks like a secret, and files like this one are shared. Put it into an "
                'environment variable and name that: key_variable = "MY_KEY". It is not shown here.'
            )
