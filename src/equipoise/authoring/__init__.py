"""All that the author of a probe imports, from one place: `from equipoise.authoring import Probe, Metric, …`.

Here belong the values a probe is made of, and what helps to make them. How a probe is run does not.
"""

from equipoise.assets import facts
from equipoise.authoring.card import Card
from equipoise.authoring.characters import (
    CHARACTER_QUESTION,
    character_metrics,
    describe_majority,
    simulate_characters,
)
from equipoise.authoring.figures import (
    Display,
    Evidence,
    Figure,
    Finding,
    Intervals,
    Published,
    Scatter,
    Spot,
    Words,
    WordSpot,
)
from equipoise.authoring.probe import Arms, Bands, Corpus, Metric, Parameter, Parameters, Probe, template_parameter
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
from equipoise.authoring.words import WordContrast
from equipoise.detect import (
    CHARACTERS,
    DECISIONS,
    HIRING_LETTERS,
    PRONOUN_GENDER,
    YES_NO,
    Detector,
    JudgeQuestion,
    phrases,
    visible,
    vocabulary,
)
from equipoise.errors import BadParameter, BadTemplate
from equipoise.schema import ANSWER, GENDER, ITEM, LABEL, PROMPT, SYSTEM, Estimate, MetricKey

__all__ = [
    "ANSWER",
    "CHARACTERS",
    "CHARACTER_QUESTION",
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
    "Corpus",
    "Detector",
    "Display",
    "Estimate",
    "Evidence",
    "Figure",
    "Finding",
    "Intervals",
    "Items",
    "JudgeQuestion",
    "Metric",
    "MetricKey",
    "Parameter",
    "Parameters",
    "Probe",
    "Published",
    "Scatter",
    "Spot",
    "Totals",
    "WordContrast",
    "WordSpot",
    "Words",
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
