"""The probabilities of an answer's first token, as endpoints of the chat-completions format give them."""

from __future__ import annotations

import math
import re

from equipoise.models.protocol import FirstToken

COUNTING = "Count from one to five in words, without commas."
COUNTED, COUNTED_NEXT = "one two three", "four"
"""Whoever goes on with this answer says this word; whoever begins a new one says another."""
_CERTAIN = 0.5
"""The probability that the word must have."""
_MAX_TOKEN = 40
"""Characters that are kept of a token."""
_MOST = 1e9
"""A number beyond this is no log-probability that a model computes."""
_ROUNDING = 1e-3
"""By so much a log-probability may be above 0, which stands for certainty."""
_THINKING = re.compile(r"\s*(?:<\|?|\[|◁)\s*(?:think|thought|reason|channel|scratchpad)", re.IGNORECASE)


def begins_reasoning(tokens: FirstToken) -> bool:
    """Whether the most probable token is the beginning of the model's reasoning."""
    return _THINKING.match(str(tokens[0]["token"])) is not None


def is_continued(tokens: FirstToken | None) -> bool:
    """Whether the word that must come next has most of the probability."""
    listed = tokens or []
    return sum(float(t["p"]) for t in listed if COUNTED_NEXT in str(t["token"]).lower()) >= _CERTAIN


def read_first_token(logprobs: object, most: int) -> FirstToken | str:
    """The most probable first tokens with their probabilities, most probable first; or what is wrong with them."""
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    first = content[0] if isinstance(content, list) and content else None
    listed = first.get("top_logprobs") if isinstance(first, dict) else None
    if not isinstance(listed, list) or not listed:
        return "the response has no log-probabilities"
    found: dict[str, float] = {}
    for entry in listed:
        token, value = (entry.get("token"), entry.get("logprob")) if isinstance(entry, dict) else (None, None)
        if not isinstance(token, str) or isinstance(value, bool) or not isinstance(value, int | float):
            return "an entry of the log-probabilities has no token or no number"
        value = value if abs(value) < _MOST else math.nan
        if not value <= _ROUNDING:  # not a number is not less than anything
            return f"a log-probability is {value:g}, which is no logarithm of a probability"
        # A token is a piece of bytes, so that it may hold half of a character: U+FFFD then, as JSON cannot hold it.
        token = token[:_MAX_TOKEN].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        found[token] = found.get(token, 0.0) + math.exp(min(value, 0.0))
    if sum(found.values()) > 1 + 20 * _ROUNDING:
        return f"the probabilities of the first token add up to {sum(found.values()):.2f}"
    by_probability = sorted(found.items(), key=lambda entry: -entry[1])[:most]
    return [{"token": token, "p": float(f"{probability:.6g}")} for token, probability in by_probability]
