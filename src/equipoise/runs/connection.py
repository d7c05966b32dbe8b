"""How a model is reached and asked, from its name to a `Model` that can be opened."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from equipoise import models
from equipoise.errors import InputError
from equipoise.models import FunctionModel, Model, Sampling, parse_model_name
from equipoise.models.functions import Function, Generator
from equipoise.models.llama import EMBEDDED, GGUF_PREFIX
from equipoise.models.simulated import SimulatedModel, is_simulated
from equipoise.runs.ask.policy import Policy
from equipoise.runs.file.settings import RunSettings
from equipoise.settings import Settings, environment

ModelLike = str | Function | Generator | Model
"""A name such as "openai/gpt-4o-mini", a function of the prompt, an object with `generate`, or a model itself."""


@dataclass(frozen=True, kw_only=True)
class Connection:
    """How a model is reached and asked, as the user says it."""

    model: str = EMBEDDED
    base_url: str | None = None
    key_variable: str | None = None
    key_command: str | None = field(default=None, repr=False)
    """A command that prints the key; it is run without a shell, and again when the key is refused. Never stored."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request. Their names are stored, their values never."""
    allow_insecure: bool = False
    allow_secret_url: bool = False
    sampling: Sampling = field(default_factory=Sampling)

    @property
    def local(self) -> bool:
        """Whether the model runs here, in a process of ours."""
        return self.model == EMBEDDED or self.model.startswith(GGUF_PREFIX) or self.simulated

    @property
    def simulated(self) -> bool:
        """Whether it is a reference model of the probes, which no language model answers for."""
        return is_simulated(self.model)

    @property
    def on_this_machine(self) -> bool:
        """Whether the model runs on this machine, in a process of ours or behind an address of this machine."""
        if self.local:
            return True
        from equipoise.models.chat.endpoint import is_loopback_url  # noqa: PLC0415 - reading a run needs no URLs

        provider, _ = parse_model_name(self.model)
        return provider.self_hosted and is_loopback_url(self.base_url or provider.base_url or "")

    @property
    def default_suite(self) -> str:
        """What is asked unless the user says otherwise: of a model on this machine, what it answers in minutes.

        A simulated model answers at once, and shows the scale only where marks are decided.
        """
        if self.simulated:
            return "ci"
        return "quick" if self.on_this_machine else "standard"

    def describe(self, model: Model, suite: str) -> RunSettings:
        """What a run file says of how it was asked: enough to resume it, and no secret."""
        stored = {name: value for name, value in model.settings.items() if name != "dropped"}
        base_url, extra, system = stored.get("base_url"), stored.get("extra", {}), stored.get("system")
        if not (isinstance(base_url, str | None) and isinstance(system, str | None) and isinstance(extra, dict)):
            raise InputError(f"The settings of the model {model.name!r} need texts for base_url and system.")
        return RunSettings(
            model=model.name,
            model_settings=stored,
            suite=suite,
            base_url=base_url if self.base_url else None,
            key_variable=self.key_variable,
            allow_insecure=self.allow_insecure,
            sampling=replace(self.sampling, extra=extra, system=system),
        )


def open_model(connection: Connection, settings: Settings, deadline: float = Policy.deadline) -> Model:
    """The model of a connection; nothing is sent yet. Keys come from the environment."""
    if connection.local:
        if connection.base_url or connection.key_variable or connection.key_command or connection.headers:
            raise InputError(
                f"The model {connection.model!r} runs on this machine: it has no base URL, no key and no headers."
            )
        if connection.simulated:
            return SimulatedModel(connection.model, connection.sampling)
        from equipoise.models.llama.model import prepare_embedded  # noqa: PLC0415 - needs aiohttp

        return prepare_embedded(connection.model, settings=settings, sampling=connection.sampling, deadline=deadline)
    return models.connect(
        connection.model,
        environ=environment(),
        base_url=connection.base_url,
        key_variable=connection.key_variable,
        key_command=connection.key_command,
        headers=connection.headers,
        sampling=connection.sampling,
        allow_insecure=connection.allow_insecure,
        allow_secret_url=connection.allow_secret_url,
        deadline=deadline,
    )


def wrap_model(model: Function | Generator | Model) -> Model:
    """A model of the user's own: used as it is, or made of a function."""
    if hasattr(model, "answer"):
        return model  # type: ignore[return-value]
    if callable(model) or hasattr(model, "generate"):
        return FunctionModel(model)
    raise InputError(
        f"A model must be a name, a function of the prompt, or have generate(prompts). Got {model!r} instead."
    )


def default_concurrency(model: ModelLike) -> int:
    """How many requests at a time. A plain function is called once at a time: it need not expect anything else."""
    plain = callable(model) and not hasattr(model, "answer") and not inspect.iscoroutinefunction(model)
    return 1 if plain else Policy.concurrency
