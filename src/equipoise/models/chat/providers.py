"""The table of providers: their addresses, their protocols, and the environment variables of their keys."""

from __future__ import annotations

from dataclasses import dataclass

from equipoise.errors import InputError, UnknownName
from equipoise.models.chat.wire import ANTHROPIC, OPENAI, Continuing, WireFormat


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
