"""`RunSpec`: what a run asks, of whom and how, as one frozen value.

It comes from the command line, from a configuration or from Python. As typed it may hold a secret (in the base URL,
`extra` or `system`); what the run file stores, compares when the run goes on, and prints as a command is
`reaching.Reached.public_spec`. The command that prints a key and the values of headers are in `Access`, and are never
stored; a key from a variable is read in `reaching.make_model`, and stands in neither.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_type_hints

import msgspec
import orjson
from msgspec import Meta

from equipoise.errors import BadParameter, InputError, did_you_mean
from equipoise.own_prompts import OwnPrompts

if TYPE_CHECKING:
    from equipoise.models.protocol import Sampling

T = TypeVar("T", bound=msgspec.Struct)
MOST = 2**63 - 1
"""Neither run files nor requests hold larger numbers."""
MOST_SHOWN = 60
EMBEDDED, SIMULATED, GGUF, COMMAND = "embedded", "simulated/", "gguf:", "command:"
PACE = ("concurrency", "deadline", "patience", "tries", "rpm", "max_requests", "max_tokens_total", "max_cost")
"""The fields that say how fast, and how much at most, is asked."""
FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")

Text = str | None
Count = Annotated[int, Meta(ge=1, le=MOST)] | None
Limit = Annotated[int, Meta(ge=0, le=MOST)] | None
Positive = Annotated[float, Meta(gt=0, le=1e9)]
Dollars = Annotated[float, Meta(ge=0, le=1e9)] | None
Temperature = Annotated[float, Meta(ge=0, le=100)] | None
Seed = Annotated[int, Meta(ge=-MOST, le=MOST)] | None
Reading = Literal["careful", "specified"] | None


def _meta(description: str, metavar: str | None = None, option: str | None = None) -> Meta:
    """What a field is about: for the help of its option, and for the JSON Schema of a configuration."""
    return Meta(description=description, extra={"metavar": metavar, "option": option})


class RunSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a run asks, of whom and how. What is None is left to the probes, to the endpoint or to the defaults."""

    # Which model, and where
    model: Annotated[
        str,
        _meta(
            "openai/gpt-4o-mini, anthropic/…, ollama/llama3.2, custom/…, gguf:FILE, command:PROGRAM, module:function, "
            "simulated/STANCE, embedded, or embedded/NAME."
        ),
    ] = EMBEDDED
    base_url: Annotated[Text, _meta("Another address for the provider.", "URL")] = None
    key_variable: Annotated[Text, _meta("The environment variable that holds the key.", "NAME")] = None
    headers: tuple[str, ...] = ()
    """The names of the headers that go with every request. Their values are not stored."""
    price: Annotated[Text, _meta("Dollars for a million tokens of prompts, of answers.", "P,A")] = None

    # What is asked
    probes: Annotated[tuple[str, ...], _meta("A probe; repeatable. Default: all.", "NAME", "--probe")] = ()
    own: tuple[OwnPrompts, ...] = ()
    """Prompts that the user brings, as data. The run file holds the prompts themselves."""
    suite: Annotated[
        Text,
        _meta(
            "quick for a look, ci for a gate. More: standard, full, or a use case (hiring, writing …): the probes "
            "about it, in standard size. Default: quick for a model on this machine, ci for a simulated one, else "
            "standard.",
            "NAME",
        ),
    ] = None
    parameters: Annotated[dict[str, Any], _meta("A parameter of the probes; repeatable.", "NAME=VALUE", "--set")] = {}
    reading: Annotated[
        Reading, _meta("How answers are read: careful (default), or specified, as published.", "careful|specified")
    ] = None
    until_certain: Annotated[
        bool, _meta("Ask each probe in up to five looks of doubling size, until its marks are certain.")
    ] = False
    probabilities: Annotated[
        bool, _meta("Read answers that one word decides from its probabilities: one token, narrower intervals.")
    ] = False

    # How the model answers
    temperature: Annotated[Temperature, _meta("Default: the endpoint's own.", "T")] = None
    top_p: Annotated[Annotated[float, Meta(gt=0, le=1)] | None, _meta("Default: the endpoint's own.", "P")] = None
    max_tokens: Annotated[Count, _meta("Longest answer. Default: what each probe needs.", "N")] = None
    model_seed: Annotated[Seed, _meta("Seed that the model is given.", "S")] = None
    system: Annotated[Text, _meta("System prompt.", "TEXT")] = None
    extra: Annotated[dict[str, Any], _meta("Further fields of the request, as JSON.", "JSON")] = {}

    # Who judges
    judge: Annotated[Text, _meta("A second model, asked about unclear answers. Default: none.", "MODEL")] = None
    judge_base_url: Annotated[Text, _meta("Another address for the judge.", "URL")] = None
    judge_key_variable: Annotated[Text, _meta("The environment variable that holds the judge's key.", "NAME")] = None
    judge_price: Annotated[Text, _meta("The same as --price, for the judge.", "P,A")] = None
    judge_anyway: Annotated[bool, _meta("Use the judge even if it fails its exam; every report says so.")] = False

    # Pace and budget
    concurrency: Annotated[Count, _meta("Requests at a time. Default: 16.", "N")] = None
    deadline: Annotated[Positive, _meta("Seconds an attempt may take in all. Default: 300.", "S")] = 300.0
    patience: Annotated[
        Positive, _meta("Seconds to wait for an endpoint that answers nothing (outage, rate limit). Default: 600.", "S")
    ] = 600.0
    tries: Annotated[int, Meta(ge=1, le=MOST), _meta("Requests per attempt, if it fails. Default: 4.", "N")] = 4
    rpm: Annotated[Positive | None, _meta("Send at most N requests a minute, evenly.", "N")] = None
    max_requests: Annotated[Limit, _meta("Stop after N requests in this session.", "N")] = None
    max_tokens_total: Annotated[Limit, _meta("Stop when the run has used N tokens.", "N")] = None
    max_cost: Annotated[Dollars, _meta("Stop when the run has cost D dollars.", "D")] = None
    allow_missing: Annotated[
        float, Meta(ge=0, le=1), _meta("Share of attempts that may lack an answer (else exit 3). Default: 0.05.", "X")
    ] = 0.05

    @property
    def sampling(self) -> Sampling:
        """How the model is asked to answer."""
        from equipoise.models.protocol import Sampling  # noqa: PLC0415 - the help of a command needs none of it

        same = ("temperature", "top_p", "max_tokens", "system", "extra")
        return Sampling(seed=self.model_seed, **{name: getattr(self, name) for name in same})

    @property
    def simulated(self) -> bool:
        """Whether the model is a reference model of the probes, which no language model answers for."""
        return self.model.startswith(SIMULATED)

    @property
    def program(self) -> bool:
        """Whether the model is a program or a Python function of this machine."""
        is_function = FUNCTION.fullmatch(self.model) is not None and not self.model.startswith(GGUF)
        return self.model.startswith(COMMAND) or is_function

    @property
    def local(self) -> bool:
        """Whether the model runs here, in a process of ours."""
        embedded = self.model.partition("/")[0] == EMBEDDED
        return embedded or self.model.startswith(GGUF) or self.simulated or self.program

    def compared(self) -> dict[str, Any]:
        """What must stay the same when the run goes on. Probes and parameters are compared by what they plan."""
        names = [name for name in to_plain(self) if name not in FREE and not name.startswith("judge")]
        return {name: getattr(self, name) for name in names}

    def without_judge(self) -> RunSpec:
        """The same without a judge."""
        default = RunSpec()
        names = [name for name in RunSpec.__struct_fields__ if name.startswith("judge")]
        return msgspec.structs.replace(self, **{name: getattr(default, name) for name in names})

    def judge_spec(self) -> RunSpec:
        """How the judge is reached and asked. It does not draw its word; the limit leaves room for reasoning."""
        assert self.judge is not None
        reached = {name: getattr(self, f"judge_{name}") for name in ("base_url", "key_variable")}
        pace = {name: getattr(self, name) for name in PACE}
        spec = RunSpec(model=self.judge, temperature=0.0, **reached, **pace)
        # What runs here does not reason, and takes long for many tokens.
        return msgspec.structs.replace(spec, max_tokens=16 if spec.local else 1_024)

    def command(self) -> list[str]:
        """The words of the command that starts this run. The values of headers are not known, so they are left out."""
        words = ["equipoise", "run", self.model]
        for name, value in to_plain(self).items():
            if name not in ("model", "parameters", "headers", "own"):
                words += _option_words(find_option(name), value)
        for own in self.own:
            words += ["--pairs", f"{own.name}.csv", "--read", own.read]
        for name, value in self.parameters.items():
            said = "all" if value is None else value if isinstance(value, str) else msgspec.json.encode(value).decode()
            words += [f"--{name}", said] if name in ("sample", "repeat", "seed") else ["--set", f"{name}={said}"]
        return words + [word for name in self.headers for word in ("--header", f"{name}=…")]


