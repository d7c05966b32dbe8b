"""From a specification to a model that can be asked, and where a key may be sent.

A run file may come from anyone, and so may a configuration: neither decides where a key goes. It goes to the provider's
own address, to an address and from a variable that a person gave for this session, or to a pair that is approved: one
that a person gave before, on this machine.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from equipoise import models
from equipoise.authoring import Probe
from equipoise.errors import InputError
from equipoise.models import FunctionModel, Model, parse_model_name
from equipoise.models.functions import Function, Generator
from equipoise.models.programs import CONCURRENCY, open_program
from equipoise.models.simulated import SimulatedModel
from equipoise.runs.ask.policy import Policy
from equipoise.runs.spec import COMMAND, Access, RunSpec, read_given
from equipoise.runs.suites import Probes, choose_probes_for, get_suite
from equipoise.settings import Settings, environment, write_whole

if TYPE_CHECKING:
    from equipoise.models.chat.endpoint import Endpoint

ModelLike = str | Function | Generator | Model
"""A name such as "openai/gpt-4o-mini", a function of the prompt, an object with `generate`, or a model itself."""
APPROVED = "approved-addresses.json"


def open_model(spec: RunSpec, access: Access, deadline: float = Policy.deadline) -> Model:
    """The model of a specification; nothing is sent yet. Keys come from the environment."""
    if not spec.local:
        return models.connect(
            spec.model,
            environ=environment(),
            base_url=spec.base_url,
            key_variable=None if access.key_command else spec.key_variable,
            key_command=access.key_command,
            headers=access.headers,
            sampling=spec.sampling,
            allow_insecure=access.allow_insecure,
            allow_secret_url=access.allow_secret_url,
            deadline=deadline,
        )
    if spec.base_url or spec.key_variable or access.key_command or access.headers:
        raise InputError(f"The model {spec.model!r} runs on this machine: it has no base URL, no key and no headers.")
    if spec.program:
        return open_program(spec.model, deadline)
    if spec.simulated:
        return SimulatedModel(spec.model, spec.sampling)
    from equipoise.models.llama.model import prepare_embedded  # noqa: PLC0415 - needs aiohttp

    return prepare_embedded(spec.model, settings=Settings.load(), sampling=spec.sampling, deadline=deadline)


def _wrap_model(model: Function | Generator | Model) -> Model:
    """A model of the user's own: used as it is, or made of a function."""
    if isinstance(model, Model):
        return model
    if callable(model) or isinstance(model, Generator):
        return FunctionModel(model)
    raise InputError(
        f"A model must be a name, a function of the prompt, or have generate(prompts). Got {model!r} instead."
    )


def default_concurrency(model: ModelLike) -> int:
    """How many requests at a time. A plain function is called once at a time: it need not expect anything else."""
    if isinstance(model, str) and RunSpec(model=model).program:
        return CONCURRENCY if model.startswith(COMMAND) else 1
    is_plain = not isinstance(model, str | Model | Generator) and not inspect.iscoroutinefunction(model)
    return 1 if is_plain else Policy.concurrency


def is_on_this_machine(spec: RunSpec) -> bool:
    """Whether the model runs on this machine, in a process of ours or behind an address of this machine."""
    if spec.local:
        return True
    from equipoise.models.chat.endpoint import is_loopback_url  # noqa: PLC0415 - reading a run needs no URLs

    provider, _ = parse_model_name(spec.model)
    return provider.self_hosted and is_loopback_url(spec.base_url or provider.base_url or "")


def default_suite(spec: RunSpec) -> str:
    """What is asked unless the user says otherwise: of a model on this machine, what it answers in minutes.

    A simulated model answers at once, and shows the scale only where marks are decided.
    """
    if spec.simulated:
        return "ci"
    return "quick" if is_on_this_machine(spec) else "standard"


@dataclass(frozen=True)
class Reached:
    """A model that can be asked, and what a run file keeps of it."""

    model: Model
    spec: RunSpec
    """How it is reached and asked, without secrets."""
    settings: dict[str, Any]
    """What the model says of itself."""


@dataclass(frozen=True, kw_only=True)
class Source:
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
        return cls(name=path, again=["equipoise", "resume", str(path)], received=received)


def reach_model(
    spec: RunSpec,
    function: Function | Generator | Model | None,
    access: Access,
    source: Source,
    deadline: float = Policy.deadline,
) -> Reached:
    """The model of a specification, or that of the user's own; nothing is sent yet."""
    if function is None:
        refuse_foreign_address(spec, access, source)
        model = open_model(spec, access, deadline)
    else:
        model = _wrap_model(function)
    # Two settings change while the model is asked: parameters that are dropped, and the limit that stands in `spec`.
    stored = {name: value for name, value in model.settings.items() if name not in ("dropped", "max_tokens")}
    base_url, extra, system = stored.get("base_url"), stored.get("extra", {}), stored.get("system")
    if not (isinstance(base_url, str | None) and isinstance(system, str | None) and isinstance(extra, dict)):
        raise InputError(f"The settings of the model {model.name!r} need texts for base_url and system.")
    public = replace(spec, model=model.name, base_url=base_url if spec.base_url else None, extra=extra, system=system)
    return Reached(model, public, stored)


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
    if probes is not None and not isinstance(model, RunSpec):
        spec = replace(spec, probes=tuple(probe.name for probe in chosen))
    return spec, access, chosen


