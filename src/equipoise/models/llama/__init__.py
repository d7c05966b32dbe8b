"""The embedded model: llama.cpp in a watched child process; fetching its weights belongs to `assets/`."""

EMBEDDED = "embedded"
"""The name of the smallest model whose weights are an asset."""
SMALLEST = "smollm2"
CATALOGUE = {
    EMBEDDED: SMALLEST,
    f"{EMBEDDED}/smollm2-135m": SMALLEST,
    f"{EMBEDDED}/qwen2.5-coder-1.5b": "qwen2.5-coder-1.5b",
}
"""The asset with the weights of each embedded model."""
GGUF_PREFIX = "gguf:"
"""Names a file of weights: `gguf:models/llama-3.2-1b.gguf`."""
