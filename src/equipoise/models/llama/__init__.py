"""The embedded model: llama.cpp in a watched child process; fetching its weights belongs to `assets/`."""

EMBEDDED = "embedded"
"""The name of the model whose weights are an asset."""
GGUF_PREFIX = "gguf:"
"""Names a file of weights: `gguf:models/llama-3.2-1b.gguf`."""
