"""`equipoise.toml`: what is asked again and again, written down once. It holds no secrets, and is not trusted.

A file like this lies in a repository that somebody cloned. So it does not decide where a key is sent, and what is
written stays in its folder.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from equipoise.errors import BadFile, BadParameter, InputError
from equipoise.runs.spec import HINTS, MOST, MOST_NESTED, RunSpec, load
from equipoise.settings import environment

REPORT, BEGINNING = b'<meta name="equipoise-sha256"', 100_000
"""What every report has in its beginning."""
Whole = Annotated[int, Meta(ge=-MOST, le=MOST)] | None


class GateRules(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The table `gate`, with the names of the options of `equipoise gate`."""

    fail_on: Literal["B", "C", "D"] | None = None
    max: dict[str, float] = {}
    no_regression: bool = False
    baseline: str | None = None
    undecided: Literal["pass", "fail"] | None = None
    allow_incomplete: bool = False


_OF_A_MODEL: list[Any] = [
    *((one.name, HINTS[one.name], None) for one in msgspec.structs.fields(RunSpec) if one.name != "headers"),
    ("headers", Annotated[dict[str, str], Meta(description="Headers, each with the variable that holds it.")], {}),
    ("sample", Annotated[int, Meta(ge=-MOST, le=MOST)] | Literal["all"] | None, None),
    ("repeat", Whole, None),
    ("seed", Whole, None),
    ("out", Annotated[str | None, Meta(description="The run file, in the folder of the configuration.")], None),
]
_OF_THE_FILE: list[Any] = [
    ("models", list[dict[str, Any]], []),
    ("report", Annotated[str | None, Meta(description="The report, in the folder of the configuration.")], None),
    ("gate", GateRules | None, None),
]
ModelTable = msgspec.defstruct("ModelTable", _OF_A_MODEL, kw_only=True, forbid_unknown_fields=True)
"""What stands below [[models]]."""
File = msgspec.defstruct("File", [*_OF_A_MODEL, *_OF_THE_FILE], kw_only=True, forbid_unknown_fields=True)
"""A whole file: settings for all models, the models, the report, and the rules of the gate."""


def config_schema() -> dict[str, Any]:
    """The JSON Schema of a file, for editors: `docs/equipoise.schema.json`."""
    _, parts = msgspec.json.schema_components([File, ModelTable], ref_template="#/$defs/{name}")
    parts["File"]["properties"]["models"] = {"type": "array", "items": {"$ref": "#/$defs/ModelTable"}}
    draft = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": draft, "title": "equipoise.toml", "$ref": "#/$defs/File", "$defs": parts}


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """What a file says of one model."""

    fields: Mapping[str, Any]
    """Fields of the specification."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """For each header the variable that holds its value."""
    out: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Config:
    """What a file says."""

    models: list[ModelConfig]
    report: Path | None
    gate: dict[str, Any]
    """The rules that it gives, as `GateRules` names them."""


def read_config(path: Path, model: str | None = None) -> Config:
    """Read and check a file. Wrong names get a suggestion, and whatever looks like a secret is refused.

    With a `model`, only what the file says of it; if it does not name it, what holds for all.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadFile(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise BadFile(f"{path} is not TOML: {error}") from None

    def fail(problem: str) -> Exception:
        return BadParameter(f"{path}: {problem}")

    _refuse_secrets(content, fail)
    entries = content.pop("models", [])
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise fail('Models are written as [[models]], each with model = "provider/name".')
    gate = content.pop("gate", {})
    load(gate, GateRules, lambda problem: fail(f"gate: {problem}"))
    if "baseline" in gate:
        gate["baseline"] = path.parent / gate["baseline"]
    load(content, File, fail)
    report = _inside(path, content.pop("report", None), fail)
    for number, entry in enumerate(entries, 1):
        load(entry, ModelTable, lambda problem, number=number: fail(f"models {number}: {problem}"))  # type: ignore[misc]
        if "model" not in entry:
            raise fail(f'models {number} has no name, as in model = "openai/gpt-4o-mini".')
    models = [_read_model(path, _merge(content, entry), fail) for entry in entries]
    outs = [entry.out for entry in models if entry.out]
    if len(outs) != len(set(outs)):
        raise fail("Two models have the same run file. Each needs its own.")
    if model is not None:
        shared = _read_model(path, content, fail)
        models = [entry for entry in models if entry.fields["model"] == model] or [shared]
    return Config(models=models, report=report, gate=gate)


def read_variables(path: Path, headers: Mapping[str, str]) -> dict[str, str]:
    """The values of headers, which stand in environment variables."""
    values = {}
    for header, variable in headers.items():
        values[header] = environment().get(variable, "")
        if not values[header]:
            raise InputError(
                f"{path}: the header {header} needs the name of an environment variable that holds its value, and "
                "that is set. Values of headers are secrets, and this file holds none."
            )
    return values


def check_is_report(path: Path) -> None:
    """Refuse to replace what is not a report of ours: a file does not decide that."""
    if path.exists() and (path.is_symlink() or not path.is_file() or REPORT not in path.read_bytes()[:BEGINNING]):
        raise InputError(
            f"{path} is no report of equipoise, and a configuration does not replace other files. "
            f"If it may go: --report {path}"
        )


def _merge(shared: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a model: its own over the shared ones, also inside of tables."""
    tables = [name for name in ("parameters", "extra", "headers") if name in shared and name in entry]
    return {**shared, **entry, **{name: {**shared[name], **entry[name]} for name in tables}}


def _read_model(path: Path, settings: Mapping[str, Any], fail: Callable[[str], Exception]) -> ModelConfig:
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
    return ModelConfig(fields=fields, headers=headers, out=_inside(path, settings.get("out"), fail))


def _inside(path: Path, given: str | None, fail: Callable[[str], Exception]) -> Path | None:
    """A file that is written, in the folder of the configuration or below it."""
    if given is None:
        return None
    folder = path.parent.resolve()
    target = (folder / given).resolve()
    if not target.is_relative_to(folder) or target == folder:
        raise fail(f"{given!r} is not in the folder of this file, and files are written nowhere else. Type it: --out")
    return path.parent / given


def _refuse_secrets(content: Mapping[str, Any], fail: Callable[[str], Exception]) -> None:
    """Refuse what looks like a key, without showing it; and texts and tables that no setting has.

    In the table of headers stand names of variables, so there it is the values that count.
    """
    from equipoise.models.redact import is_secret, looks_like_key

    stack: list[tuple[str, Any, int]] = [("", content, 0)]
    while stack:
        name, value, depth = stack.pop()
        if depth > MOST_NESTED:
            raise fail(f"Tables are nested more than {MOST_NESTED} deep.")
        if isinstance(value, dict):
            stack += [(name if name == "headers" else str(inner), each, depth + 1) for inner, each in value.items()]
        elif isinstance(value, list):
            stack += [(name, each, depth + 1) for each in value]
        elif isinstance(value, str) and "\0" in value:
            raise fail(f"{name!r} holds a NUL.")
        elif isinstance(value, str) and (looks_like_key(value) or (name != "headers" and is_secret(name, value))):
            raise InputError(
                f"{fail(repr(name))} looks like a secret, and files like this one are shared. Put it into an "
                'environment variable and name that: key_variable = "MY_KEY". It is not shown here.'
            )
