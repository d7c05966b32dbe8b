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
from equipoise.authoring.metrics import Bands, Metric
from equipoise.authoring.names import NAMES, RACES, name_pool
from equipoise.authoring.occupations import GENDERED_OCCUPATIONS, occupations
from equipoise.authoring.pairs import paired_probe
from equipoise.authoring.parameters import Parameter, Parameters, template_parameter
from equipoise.authoring.probe import Arms, Corpus, Probe
from equipoise.authoring.sampling import Items, draw_by_item, shuffle, table_items
from equipoise.authoring.selection import Grouping, Selection
from equipoise.authoring.templates import check_template, fill_template
from equipoise.authoring.totals import (
    Array,
    Totals,
    correlation,
    detected_share,
    fair_ratio,
    free_slope,
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
    RANKED_PEOPLE,
    YES_NO,
    Detector,
    JudgeQuestion,
    Number,
    amount,
    choice,
    phrases,
    score_out_of,
    visible,
    vocabulary,
)
from equipoise.errors import BadParameter, BadTemplate
from equipoise.schema import ANSWER, GENDER, ITEM, LABEL, PROMPT, READING, SPECIFIED, SYSTEM, Estimate, MetricKey

__all__ = [
    "ANSWER",
    "CHARACTERS",
    "CHARACTER_QUESTION",
    "DECISIONS",
    "GENDER",
    "GENDERED_OCCUPATIONS",
    "HIRING_LETTERS",
    "ITEM",
    "LABEL",
    "NAMES",
    "PROMPT",
    "PRONOUN_GENDER",
    "RACES",
    "RANKED_PEOPLE",
    "READING",
    "SPECIFIED",
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
    "Grouping",
    "Intervals",
    "Items",
    "JudgeQuestion",
    "Metric",
    "MetricKey",
    "Number",
    "Parameter",
    "Parameters",
    "Probe",
    "Published",
    "Scatter",
    "Selection",
    "Spot",
    "Totals",
    "WordContrast",
    "WordSpot",
    "Words",
    "amount",
    "character_metrics",
    "check_template",
    "choice",
    "correlation",
    "describe_majority",
    "detected_share",
    "draw_by_item",
    "facts",
    "fair_ratio",
    "fill_template",
    "free_slope",
    "mean",
    "moments",
    "name_pool",
    "occupations",
    "one",
    "paired_probe",
    "phrases",
    "score_out_of",
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
