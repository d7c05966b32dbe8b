"""Options that several commands have. Those that say what a run asks, and how, come from the fields of `RunSpec`."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from equipoise.errors import BadParameter, InputError, UnknownName
from equipoise.own_prompts import KINDS
from equipoise.runs.spec import HINTS, RunSpec, find_meta, find_option, load

if TYPE_CHECKING:
    from equipoise.authoring import Parameter, Probe
    from equipoise.runs.run import Run

FIELDS = tuple(name for name in RunSpec.__struct_fields__ if name not in ("model", "headers", "parameters", "own"))
JUDGE = ("judge", "judge_base_url", "judge_key_variable", "judge_price", "judge_anyway")
PLAN = ("sample", "repeat", "seed", "settings")
OWN = ("pairs", "read", "columns", "letters", "bands")
ACCESS = ("key_command", "header", "allow_insecure", "allow_secret_url")
COLUMNS = ("answer_column", "prompt_column", "id_column")
READING = ("reading", "unjudged")
ALL = ("all", "none")
"""How to say that everything is drawn."""
_KINDS = {"number": float, "integer": int, "boolean": bool, "array": list[str]}
"""What the options of a field take, by its JSON type; text if it is not here."""


def _option(kind: Any, about: str, metavar: str | None = None, *names: str) -> Any:
    return Annotated[kind | None, typer.Option(*names, help=about, metavar=metavar)]


def _field_option(name: str) -> Any:
    """The option of a field of `RunSpec`."""
    schema = msgspec.json.schema(HINTS[name])
    kinds = [part.get("type") for part in schema.get("anyOf", [schema]) if part.get("type") != "null"]
    short = ["-p"] if name == "probes" else []
    meta = find_meta(name)
    return _option(_KINDS.get(kinds[0], str), meta["help"], meta["metavar"], find_option(name), *short)


OPTIONS: dict[str, Any] = {
    **{name: _field_option(name) for name in FIELDS},
    "sample": _option(str, "How many items are drawn, or 'all'. Default: the probe's own.", "K|all"),
    "repeat": _option(int, "Attempts per prompt.", "N"),
    "seed": _option(int, "Seed of the drawing.", "S"),
    "settings": _option(
        list[str], "A parameter of the probe; repeatable. See: equipoise probes NAME", "NAME=VALUE", "--set"
    ),
    "pairs": _option(
        Path,
        "Your own prompts: a table (CSV, JSONL, Parquet) with the columns prompt, pair and arm, or a text with slots "
        "such as {name} and {she}.",
        "FILE",
    ),
    "read": _option(str, "How answers to them are read.", "|".join(KINDS)),
    "columns": _option(str, "What the columns are called in the table: arm=gender,pair=case,prompt=text.", "NAMES"),
    "letters": _option(str, "Of a choice: the letters of the options. Default: ab.", "abc"),
    "bands": _option(str, "The limits between the marks A, B, C and D.", "A,B,C"),
    "key_command": _option(
        str, "A command that prints the key; run without a shell, and again when the key is refused.", "COMMAND"
    ),
    "header": _option(
        list[str], "A header that goes with every request; repeatable. Its value is not stored.", "NAME=VALUE"
    ),
    "allow_insecure": _option(bool, "Send the key over http to another machine.", None, "--allow-insecure"),
    "allow_secret_url": _option(
        bool, "Use a base URL with a key in it. The key is not stored.", None, "--allow-secret-url"
    ),
    "answer_column": _option(str, "What the column `answer` is called in the file.", "NAME"),
    "prompt_column": _option(str, "What the column `prompt` is called in the file.", "NAME"),
    "id_column": _option(str, "What the column `id` is called in the file.", "NAME"),
    "unjudged": _option(bool, "Leave out the verdicts of the judge, if the run has one.", None, "--no-judge"),
}
RunFile = Annotated[Path, typer.Argument(help="The run file.", metavar="RUN")]
Model = Annotated[
    str | None, typer.Argument(help=f"{find_meta('model')['help']} Default: embedded.", show_default=False)
]
Answers = Annotated[
    list[Path],
    typer.Argument(
        help="Answers: JSONL, CSV, Parquet, the output of a batch job, a log of Inspect or lm-eval; a folder of files, "
        "or a pattern; for score also partials.",
        metavar="FILE...",
    ),
]
AnsweredBy = Annotated[str, typer.Option("--model", "-m", help="The model that answered, as for run.", metavar="NAME")]
Suite = Annotated[
    str | None,
    typer.Option(
        help="quick, ci, standard or full: as many prompts as run asks, and as often. Default: standard, once each.",
        metavar="NAME",
    ),
]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="The file to write; default: stdout.", metavar="FILE")]
Report = Annotated[Path | None, typer.Option(help="Also write the HTML report to this file.", metavar="FILE")]
ConfigFile = Annotated[
    Path | None,
    typer.Option(help="A file with models, probes, parameters, budgets, rules: docs/config.md", metavar="FILE"),
]
Yes = Annotated[
    bool, typer.Option("--yes", "-y", help="Start a run of more than 2,000 prompts or one dollar without a question.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]


def takes(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of these names. It gets what was typed as `given`."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def command(**values: Any) -> None:
            typed = {name: values.pop(name) for name in names}
            given = Given({name: value for name, value in typed.items() if value not in (None, [])})
            load(given.fields(), RunSpec, BadParameter)
            function(**values, given=given)

        signature = inspect.signature(function, eval_str=True)
        kept = [parameter for parameter in signature.parameters.values() if parameter.name != "given"]
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=OPTIONS[name])
            for name in names
        ]
        command.__signature__ = signature.replace(parameters=[*kept, *more])  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in (*kept, *more)}
        return command

    return decorate


class Given(dict[str, Any]):
    """The options that were typed, of those that a command takes, by their names in `OPTIONS`."""

    def fields(self) -> dict[str, Any]:
        """Those that are fields of the specification."""
        fields = {name: value for name, value in self.items() if name in FIELDS}
        if "extra" in fields:
            fields["extra"] = _parse_extra(fields["extra"])
        return fields

    def parameters(self, probes: Iterable[Probe]) -> dict[str, Any]:
        """Parameters of probes, by name; each goes to the probes that have it."""
        from equipoise.runs.suites import parameter_names

        known = {name: owners[0][1] for name, owners in parameter_names(probes).items()}
        pairs = (split_pair(one, "--set", "NAME=VALUE") for one in self.get("settings", ()))
        parameters = {name: _parse_parameter(known, name, value) for name, value in pairs}
        parameters |= {name: self[name] for name in ("repeat", "seed") if name in self}
        if "sample" in self:
            parameters["sample"] = None if self["sample"] in ALL else _parse_number(self["sample"])
        return parameters

    def access(self) -> dict[str, Any]:
        """What opens the way to a model, by the names of `Access`."""
        form = "NAME=VALUE, as in X-Organisation=42"
        headers = dict(split_pair(header, "--header", form, secret=True) for header in self.get("header", ()))
        return {"headers": headers, **{name: self[name] for name in ACCESS if name in self and name != "header"}}

    def session(self) -> dict[str, Any]:
        """What is given anew to a run that goes on."""
        return {**self.access(), **{name: value for name, value in self.fields().items() if name != "allow_missing"}}

    def allow_missing(self) -> float:
        """The share of attempts that may lack an answer."""
        return float(self.get("allow_missing", RunSpec().allow_missing))

    def open_run(self, file: Path) -> Run:
        """Open a run file, to be read as these options say."""
        from equipoise.runs.run import Run

        return Run.open(file, reading=self.get("reading"), judged="unjudged" not in self)

    def column_names(self) -> dict[str, str]:
        """What columns are called in a file of answers, and what they are called here."""
        return {self[name]: name.removesuffix("_column") for name in COLUMNS if name in self}

    def own_probe(self) -> Probe | None:
        """The probe of the user's own prompts, if they were given."""
        if "pairs" not in self:
            if unused := [f"--{name}" for name in OWN if name in self]:
                raise BadParameter(f"{unused[0]} is about prompts of your own. Name them, too: --pairs FILE")
            return None
        if self.get("read") not in KINDS:
            raise BadParameter(f"--pairs needs --read, one of {', '.join(KINDS)}. Got {self.get('read')!r} instead.")
        from equipoise.authoring import own_prompts

        return own_prompts(
            self["pairs"],
            read=self["read"],
            **(_parse_columns(self["columns"]) if "columns" in self else {}),
            letters=self.get("letters", "ab"),
            bands=_parse_bands(self["bands"]) if "bands" in self else None,
        )

    def one_probe(self, name: str | None) -> Probe:
        """The probe of this name, or that of the user's own prompts."""
        from equipoise.probes import get_probe

        own = self.own_probe()
        if (name is None) == (own is None):
            raise InputError("One probe is needed, by its name or with --pairs. See: equipoise probes")
        return own or get_probe(str(name))


