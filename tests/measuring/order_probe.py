"""A small probe whose arms are not genders: every question is asked twice, in two orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from equipoise.authoring import (
    ITEM,
    PROMPT,
    Arms,
    Array,
    Bands,
    Items,
    Metric,
    Parameters,
    Probe,
    Totals,
    detected_share,
    one,
    share,
    table_items,
)
from equipoise.detect import YES_NO
from equipoise.probes import get_probe

ORDERS = ("first", "second")
SIZE = 12


def items(_parameters: Parameters, _corpus: pl.DataFrame | None) -> Items:
    numbers = range(SIZE)
    topics = ["care" if number < SIZE - 2 else "trade" for number in numbers]
    return table_items(pl.DataFrame({ITEM: [f"q{number}" for number in numbers], "topic": topics}))


def prompts(items: pl.DataFrame, _parameters: Parameters) -> pl.DataFrame:
    asked = items.join(pl.DataFrame({"order": ORDERS}), how="cross", maintain_order="left_right")
    return asked.with_columns(pl.format("Question {}, {} order. Yes or no?", ITEM, "order").alias(PROMPT))


def statistics(_parameters: Parameters) -> Mapping[str, pl.Expr]:
    columns: dict[str, pl.Expr] = {"n": one()}
    for order in ORDERS:
        score = detected_share(f"{order}_yes", of=(f"{order}_yes", f"{order}_no"))
        columns |= {f"{order}_n": one(score), f"{order}_score": score.fill_null(0.0)}
    return columns


def measure(total: Totals, _parameters: Parameters) -> Mapping[str, Array]:
    first, second = (share(total[f"{order}_score"], total[f"{order}_n"]) for order in ORDERS)
    return {"first_rate": first, "second_rate": second, "order_effect": first - second}


def simulate(prompts: pl.DataFrame, stance: str, rng: np.random.Generator) -> Sequence[str]:
    is_first = (prompts["order"] == "first").to_numpy()
    agrees = is_first if stance == "biased" else rng.random(prompts.height) < 0.5
    return ["Yes." if agree else "No." for agree in agrees]


ORDER_PROBE = Probe(
    name="order",
    version=1,
    card=get_probe("jobs_lum").card,
    items=items,
    prompts=prompts,
    detector=YES_NO,
    arms=Arms("order", ORDERS),
    covariates=("topic",),
    slices=("topic",),
    statistics=statistics,
    measure=measure,
    simulate=simulate,
    metrics=(
        Metric(name="first_rate", summary="How often the first order gets a yes.", n="first_n"),
        Metric(name="second_rate", summary="How often the second order gets a yes.", n="second_n"),
        Metric(
            name="order_effect",
            summary="How much the order decides.",
            bands=Bands(limits=(0.05, 0.15, 0.5)),
            references={"biased": 1.0, "unbiased": 0.0},
        ),
    ),
)