# Where a key may be sent


class Destination(msgspec.Struct, frozen=True):
    """An address, and the environment variable whose value is sent there as the key."""

    address: str
    key_variable: str
    """Empty where no key is sent, or a key command or headers are the secret."""


def approve(spec: RunSpec, access: Access) -> None:
    """Remember that a person sends this key to this address. Neither the key nor a secret in the address is stored."""
    destination, settings = _find_destination(spec, access), Settings.load()
    from_file = [name for name in ("base_url", "key_variable") if getattr(spec, name) and name not in access.typed]
    if destination is None or from_file:
        return
    known = _read_approved(settings)
    is_default = not spec.program and destination == _find_destination(RunSpec(model=spec.model), Access())
    if destination not in known and not is_default:
        with suppress(OSError):  # then `resume` asks for the options again, which is safe
            settings.config.mkdir(mode=0o700, parents=True, exist_ok=True)
            with write_whole(settings.config / APPROVED, mode=0o600) as file:
                file.write(msgspec.json.encode([*known, destination]))


def refuse_foreign_address(spec: RunSpec, access: Access, source: Source) -> None:
    """Refuse to send a key where only a file says so, for its model or for its judge."""
    if spec.program:
        # A judge that the user names is not `received` (`find_judge`): "judge" is never among what is `typed` for it.
        if source.received and source.role not in access.typed and not _is_approved(Destination(spec.model, "")):
            raise InputError(
                f"{source.name} wants {spec.model!r} run on this machine. A file cannot decide that, and no run was "
                "started on this machine in this way. Nothing was run. If you trust this program: "
                f"{shlex.join([*source.again, f'--{source.role}', spec.model])}"
            )
        return
    destination = _find_destination(spec, access)
    if destination is None:
        return
    sent = _describe_secret(destination, access)
    if sent is None and not source.received:
        return
    typed = {name: getattr(spec, name) for name in ("base_url", "key_variable") if name in access.typed}
    own = _find_destination(RunSpec(model=spec.model, **typed), access)
    headers_typed = not access.headers or "headers" in access.typed
    if headers_typed and (destination == own or _is_approved(destination)):
        return
    is_judge = source.role == "judge"
    prefix = "--judge-" if is_judge else "--"
    words = [*source.again, *(("--judge", spec.model) if is_judge else ())]
    words += [f"{prefix}base-url", destination.address]
    words += [f"{prefix}key-variable", destination.key_variable] if destination.key_variable else []
    words += ["--key-command", "…"] if access.key_command else []
    words += [word for name in access.headers for word in ("--header", f"{name}=…")]
    words += ["--allow-insecure"] if _resolve(spec, access).is_exposed else []
    raise InputError(
        f"{source.name} wants {sent or 'the prompts'} sent to {destination.address}. A file cannot "
        "decide that, and no run was started on this machine in this way. Nothing was sent. "
        f"If you trust this address: {shlex.join(words)}"
    )


def _describe_secret(destination: Destination, access: Access) -> str | None:
    if access.key_command:
        return "the key of the key command"
    if destination.key_variable:
        return f"the key in {destination.key_variable}"
    return "the headers" if access.headers else None


def _find_destination(spec: RunSpec, access: Access) -> Destination | None:
    """Where requests would go, with which key; None if the model runs here, or there is no address."""
    if spec.program:
        return Destination(spec.model, "")
    if spec.local:
        return None
    provider, _ = parse_model_name(spec.model)
    variable = spec.key_variable or provider.key_variable or ""
    if access.key_command or not environment().get(variable, "").strip():
        variable = ""
    if spec.base_url is None and provider.base_url is None:
        return None
    return Destination(_resolve(spec, access).base_url, variable)


def _resolve(spec: RunSpec, access: Access) -> Endpoint:
    from equipoise.models.chat.endpoint import resolve_endpoint  # noqa: PLC0415 - reading a run needs no URLs

    provider, model = parse_model_name(spec.model)
    return resolve_endpoint(provider, model, spec.base_url, allow_secret_url=access.allow_secret_url)


def _is_approved(destination: Destination) -> bool:
    """Whether a person gave this pair before. Where no key is sent, the address is enough."""
    known = _read_approved(Settings.load())
    return destination in known or (
        not destination.key_variable and destination.address in {entry.address for entry in known}
    )


def _read_approved(settings: Settings) -> list[Destination]:
    """The approved destinations. A file that cannot be read approves nothing."""
    try:
        return msgspec.json.decode((settings.config / APPROVED).read_bytes(), type=list[Destination])
    except (OSError, msgspec.MsgspecError):
        return []
