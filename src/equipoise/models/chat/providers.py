"""The providers: their addresses and keys, and how requests are written in the two wire formats that they speak.

These are OpenAI's chat completions and Anthropic's messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from equipoise.errors import InputError, UnknownName
from equipoise.models.failures import ReportedError, find_rejected_parameter
from equipoise.models.protocol import Asking, Sampling

Body = dict[str, Any]
Continuing = Literal["message", "option", "prefix"]
"""How an endpoint is asked to go on with an answer: by a message of the assistant that comes last, with an option of
the request beside it (`continue_final_message`), or with a mark on that message (`prefix`)."""

TOP_LOGPROBS, FEWER_TOP_LOGPROBS = 20, 5
"""How many of the most probable first tokens are asked for: the most that endpoints give; fewer if one refuses."""


@dataclass(frozen=True, kw_only=True)
class WireFormat:
    """How requests are written."""

    path: str
    sampling: tuple[str, ...]
    """The fields of `Sampling` that the format has."""
    headers: Mapping[str, str] = field(default_factory=dict)
    system_field: bool = False
    """Whether the system part is a field of its own; otherwise it is the first message."""
    max_tokens: int | None = None
    """Not None: a limit of the answer is required, and this one is sent when the user gives none."""
    gives_probabilities: bool = False
    """Whether the probabilities of tokens can be asked for."""

    def parameters(self, model: str, sampling: Sampling, max_tokens: int | None = None) -> Body:
        """The fields of the request's body beside the prompt. `max_tokens` counts more than the limit of `sampling`."""
        body: Body = {"model": model}
        for name in self.sampling:
            value = getattr(sampling, name)
            if name == "max_tokens":
                value = max_tokens or value or self.max_tokens
            if value is not None:
                body[name] = value
        return {**body, **sampling.extra}

    def messages(self, prompt: str, system: str | None) -> Body:
        """The fields that carry a prompt and its system part."""
        question = {"role": "user", "content": prompt}
        if system is None:
            return {"messages": [question]}
        if self.system_field:
            return {"messages": [question], "system": system}
        return {"messages": [{"role": "system", "content": system}, question]}


OPENAI = WireFormat(
    path="/chat/completions",
    sampling=("temperature", "top_p", "max_tokens", "seed"),
    gives_probabilities=True,
)
ANTHROPIC = WireFormat(
    path="/messages",
    sampling=("temperature", "top_p", "max_tokens"),
    headers={"anthropic-version": "2023-06-01"},
    system_field=True,
    max_tokens=4096,
)


def continue_answer(messages: Body, opening: str, continuing: Continuing | None) -> Body:
    """The messages with an answer that is begun, in the way in which the endpoint is asked to go on with it."""
    begun = {"role": "assistant", "content": opening} | ({"prefix": True} if continuing == "prefix" else {})
    option = {"continue_final_message": True, "add_generation_prompt": False} if continuing == "option" else {}
    return {**messages, "messages": [*messages["messages"], begun], **option}


class Parameters:
    """What is sent with every prompt. A parameter that the endpoint rejects is dropped, or sent under another name."""

    def __init__(self, model: str, wire_format: WireFormat, sampling: Sampling) -> None:
        self._model = model
        self._format = wire_format
        self._sampling = sampling
        self.top_logprobs = TOP_LOGPROBS
        self.dropped: dict[str, str | None] = {}
        """Rejected parameters, each with the name it is sent under instead."""
        self.settled = False
        """Whether there are answers with the parameters as they are. They must stay comparable: none is dropped."""

    def body(self, asking: Asking) -> Body:
        """The fields for prompts that are asked in this way."""
        body = self._format.parameters(self._model, self._sampling, asking.max_tokens)
        if asking.probabilities:
            body |= {"logprobs": True, "top_logprobs": self.top_logprobs}
        for name, new_name in self.dropped.items():
            value = body.pop(name, None)
            if new_name and value is not None:
                body[new_name] = value
        return body

    def drop(self, parameter: str) -> str:
        """Stop sending a parameter as it is, and say so."""
        is_renamed = parameter == "max_tokens" and "max_completion_tokens" not in self._sampling.extra
        self.dropped[parameter] = "max_completion_tokens" if is_renamed else None
        consequence = "sent as max_completion_tokens" if is_renamed else "no longer sent"
        return f"The endpoint rejects {parameter}: it is {consequence}."

    def drop_rejected(self, error: ReportedError, sent: Body) -> str | None:
        """Drop the parameter that an error rejects, if that may still be, and say so; None if there is none."""
        fixed = {"model"} if self._format.max_tokens is None else {"model", "max_tokens"}
        rejected = None if self.settled else find_rejected_parameter(error, set(sent) - fixed)
        return self.drop(rejected) if rejected else None


