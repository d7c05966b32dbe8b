"""All that the author of a probe imports, from one place: `from equipoise.authoring import Probe, Metric, …`.

Here belong the values a probe is made of, and what helps to make them. How a probe is run does not.
"""

from equipoise.assets import facts
from equipoise.authoring.card import Card
from equipoise.authoring.characters import character_metrics, describe_majority, simulate_characters
from equipoise.authoring.figures import (
    Contrast,
    Display,
    Evidence,
    Figure,
    Finding,
    Intervals,
    Published,
    Scatter,
    Spot,
)
from equipoise.authoring.probe import (
    Arms,
    Bands,
    Corpus,
    Grouping,
    Metric,
    Parameter,
    Parameters,
    Probe,
    Selection,
    template_parameter,
)
from equipoise.authoring.sampling import Items, shuffle, table_items
from equipoise.authoring.templates import check_template, fill_template
from equipoise.authoring.totals import (
    Array,
    Totals,
    correlation,
    detected_share,
    mean,
    moments,
    one,
    share,
    slope,
    slug,
)
from equipoise.detect import (
    CHARACTERS,
    DECISIONS,
    HIRING_LETTERS,
    PRONOUN_GENDER,
    YES_NO,
    Detector,
    phrases,
    visible,
    vocabulary,
)
from equipoise.errors import BadParameter, BadTemplate
from equipoise.schema import ANSWER, GENDER, ITEM, LABEL, PROMPT, SYSTEM, Estimate, MetricKey

__all__ = [
    "ANSWER",
    "CHARACTERS",
    "DECISIONS",
    "GENDER",
    "HIRING_LETTERS",
    "ITEM",
    "LABEL",
    "PROMPT",
    "PRONOUN_GENDER",
    "SYSTEM",
    "YES_NO",
    "Arms",
    "Array",
    "BadParameter",
    "BadTemplate",
    "Bands",
    "Card",
    "Contrast",
    "Corpus",
    "Detector",
    "Display",
    "Estimate",
    "Evidence",
    "Figure",
    "Finding",
    "Grouping",
    "Intervals",
    "Items",
    "Metric",
    "MetricKey",
    "Parameter",
    "Parameters",
    "Probe",
    "Published",
    "Scatter",
    "Selection",
    "Spot",
    "Totals",
    "character_metrics",
    "check_template",
    "correlation",
    "describe_majority",
    "detected_share",
    "facts",
    "fill_template",
    "mean",
    "moments",
    "one",
    "phrases",
    "share",
    "shuffle",
    "simulate_characters",
    "slope",
    "slug",
    "table_items",
    "template_parameter",
    "visible",
    "vocabulary",
]
