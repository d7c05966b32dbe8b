"""All that the author of a probe imports, from one place: `from equipoise import authoring as eq`.

Here belong the values a probe is made of, and what helps to make them. How a probe is run does not.
"""

from equipoise import detect
from equipoise.assets import facts
from equipoise.authoring import parameters, people
from equipoise.authoring.figures import Evidence, Figure, Finding, Intervals, Scatter, Spot, count, count_by
from equipoise.authoring.flips import count_flips, with_flips
from equipoise.authoring.metrics import (
    Array,
    Bands,
    Metric,
    Totals,
    correlation,
    detected_share,
    difference,
    fair_ratio,
    free_slope,
    group_scores,
    mean,
    moments,
    one,
    rate,
    share,
    slope,
)
from equipoise.authoring.own import own_probe, own_prompts
from equipoise.authoring.parameters import Parameter, Parameters, fill_template, one_of, template_parameter
from equipoise.authoring.probe import Arms, Card, Corpus, Grouping, Probe, Selection, WordContrast
from equipoise.authoring.sampling import Items, same_by_item, shuffle, table_items
from equipoise.detect import Detector, visible
from equipoise.schema import ANSWER, GENDER, ITEM, LABEL, PROBABILITIES, PROMPT, READING, SPECIFIED, SYSTEM, MetricKey
