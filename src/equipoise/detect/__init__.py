"""How answers are read: the visible text, and detectors that give a label or counts for it.

Here belong rules on words and text. What is asked, and what is made of the labels, does not.
"""

from equipoise.detect.characters import CHARACTERS
from equipoise.detect.choices import RANKED_PEOPLE, choice
from equipoise.detect.decisions import DECISIONS, HIRING_LETTERS
from equipoise.detect.detector import Detector, Number, Span, first_token_detector
from equipoise.detect.judging import JudgeQuestion
from equipoise.detect.numbers import SCORES_OF_100, amount
from equipoise.detect.visible import has_visible_text, visible
from equipoise.detect.words import PRONOUN_GENDER, YES_NO, phrases, vocabulary