def add_own(named: Iterable[str], own: Probe | None) -> list[str | Probe] | None:
    """The probes that were named, and that of the user's own prompts; None if there are neither."""
    return [*named, *([own] if own else [])] or None


def split_pair(pair: str, option: str, form: str, *, secret: bool = False) -> tuple[str, str]:
    """The two sides of NAME=VALUE, the value of an option. What may hold a secret is not shown when it is wrong."""
    name, equals, value = pair.partition("=")
    if not equals or not name.strip():
        given = "What was given is not shown." if secret else f"Got {pair!r} instead."
        raise BadParameter(f"{option} needs {form}. {given}")
    return name.strip(), value.strip() if secret else value


def _parse_number(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise BadParameter(f"--sample needs a whole number or 'all'. Got {value!r} instead.") from None


def _parse_extra(text: str) -> dict[str, Any]:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        value = None
    if not isinstance(value, dict):
        shown = text if len(text) < 200 else f"{text[:200]}…"
        raise BadParameter(f"--extra needs a JSON object, nested at most 100 deep. Got {shown!r} instead.")
    return value


def _parse_parameter(known: Mapping[str, Parameter], name: str, value: str) -> Any:
    """The text as the type of the parameter's default: text as it is, everything else as JSON, or @FILE with JSON."""
    from equipoise.report.text import shorten

    if name not in known:
        raise UnknownName("parameter", name, known)
    if isinstance(known[name].default, str):
        return value
    if known[name].name == "sample" and value in ALL:
        return None
    try:
        return json.loads(Path(value[1:]).read_text(encoding="utf-8") if value.startswith("@") else value)
    except OSError as error:
        raise BadParameter(
            f"The file {value[1:]} of the {name!r} parameter cannot be read: {error.strerror}."
        ) from None
    except ValueError as error:
        example = json.dumps(known[name].default, ensure_ascii=False)
        raise BadParameter(
            f"The {name!r} parameter must be JSON, such as {shorten(example, 80)} (or @FILE, a file with it). "
            f"Got {shorten(value, 80)!r} instead ({error})."
        ) from None


def _parse_columns(text: str) -> dict[str, str]:
    form = "prompt=…, pair=… or arm=…, separated by commas"
    columns = dict(split_pair(part, "--columns", form) for part in text.split(","))
    if not columns.keys() <= {"prompt", "pair", "arm"}:
        raise BadParameter(f"--columns needs {form}. Got {text!r} instead.")
    return columns


def _parse_bands(text: str) -> list[float]:
    try:
        bands = [float(part) for part in text.split(",")]
    except ValueError:
        bands = []
    if len(bands) != 3 or not 0 < bands[0] < bands[1] < bands[2]:
        raise BadParameter(f"--bands needs three growing numbers, such as 0.03,0.1,0.3. Got {text!r} instead.")
    return bands