@dataclass(frozen=True)
class Provider:
    """A service that serves models. The user must give a base URL where `base_url` is None."""

    name: str
    base_url: str | None
    key_variable: str | None = None
    """The environment variable of the key; None where no key is needed."""
    wire_format: WireFormat = OPENAI
    key_header: str = "Authorization"
    """The header that carries the key; in `Authorization` it is sent as a bearer token."""
    api_version: str | None = None
    """Azure's `api-version`, added to addresses that need one."""
    continuing: Continuing | None = "message"
    """How it is asked to go on with an answer; None: it is known to begin a new one. Others may, too: a question before
    the run shows it."""
    self_hosted: bool = False
    """Whether people run it themselves: at an address of this machine, the model runs on this machine."""


_PROVIDERS = (
    Provider("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", continuing=None),
    Provider(
        "anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", wire_format=ANTHROPIC, key_header="x-api-key"
    ),
    Provider("azure", None, "AZURE_OPENAI_API_KEY", key_header="api-key", api_version="2024-10-21", continuing=None),
    # The address of these two holds a region or an account, so --base-url is needed.
    Provider("bedrock", None, "AWS_BEARER_TOKEN_BEDROCK"),
    Provider("cloudflare", None, "CLOUDFLARE_API_TOKEN"),
    Provider("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    Provider("cohere", "https://api.cohere.ai/compatibility/v1", "COHERE_API_KEY"),
    Provider("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", continuing="prefix"),
    Provider("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    Provider("gemini", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    Provider("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    Provider("huggingface", "https://router.huggingface.co/v1", "HF_TOKEN"),
    Provider("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", continuing="prefix"),
    Provider("moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    Provider("nvidia", "https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY"),
    Provider("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    Provider("perplexity", "https://api.perplexity.ai", "PERPLEXITY_API_KEY"),
    Provider("sambanova", "https://api.sambanova.ai/v1", "SAMBANOVA_API_KEY"),
    Provider("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    Provider("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
    Provider("litellm", "http://127.0.0.1:4000/v1"),
    Provider("llamacpp", "http://127.0.0.1:8080/v1", self_hosted=True),
    Provider("lmstudio", "http://127.0.0.1:1234/v1", self_hosted=True),
    Provider("ollama", "http://127.0.0.1:11434/v1", self_hosted=True),
    Provider("sglang", "http://127.0.0.1:30000/v1", self_hosted=True, continuing="option"),
    Provider("vllm", "http://127.0.0.1:8000/v1", self_hosted=True, continuing="option"),
    Provider("custom", None, self_hosted=True),
)

PROVIDERS = {provider.name: provider for provider in _PROVIDERS}
"""All providers by name. `custom` is any other endpoint that speaks the OpenAI protocol."""

MAKERS = {
    "openai": ("gpt-", "chatgpt", "o1", "o3", "o4"),
    "anthropic": ("claude",),
    "gemini": ("gemini",),
    "xai": ("grok",),
    "deepseek": ("deepseek",),
    "mistral": ("mistral",),
    "ollama": ("llama", "qwen", "gemma"),
}
"""How names of models begin, by the provider that is most likely meant."""


def parse_model_name(name: str) -> tuple[Provider, str]:
    """Split `provider/model` into the provider and its name for the model, which may hold further slashes."""
    provider, slash, model = name.partition("/")
    if not slash:
        maker = next((maker for maker, starts in MAKERS.items() if name.lower().startswith(starts)), None)
        if maker:
            raise InputError(f"A model is named with its provider. Did you mean '{maker}/{name}'?")
        known = ["embedded", "simulated/…", *(f"{provider}/…" for provider in PROVIDERS)]
        hint = "A model is named as in openai/gpt-4o-mini, gguf:FILE, simulated/unbiased or embedded."
        raise UnknownName("model", name, known, hint)
    if provider not in PROVIDERS:
        hint = "For any other endpoint: custom/MODEL with --base-url."
        raise UnknownName("model provider", provider, [*PROVIDERS, "simulated"], hint)
    if not model:
        raise InputError(f"The model's name is missing after {name!r}. An example of the form: openai/gpt-4o-mini")
    return PROVIDERS[provider], model


def reasoning_option(name: str) -> str:
    """The option by which most models of a provider reason less, for a message; it may not fit every model."""
    if name.startswith(("llamacpp/", "sglang/", "vllm/")):  # which pass options on to the model's own chat template
        return """--extra '{"chat_template_kwargs": {"enable_thinking": false}}'"""
    if name.startswith("openrouter/"):
        return """--extra '{"reasoning": {"effort": "low"}}'"""
    return """--extra '{"reasoning_effort": "low"}'"""
