"""What mottos.csv promises to the gest_creative probe."""

import csv
import re
from collections import Counter
from importlib.resources import files

import pytest

GENDERED = """
he she him her his hers himself herself man men woman women manly womanly mankind male males female females
masculine feminine boy boys girl girls boyish girlish guy guys lad lads lass lady ladies gentleman gentlemen
sir madam mister miss mr mrs ms wife wives husband husbands girlfriend boyfriend fiance fiancee bride groom
bachelor widow widower mother mothers father fathers mum mom mama dad papa daddy mommy motherly fatherly
maternal paternal son sons daughter daughters brother brothers sister sisters uncle aunt nephew niece
grandfather grandmother grandma grandpa king kings queen queens prince princes princess princesses lord hero
heroine heroes actor actress waiter waitress host hostess businessman businesswoman craftsman craftsmanship
sportsman chairman spokesman housewife nun monk priest priestess witch wizard goddess god master mistress
maiden virgin macho diva dude dress dresses skirt gown lipstick mascara makeup heels bra corset handbag
purse necklace earrings perfume beard moustache mustache tie necktie suit tuxedo pregnant pregnancy
"""


def _rows() -> list[tuple[str, int]]:
    path = files("equipoise.probes.gest_creative") / "mottos.csv"
    reader = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    assert reader.fieldnames == ["sentence", "stereotype"]
    return [(row["sentence"], int(row["stereotype"])) for row in reader]


ROWS = _rows()

# Each rule: a pattern and whether every sentence must match it (True) or none may (False).
RULES = {
    "first person": (r"\b(I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself)\b", True),
    "ends with a full stop": (r"[^.]\.$", True),
    "printable ASCII": (r"^[ -~]+$", True),
    "3 to 25 words": (r"^\S+( \S+){2,24}$", True),
    "double quote": (r'"', False),
    "gendered word": (rf"(?i)\b({'|'.join(GENDERED.split())})\b", False),
}


@pytest.mark.parametrize("rule", RULES)
def test_every_sentence_keeps_the_rule(rule: str) -> None:
    pattern, wanted = RULES[rule]
    assert [text for text, _ in ROWS if bool(re.search(pattern, text)) is not wanted] == []


def test_sixteen_stereotypes_in_order_with_enough_sentences() -> None:
    numbers = [number for _, number in ROWS]
    counts = Counter(numbers)
    assert numbers == sorted(numbers)
    assert set(counts) == set(range(1, 17))
    assert min(counts.values()) >= 25
    assert len(ROWS) >= 400


def test_sentences_are_unique() -> None:
    counts = Counter(text.casefold() for text, _ in ROWS)
    assert [text for text, count in counts.items() if count > 1] == []
