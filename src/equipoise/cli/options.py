"""Options that several commands have. Those that say what a run asks, and how, come from the fields of `RunSpec`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from equipoise.errors import BadParameter, InputError, UnknownName
from equipoise.own_prompts import KINDS
from equipoise.runs.spec import HINTS, RunSpec, find_meta, find_option, load

if TYPE_CHECKING:
    from equipoise.authoring import Probe
    from equipoise.runs.run import Run

FIELDS = tuple(name for name in RunSpec.__struct_fields__ if name not in ("model", "headers", "parameters", "own"))
JUDGE = ("judge", "judge_base_url", "judge_key_variable", "judge_price", "judge_anyway")
PLAN = ("sample", "repeat", "seed", "settings")
OWN = ("pairs", "read", "columns", "names", "letters", "bands")
ACCESS = ("key_command", "header", "allow_insecure", "allow_secret_url")
COLUMNS = ("answer_column", "prompt_column", "id_column")
READING = ("reading", "unjudged")
ALL = "all"
"""How to say that everything is drawn."""
COLUMNS_FORM = "prompt=…, pair=… or arm=…, separated by commas"
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
    "names": _option(
        Path, "Names for {name}: a table with the columns name, gender and perhaps race. Default: 784 of ours.", "FILE"
    ),
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
            fields["extra"] = parse_json(fields["extra"], "--extra", {"logprobs": True})
        return fields

    def parameters(self, probes: Iterable[Probe]) -> dict[str, Any]:
        """Parameters of probes, by name; each goes to the probes that have it."""
        from equipoise.runs.suites import parameter_names

        defaults = {name: owners[0][1].default for name, owners in parameter_names(probes).items()}
        pairs = [split_pair(one, "--set", "NAME=VALUE") for one in self.get("settings", ())]
        pairs += [(name, str(self[name])) for name in ("sample", "repeat", "seed") if name in self]
        parameters: dict[str, Any] = {}
        for name, value in pairs:
            if name not in defaults:
                raise UnknownName("parameter", name, defaults)
            if name.endswith("sample") and value == ALL:
                parameters[name] = None
            else:
                is_text = isinstance(defaults[name], str)
                parameters[name] = value if is_text else parse_json(value, f"The {name!r} parameter", defaults[name])
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

    def own_probes(self) -> list[str | Probe]:
        """The probe of the user's own prompts, if they were given."""
        if "pairs" not in self:
            if unused := [f"--{name}" for name in OWN if name in self]:
                raise BadParameter(f"{unused[0]} is about prompts of your own. Name them, too: --pairs FILE")
            return []
        if self.get("read") not in KINDS:
            raise BadParameter(f"--pairs needs --read, one of {', '.join(KINDS)}. Got {self.get('read')!r} instead.")
        from equipoise.authoring import own_prompts

        columns: dict[str, Any] = dict(
            split_pair(part, "--columns", COLUMNS_FORM) for part in self.get("columns", "").split(",") if part
        )
        if not columns.keys() <= {"prompt", "pair", "arm"}:
            raise BadParameter(f"--columns needs {COLUMNS_FORM}. Got {self['columns']!r} instead.")
        texts = {"names": self.get("names"), "letters": self.get("letters", "ab")}
        bands = parse_json(f"[{self['bands']}]", "--bands", [0.03, 0.1, 0.3]) if "bands" in self else None
        return [own_prompts(self["pairs"], read=self["read"], bands=bands, **texts, **columns)]

    def one_probe(self, name: str | None) -> Probe:
        """The probe of this name, or that of the user's own prompts."""
        from equipoise.probes import choose_probes

        wanted = [*([name] if name else []), *self.own_probes()]
        if len(wanted) != 1:
            raise InputError("One probe is needed, by its name or with --pairs. See: equipoise probes")
        (probe,) = choose_probes(wanted)
        return probe


def split_pair(pair: str, option: str, form: str, *, secret: bool = False) -> tuple[str, str]:
    """The two sides of NAME=VALUE, the value of an option. What may hold a secret is not shown when it is wrong."""
    name, equals, value = pair.partition("=")
    if not equals or not name.strip():
        given = "What was given is not shown." if secret else f"Got {pair!r} instead."
        raise BadParameter(f"{option} needs {form}. {given}")
    return name.strip(), value.strip() if secret else value


def parse_json(text: str, what: str, example: Any) -> Any:
    """The value of an option that is JSON, or @FILE with it; `what` names it in the message if it is none."""
    from equipoise.report.text import shorten

    try:
        return msgspec.json.decode(Path(text[1:]).read_bytes() if text.startswith("@") else text)
    except OSError as error:
        raise BadParameter(f"{what} is in a file that cannot be read: {text[1:]}: {error.strerror}.") from None
    except (msgspec.DecodeError, RecursionError, ValueError):
        shown = shorten(msgspec.json.encode(example).decode(), 80)
        raise BadParameter(
            f"{what} must be JSON, such as {shown} (or @FILE). Got {shorten(text, 80)!r} instead."
        ) from None