FREE = (*PACE, "allow_missing", "key_variable", "price", "probes", "parameters")
"""What may be another when a run goes on, as may the judge."""


@dataclass(frozen=True, kw_only=True)
class Access:
    """What opens the way to a model in this session, and is never stored; and what of it a person has said."""

    key_command: str | None = field(default=None, repr=False)
    """A command that prints the key; it is run without a shell, and again when the key is refused."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request."""
    allow_insecure: bool = False
    """Whether a key may be sent unencrypted to another machine."""
    allow_secret_url: bool = False
    """Whether the base URL may hold a secret."""
    typed: frozenset[str] = frozenset(RunSpec.__struct_fields__)
    """The fields whose values a person gave for this session, on the command line or in Python. The others come from
    a file, which may come from anyone."""


ACCESS = tuple(one.name for one in fields(Access))


class RunRecord(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run file says of itself, beside its prompts and attempts: one setting each."""

    spec: RunSpec
    model_settings: dict[str, Any]
    """What shapes the answers, as the model itself describes it (`Model.settings`)."""
    looks: dict[str, list[Annotated[int, Meta(gt=0, le=MOST)]]] = {}
    """If the run stops when its marks are certain: for each probe how many items it has at each look."""
    limit_raised: bool = False
    """Whether `spec.max_tokens` was raised while the model was asked, because its reasoning took all of the limit."""
    dropped: list[str] = []
    """Parameters that the endpoint rejected before its first answer, so that they are not sent."""
    notes: list[str] = []
    """What the user was told while the model was asked."""
    created: str
    """When the file was written: ISO 8601, UTC."""
    equipoise: str
    """The version that wrote it."""
    judge_settings: dict[str, Any] | None = None
    """What the judge says of itself, if there is one."""
    judge_dropped: list[str] = []
    """The same as `dropped`, for the judge."""
    judged_from: int = 0
    """After how many attempts and verdicts this judge was chosen: earlier verdicts are those of another one."""

    @property
    def model(self) -> str:
        """The model that was asked."""
        return self.spec.model

    @property
    def is_function(self) -> bool:
        """Whether a Python function was asked, which nobody can find again by its name."""
        return "function" in self.model_settings

    @property
    def imported(self) -> bool:
        """Whether the answers come from elsewhere, so that nobody knows how the model was asked."""
        return self.model_settings == {"imported": True}

    @property
    def origin(self) -> str:
        """Where the answers come from: "asked", "simulated" by a reference model, or "imported"."""
        return "imported" if self.imported else "simulated" if "simulated" in self.model_settings else "asked"


def make_record(spec: RunSpec, **fields: Any) -> RunRecord:
    """What a new run file says of itself."""
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return RunRecord(spec=spec, created=created, equipoise=version("equipoise"), **fields)


def make_spec(**values: Any) -> RunSpec:
    """The specification with these fields, checked; those that are None are left out."""
    spec = load({name: value for name, value in values.items() if value is not None}, RunSpec, BadParameter)
    _ = spec.sampling  # which refuses fields of requests that equipoise fills in
    for name in ("judge_base_url", "judge_key_variable"):
        if getattr(spec, name) is not None and spec.judge is None:
            raise BadParameter(f"{find_option(name)} is about a judge. Name it, too: --judge MODEL")
    return spec


def read_given(base: RunSpec, given: Mapping[str, Any], access: Access | None = None) -> tuple[RunSpec, Access]:
    """The specification and the access that the keywords of a function describe, over those of `base`.

    A keyword is a field of one or the other, or a parameter of the probes.
    """
    fields = {name: getattr(base, name) for name in RunSpec.__struct_fields__}
    parameters, opening = dict(base.parameters), {}
    for name, value in given.items():
        if name == "parameters":
            parameters |= value
        elif name in ACCESS:
            opening[name] = value
        elif name not in fields:
            parameters[name] = value
        elif value is not None:
            fields[name] = value
    access = access or Access(**{name: value for name, value in opening.items() if value is not None})
    headers = tuple(sorted(access.headers)) or base.headers
    return make_spec(**{**fields, "headers": headers, "parameters": parameters}), access


def find_option(name: str) -> str:
    """The option of the commands that gives a field."""
    return find_meta(name).get("option") or f"--{name.replace('_', '-')}"


def find_meta(name: str) -> Mapping[str, Any]:
    """The `metavar` and the `option` of a field, and its `help`."""
    meta = HINTS[name].__metadata__[-1]
    return {"help": meta.description, **meta.extra}


def load(data: object, kind: type[T], fail: Callable[[str], Exception]) -> T:
    """Turn data from outside into a value. What is unknown, missing or of the wrong type is named in what is raised."""
    for name, value in data.items() if isinstance(data, Mapping) else ():
        if name not in kind.__struct_fields__:
            known = did_you_mean(str(name), kind.__struct_fields__)
            raise fail(f"No setting is called {str(name)[:MOST_SHOWN]!r}.{known}")
        try:
            orjson.dumps(value, msgspec.structs.asdict, orjson.OPT_PASSTHROUGH_DATETIME)
        except TypeError as error:
            raise fail(f"{name!r} must be what JSON holds, not nested too deep. {error}.") from None
    try:
        return msgspec.convert(data, kind)
    except InputError as error:
        raise fail(str(error)) from None
    except msgspec.ValidationError as error:
        raise fail(_describe_problem(str(error), data, kind)) from None


def _describe_problem(problem: str, data: Any, kind: type[msgspec.Struct]) -> str:
    """What msgspec says of wrong data, with what was given: "'rpm' must be `float` > 0.0. Got 0 instead."."""
    problem, _, place = problem.partition(" - at ")
    name = place.strip("`$.")
    if problem.startswith("Invalid enum value"):
        schema = msgspec.json.schema(get_type_hints(kind, include_extras=True)[name.partition(".")[0]])
        parts = [part.get("enum", [part.get("type")]) for part in schema.get("anyOf", [schema])]
        choices = [one for part in parts for one in part if one not in (None, "null")]
        problem = f"Expected {' or '.join(map(repr, choices))}"
    if not problem.startswith("Expected") or not name:
        return f"{name!r}: {problem}." if name else f"{problem}."
    must_be = problem.replace("Expected", "must be", 1).partition(", got")[0]
    return f"{name!r} {must_be}." + (f" Got {str(data[name])[:MOST_SHOWN]!r} instead." if name in data else "")


def _option_words(option: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [option]
    if isinstance(value, list):
        return [word for one in value for word in (option, str(one))]
    return [option, msgspec.json.encode(value).decode() if isinstance(value, dict) else str(value)]


def to_plain(value: object) -> Any:
    """The value as it comes back from a file, where tuples are lists. Defaults of a specification are left out."""
    return msgspec.json.decode(msgspec.json.encode(value))


def find_differences(old: object, new: object) -> dict[str, str]:
    """Where two values differ, field by field, as they would come back from a file: `was X, is Y`."""
    was, now = _flatten("", to_plain(old)), _flatten("", to_plain(new))
    changed = sorted(field for field in was.keys() | now.keys() if was.get(field) != now.get(field))
    return {field: f"was {was.get(field, 'not given')}, is {now.get(field, 'not given')}" for field in changed}


def _flatten(path: str, value: object) -> dict[str, str]:
    """Each value inside of tables, as JSON, by the names that lead to it."""
    if not isinstance(value, Mapping):
        return {path: msgspec.json.encode(value).decode()}
    inner = (_flatten(f"{path}.{name}" if path else name, one) for name, one in value.items())
    return {field: text for part in inner for field, text in part.items()}


HINTS = get_type_hints(RunSpec, include_extras=True)
