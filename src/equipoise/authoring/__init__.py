"""All that the author of a probe imports, from one place: `from equipoise import authoring as eq`.

Here belong the values a probe is made of, and what helps to make them. How a probe is run does not.
"""

from equipoise.assets import facts
from equipoise.authoring.card import Card
from equipoise.authoring.figures import (
    Evidence,
    Figure,
    Finding,
    Intervals,
    Scatter,
    Spot,
    count,
    count_by,
)
from equipoise.authoring.flips import count_flips, with_flips
from equipoise.authoring.groups import Arms, Grouping, Selection, WordContrast
from equipoise.authoring.metrics import Bands, Metric, difference, rate
from equipoise.authoring.own import own_probe, own_prompts
from equipoise.authoring.parameters import Parameter, Parameters, check_range, template_parameter
from equipoise.authoring.people import (
    CHARACTER_QUESTION,
    GENDERED_OCCUPATIONS,
    IS_MAN,
    NAMES,
    RACES,
    chance_of_man,
    character_metrics,
    contrast_quarters,
    count_men,
    describe_majority,
    name_pool,
    occupation_figure,
    occupations,
    simulate_characters,
)
from equipoise.authoring.probe import Corpus, Probe
from equipoise.authoring.sampling import Items, same_by_item, shuffle, table_items
from equipoise.authoring.templates import check_template, fill_template, fill_templates
from equipoise.authoring.totals import (
    Array,
    Totals,
    correlation,
    detected_share,
    fair_ratio,
    free_slope,
    group_scores,
    mean,
    moments,
    one,
    share,
    slope,
)
from equipoise.detect import (
    CHARACTERS,
    DECISIONS,
    HIRING_LETTERS,
    PRONOUN_GENDER,
    RANKED_PEOPLE,
    SCORES_OF_100,
    YES_NO,
    Detector,
    JudgeQuestion,
    Number,
    amount,
    choice,
    phrases,
    visible,
    vocabulary,
)
from equipoise.schema import (
    ANSWER,
    GENDER,
    ITEM,
    LABEL,
    PROBABILITIES,
    PROMPT,
    READING,
    SPECIFIED,
    SYSTEM,
    Estimate,
    MetricKey,
    slug,
)
