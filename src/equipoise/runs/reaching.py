"""From a specification to a model that can be asked, and where a key may be sent.

A run file may come from anyone, and so may a configuration: neither decides where a key goes. It goes to the provider's
own address, to an address and from a variable that a person gave for this session, or to a pair that is approved: one
that a person gave before, on this machine.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from equipoise.authoring import Probe
from equipoise.errors import InputError
from equipoise.models.chat.providers import parse_model_name
from equipoise.models.programs import Function, FunctionModel, Generator, open_program
from equipoise.models.protocol import Model
from equipoise.models.simulated import SimulatedModel
from equipoise.runs.spec import Access, RunSpec, load, read_given, to_plain
from equipoise.runs.suites import Probes, choose_probes_for, get_suite
from equipoise.schema import SPECIFIED
from equipoise.settings import Settings, environment, write_whole

ModelLike = str | Function | Generator | Model
"""A name such as "openai/gpt-4o-mini", a function of the prompt, an object with `generate`, or a model itself."""
APPROVED = "approved-addresses.json"
ADDRESS = ("base_url", "key_variable")
ELSEWHERE = ("provider", "model", "max_tokens", "seed", "headers", "dropped")
"""What a model says of itself and the record of a run says by other names."""


def make_model(spec: RunSpec, access: Access) -> Model:
    """The model of a specification; nothing is sent yet. Keys come from the environment."""
    if not spec.local:
        from equipoise.models.chat.model import make_chat_model  # noqa: PLC0415 - aiohttp is slow to import

        return make_chat_model(
            spec.model,
            environ=environment(),
            base_url=spec.base_url,
            key_variable=None if access.key_command else spec.key_variable,
            key_command=access.key_command,
            headers=access.headers,
            sampling=spec.sampling,
            allow_insecure=access.allow_insecure,
            allow_secret_url=access.allow_secret_url,
            deadline=spec.deadline,
        )
    if spec.base_url or spec.key_variable or access.key_command or access.headers:
        raise InputError(f"The model {spec.model!r} runs on this machine: it has no base URL, no key and no headers.")
    if spec.program:
        return open_program(spec.model, spec.deadline)
    if spec.simulated:
        return SimulatedModel(spec.model, spec.model_seed or 0)
    from equipoise.models.llama.model import prepare_embedded  # noqa: PLC0415 - needs aiohttp

    return prepare_embedded(spec.model, settings=Settings.load(), sampling=spec.sampling, deadline=spec.deadline)


def is_on_this_machine(spec: RunSpec) -> bool:
    """Whether the model runs on this machine, in a process of ours or behind an address of this machine."""
    if spec.local:
        return True
    from equipoise.models.chat.endpoint import is_loopback, parse_url  # noqa: PLC0415 - reading a run needs no URLs

    provider, _ = parse_model_name(spec.model)
    url = parse_url(spec.base_url or provider.base_url or "")
    return provider.self_hosted and url is not None and is_loopback(url)


def default_suite(spec: RunSpec) -> str:
    """What is asked unless the user says otherwise: of a model on this machine, what it answers in minutes.

    A simulated model answers at once, and shows the scale only where marks are decided.
    """
    if spec.simulated:
        return "ci"
    return "quick" if is_on_this_machine(spec) else "standard"


class Reached(NamedTuple):
    """A model that can be asked, and what a run file keeps of it."""

    model: Model
    public_spec: RunSpec
    """How it is reached and asked, without secrets: what a run file stores."""
    settings: dict[str, Any]
    """What the model says of itself beyond that."""


class Source(NamedTuple):
    """What names a model and its address: a file, which may come from anyone."""

    name: object
    again: list[str]
    """The words of the command that goes on."""
    received: bool = False
    """Whether it is a run file. It does not decide where prompts are posted, although no key goes with them."""
    role: Literal["model", "judge"] = "model"

    @classmethod
    def of_run(cls, path: Path, *, received: bool = True) -> Source:
        """A run file that goes on."""
        return cls(path, ["equipoise", "resume", str(path)], received)


def reach_model(spec: RunSpec, given: Function | Generator | Model | None, access: Access, source: Source) -> Reached:
    """The model of a specification, or the one that is given, and what a run file may keep of both: no secrets.

    A key that only a file sends somewhere is refused first. Nothing is sent yet.
    """
    if given is None:
        refuse_foreign_address(spec, access, source)
        model = make_model(spec, access)
    elif isinstance(given, Model):
        model = given
    elif callable(given) or isinstance(given, Generator):
        model = FunctionModel(given)
    else:
        raise InputError(
            f"A model must be a name, a function of the prompt, or have generate(prompts). Got {given!r} instead."
        )
    said = model.settings
    in_spec = ("temperature", "top_p", "extra", "system", *(["base_url"] if spec.base_url else []))
    known = {name: said[name] for name in in_spec if name in said}
    public = load({**to_plain(spec), **known, "model": model.name}, RunSpec, InputError)
    kept = {name: value for name, value in said.items() if name not in (*in_spec, *ELSEWHERE)}
    return Reached(model, public, kept)


def name_of(model: ModelLike) -> str:
    """The name of a model in a specification."""
    return model if isinstance(model, str) else "function"


def settle_spec(
    model: ModelLike | RunSpec, probes: Probes, judge: ModelLike | None, access: Access | None, given: Mapping[str, Any]
) -> tuple[RunSpec, Access, list[Probe]]:
    """The specification that the keywords of a function describe, with all that its suite says; and the probes."""
    named = isinstance(model, str | RunSpec)
    given = {**given, "judge": name_of(judge)} if judge is not None else given
    base = model if isinstance(model, RunSpec) else RunSpec(model=name_of(model))
    spec, access = read_given(base, given, access)
    suite = get_suite(spec.suite or (default_suite(spec) if named else "standard"))
    spec = suite.complete(replace(spec, suite=suite.name))
    wanted = probes if probes is not None else spec.probes or None
    chosen = choose_probes_for(spec.model if named else None, wanted, suite.name)
    chosen = [probe.read_by(spec.reading) for probe in chosen]
    if probes is not None and not isinstance(model, RunSpec):
        spec = replace(spec, probes=tuple(probe.name for probe in chosen))
    if spec.reading is None and {probe.reading for probe in chosen} == {SPECIFIED}:
        spec = replace(spec, reading=SPECIFIED)
    return replace(spec, own=tuple(probe.own for probe in chosen if probe.own)), access, chosen


# Where a key may be sent


class Destination(msgspec.Struct, frozen=True):
    """An address, and the environment variable whose value is sent there as the key."""

    address: str
    key_variable: str
    """Empty where no key is sent, or a key command or headers are the secret."""


def approve(spec: RunSpec, access: Access) -> None:
    """Remember that a person sends this key to this address. Neither the key nor a secret in the address is stored."""
    destination, known = _find_destination(spec, access), _read_approved()
    from_file = [name for name in ADDRESS if getattr(spec, name) and name not in access.typed]
    own = None if spec.program else _find_destination(RunSpec(model=spec.model), Access())
    if destination is not None and not from_file and destination not in (*known, own):
        with suppress(OSError):  # then `resume` asks for the options again, which is safe
            folder = Settings.load().config
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with write_whole(folder / APPROVED, mode=0o600) as file:
                file.write(msgspec.json.encode([*known, destination]))


def refuse_foreign_address(spec: RunSpec, access: Access, source: Source) -> None:
    """Refuse to send a key where only a file says so, or to run a program that only a run file names."""
    destination, is_judge = _find_destination(spec, access), source.role == "judge"
    if destination is None:
        return
    typed = RunSpec(model=spec.model, **{name: getattr(spec, name) for name in ADDRESS if name in access.typed})
    # Of a program its name is typed. A judge that the user names is not `received`.
    is_typed = source.role in access.typed if spec.program else destination == _find_destination(typed, access)
    headers_typed = not access.headers or "headers" in access.typed
    secret = _name_secret(destination, access)
    needs_trust = source.received or (secret and not spec.program)
    if not needs_trust or (headers_typed and (is_typed or _is_approved(destination))):
        return
    words = [f"--{source.role}", spec.model] if spec.program or is_judge else []
    if not spec.program:
        prefix = "--judge-" if is_judge else "--"
        words += [f"{prefix}base-url", destination.address]
        words += [f"{prefix}key-variable", destination.key_variable] if destination.key_variable else []
        words += [word for name in access.headers for word in ("--header", f"{name}=…")]
    sent = f"{secret or 'the prompts'} sent to {destination.address}"
    wanted = f"{spec.model!r} run on this machine" if spec.program else sent
    raise InputError(
        f"{source.name} wants {wanted}. A file cannot decide that, and no run was started on this machine in this way. "
        f"Nothing was done. If you trust it: {shlex.join([*source.again, *words])}"
    )


def _name_secret(destination: Destination, access: Access) -> str:
    if destination.key_variable:
        return f"the key in {destination.key_variable}"
    return "the key" if access.key_command else "the headers" if access.headers else ""


def _find_destination(spec: RunSpec, access: Access) -> Destination | None:
    """Where requests would go, with which key, or the program; None if the model runs here, or there is no address."""
    if spec.program:
        return Destination(spec.model, "")
    if spec.local:
        return None
    provider, model = parse_model_name(spec.model)
    if spec.base_url is None and provider.base_url is None:
        return None
    from equipoise.models.chat.endpoint import resolve_endpoint  # noqa: PLC0415 - reading a run needs no URLs

    endpoint = resolve_endpoint(provider, model, spec.base_url, allow_secret_url=access.allow_secret_url)
    variable = spec.key_variable or provider.key_variable or ""
    is_set = not access.key_command and environment().get(variable, "").strip()
    return Destination(endpoint.base_url, variable if is_set else "")


def _is_approved(destination: Destination) -> bool:
    """Whether a person gave this pair before. Where no key is sent, the address is enough."""
    known = _read_approved()
    addresses = {entry.address for entry in known}
    return destination in known or (not destination.key_variable and destination.address in addresses)


def _read_approved() -> list[Destination]:
    """The approved destinations. A file that cannot be read approves nothing."""
    try:
        return msgspec.json.decode((Settings.load().config / APPROVED).read_bytes(), type=list[Destination])
    except (OSError, msgspec.MsgspecError):
        return []
