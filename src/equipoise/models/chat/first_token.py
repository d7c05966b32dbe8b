"""The probabilities of an answer's first token, as endpoints of the chat-completions format give them."""

from __future__ import annotations

import math
import re

from equipoise.bodies import Completion
from equipoise.models.chat.wire import FEWER_TOP_LOGPROBS, Parameters
from equipoise.models.protocol import FirstToken, NoProbabilities
from equipoise.models.redact import Redact, excerpt

MAX_TOKEN = 40
"""Characters that are kept of a token."""
MOST = 1e9
"""A number beyond this is no log-probability that a model computes."""
ROUNDING = 1e-3
"""By so much a log-probability may be above 0, which stands for certainty."""
COUNTING = "Count from one to five in words, without commas."
COUNTED, COUNTED_NEXT = "one two three", "four"
"""Whoever goes on with this answer says this word; whoever begins a new one says another."""
CERTAIN = 0.5
"""The probability that the word must have."""
HOW_TO_CONTINUE = (
    "Start a run without --probabilities, or only with probes that need no opening of the answer (docs/endpoints.md "
    "names them), or serve the model with what goes on with answers: llama.cpp, or vLLM as vllm/MODEL."
)
_THINKING = re.compile(r"\s*(?:<\|?|\[|◁)\s*(?:think|thought|reason|channel|scratchpad)", re.IGNORECASE)


class FirstTokens:
    """Reads them. An endpoint that gives none with its first answer is refused: it will not give any later."""

    def __init__(self, model: str, parameters: Parameters, notes: list[str], redact: Redact) -> None:
        self._model = model
        self._parameters = parameters
        self._notes = notes
        self._redact = redact
        self._given = False

    def ask_for_fewer(self, asked: int, message: str) -> NoProbabilities | None:
        """Ask for fewer tokens, if that is what the endpoint says; otherwise nothing more should be sent."""
        if "top_logprobs" not in message or asked <= FEWER_TOP_LOGPROBS:
            return self._refuse(f"it says: {excerpt(message)}")
        self._parameters.top_logprobs = FEWER_TOP_LOGPROBS
        return None

    def read(self, completion: Completion) -> FirstToken | NoProbabilities | str:
        """The tokens; or, as a text, what is wrong with them; an error if it has been so from the first answer on."""
        asked = self._parameters.top_logprobs
        found = read_first_token(completion.logprobs, asked)
        if isinstance(found, str):
            return found if self._given else self._refuse(found)
        if not self._given and (completion.reasoning or _THINKING.match(str(found[0]["token"]))):
            return NoProbabilities(
                f"{self._model} begins its answers with reasoning, so that their first token says nothing. Switch its "
                "reasoning off (--extra), or start a run without --probabilities."
            )
        self._given = True
        note = (
            f"The endpoint gives the probabilities of fewer first tokens than the {asked} that are asked for. "
            "What it does not give counts as neither."
        )
        if len(found) < asked and note not in self._notes:
            self._notes.append(note)
        return [{**entry, "token": self._redact(str(entry["token"]))} for entry in found]

    def _refuse(self, problem: str) -> NoProbabilities:
        return NoProbabilities(
            f"{self._model} gives no probabilities of tokens: {problem.rstrip('.')}. Start a run without "
            "--probabilities, or serve the model with what gives them: llama.cpp, vLLM and others."
        )


def is_continued(tokens: FirstToken | None) -> bool:
    """Whether the word that must come next has most of the probability."""
    listed = tokens or []
    return sum(float(t["p"]) for t in listed if COUNTED_NEXT in str(t["token"]).lower()) >= CERTAIN


def read_first_token(logprobs: object, most: int) -> FirstToken | str:
    """The most probable first tokens with their probabilities, most probable first; or what is wrong with them."""
    if logprobs is None:
        return "the response has no log-probabilities"
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    first = content[0] if isinstance(content, list) and content else None
    if not isinstance(first, dict):
        return "the log-probabilities of the response are empty"
    listed = first.get("top_logprobs")
    found: dict[str, float] = {}
    for entry in listed if isinstance(listed, list) else ():
        token, value = (entry.get("token"), entry.get("logprob")) if isinstance(entry, dict) else (None, None)
        if not isinstance(token, str) or isinstance(value, bool) or not isinstance(value, int | float):
            return "an entry of the log-probabilities has no token or no number"
        value = value if abs(value) < MOST else math.nan
        if not value <= ROUNDING:  # not a number is not less than anything
            return f"a log-probability is {value:g}, which is no logarithm of a probability"
        token = _make_storable(token[:MAX_TOKEN])
        found[token] = found.get(token, 0.0) + math.exp(min(value, 0.0))
    if not found:
        return "the log-probabilities of the response name no token"
    if sum(found.values()) > 1 + 20 * ROUNDING:
        return f"the probabilities of the first token add up to {sum(found.values()):.2f}"
    by_probability = sorted(found.items(), key=lambda entry: -entry[1])[:most]
    return [{"token": token, "p": float(f"{probability:.6g}")} for token, probability in by_probability]


def _make_storable(token: str) -> str:
    """A token is a piece of bytes, so that it may hold half of a character: U+FFFD then, as JSON cannot hold it."""
    return token.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
