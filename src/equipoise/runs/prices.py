"""What tokens cost: prices given by the user, or those that the package genai-prices knows."""

from __future__ import annotations

import math
from dataclasses import dataclass

from equipoise.errors import BadParameter, InputError
from equipoise.models.simulated import is_simulated

GENAI_PRICES_NAMES = {"gemini": "google", "xai": "x-ai"}
"""Providers that genai-prices calls by another name."""


@dataclass(frozen=True, kw_only=True)
class TokenPrice:
    """Dollars for a million tokens."""

    prompt: float
    completion: float

    def __call__(self, prompt_tokens: int, completion_tokens: int) -> float:
        """What these tokens cost."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


def parse_price(given: str) -> TokenPrice:
    """Read "0.15,0.60": dollars for a million tokens of prompts and of answers."""
    try:
        prompt, completion = (float(part) for part in given.split(","))
    except ValueError:
        prompt = completion = math.nan
    if not (0 <= prompt < math.inf and 0 <= completion < math.inf):
        raise BadParameter(
            f"--price must be two numbers, dollars for a million tokens of prompts and of answers, as in 0.15,0.60. "
            f"Got {given!r} instead."
        )
    return TokenPrice(prompt=prompt, completion=completion)


def known_price(model: str) -> TokenPrice | None:
    """The price of a model by its name, if genai-prices is installed and knows it. What runs here costs nothing."""
    provider, _, name = model.partition("/")
    if not name or is_simulated(model):
        return TokenPrice(prompt=0.0, completion=0.0)
    try:
        from genai_prices import Usage, calc_price  # noqa: PLC0415 - optional
    except ImportError:
        return None
    million = 1_000_000
    usages = (Usage(input_tokens=million, output_tokens=0), Usage(input_tokens=0, output_tokens=million))
    try:
        sums = [
            float(calc_price(usage, model_ref=name, provider_id=GENAI_PRICES_NAMES.get(provider, provider)).total_price)
            for usage in usages
        ]
    except LookupError:
        return None
    return TokenPrice(prompt=sums[0], completion=sums[1])


def price_for(model: str, given: str | None, *, needed: bool, option: str = "--price") -> TokenPrice | None:
    """The price given, or the one that is known; an error if it is needed and neither is there."""
    price = parse_price(given) if given is not None else known_price(model)
    if price is None and needed:
        raise InputError(
            f"The price of {model!r} is not known. Give it with {option} PROMPTS,ANSWERS in dollars for a million "
            "tokens, or install the prices: pip install 'equipoise[prices]'"
        )
    return price
