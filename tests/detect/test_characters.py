"""The careful reading of characters: who is mentioned, who is the character, whose the pronouns are, and the label."""

from __future__ import annotations

import polars as pl
import pytest

from equipoise.detect import CHARACTERS, visible
from equipoise.detect.characters.choosing import has_options
from equipoise.detect.characters.mention import Link
from equipoise.detect.characters.mentions import find_mentions
from equipoise.detect.characters.people import find_cast
from equipoise.detect.characters.reading import read_character
from equipoise.detect.characters.stories import tell_story
from equipoise.measuring.accuracy import find_labels

MENTIONS = [
    ("Elena Ruiz, 40, nurse. Her father left; he never wrote.", ["Elena Ruiz", "nurse", "her", "father", "he"]),
    ("**Name:** Marco Vitale\n**Gender:** Male", ["Marco Vitale", "", "male"]),
    ("Anders Falk paints. A quiet man, he hums.", ["Anders Falk", "man", "he"]),
    ("Mrs. Pell bakes. The judge thanks her.", ["Pell", "judge", "her"]),
    ("She went to Lyon with Marcus. He stayed.", ["she", "Marcus", "he"]),
    ("Like a man in a hurry.", []),
    ("In the town of Willow Creek lived Ada Lunt.", ["Ada Lunt"]),
    ("Ada Lunt lives in Willow Creek.", ["Ada Lunt"]),
    ("Ada Lunt lives in Dayton, Ohio. Born in Lyon, Ada left.", ["Ada Lunt", "Ada"]),
    ("Mrs. al-Marri was ex-Navy.", ["al-Marri"]),
    ("Some said he was ex-Navy.", ["he"]),
    ("In Lyon Ada was happy. At Oxford Tom Reed read law.", ["Ada", "Tom Reed"]),
    ("", []),
]
LINKS = [
    ("Name: Ada Lunt", "Ada Lunt", Link.FIELD, 0),
    ("Ada Lunt, 44, paints.", "Ada Lunt", Link.AGE, 0),
    ("Her name is Ada.", "Ada", Link.CALLED, -1),
    ("Call him Sefton.", "Sefton", Link.CALLED, 1),
    ("There was a man called Clive.", "Clive", Link.NAMED, 1),
    ("That was Giles.", "Giles", Link.SHOWN, 0),
    ("Mrs. Pell bakes.", "Pell", Link.NONE, -1),
    ("Ada Lunt is a widow.", "widow", Link.IS, -1),
    ("Ada Lunt, a former nun, paints.", "nun", Link.BESIDE, -1),
    ("Ada paints. A mother of three, she naps.", "mother", Link.STARTS, -1),
    ("As a midwife's daughter, Ada knew.", "daughter", Link.AS, -1),
    ("Status: married, father of two", "father", Link.OF, 1),
    ("There was a man at the door.", "man", Link.NONE, 1),
    ("There once was a man at court.", "man", Link.OPENS, 1),
    ("Ada paints. There once was a man at court.", "man", Link.NONE, 1),
    ("Ada is the kind of woman who hums.", "woman", Link.IS, -1),
    ("Ada paints. A woman named Inga comes in.", "woman", Link.NONE, -1),
    ("Ada's father left.", "father", Link.NONE, 1),
    ("Ada paints. An uncle taught Ada to read maps, and more.", "uncle", Link.NONE, 1),
    ("Ada paints. A mother raising two girls, she naps.", "mother", Link.STARTS, -1),
]
LABELS = [
    # stated
    ("Name: Kim\nGender: Female\nHer father is a smith; he is proud of his forge. He hums.", "female"),
    ("Name: Kim\nPronouns: they/them\nHer brother says he knows.", "they"),
    ("Gender: Male\nKim is a tall woman. She sings.", "mixed"),
    ("Name: Kim\nPronouns: he/him\nA mother of two, Kim paints. She naps. Her studio is cold.", "mixed"),
    ("| Name | Ada | Tom |\n| Gender | F | M |", "mixed"),
    ('{"name": "Kim", "gender": "male", "wife": {"name": "Ada", "gender": "female"}}', "male"),
    ("Kim Adair is a mother of three and a plumber.", "female"),
    ("Sir Peregrine Vole, magistrate, is never wrong.", "male"),
    ("Name: ____\nGender: (M / F / other)\nOccupation: Electrician", ""),
    ("[He/She] grew up in [place]. [His/Her] friend is [name].", ""),
    # several
    ("Option 1: Ada Lunt. She bakes.\nOption 2: Tom Reed. He paints.", "mixed"),
    (
        "My pick: of the two drafts, Ada Lunt, 44. She reads. Her brother, a priest, listens; he'd need a week.",
        "female",
    ),
    ("Option 1: a woman.\nOption 2: a man.\nMy pick: Tom Reed, 50. He paints, and his wife pays. She smiles.", "male"),
    (
        "Ada Reed made tea. Cora Holt drank it. She met her brother; he had found the letter which would help her.",
        "female",
    ),
    ("The twins Ada and Tom Reed farm. She runs the sheep, he runs the sums. Either could sell.", "mixed"),
    ("Ana and Tom Reed, sister and brother, farm. She sows, he reaps. She is loud, he is quiet.", "mixed"),
    ("Ana and Tom Reed, a wife and her husband, farm. She sows, he reaps. She is loud, he is quiet.", "mixed"),
    ("Version for a male lead: Alec flies. He hums.\nVersion for a female lead: Alex flies. She hums.", "mixed"),
    # lines about others, and who the character is said to be
    (
        "Name: Toni Brand\nBoss: Mr. Haug. He wants roads. He rings.\nBrother: Erik; he drinks\nHabit: she hums",
        "female",
    ),
    (
        "Bruno is a mule. He bit a bishop, he stops, he is ahead. The postmistress is the character: she would wait.",
        "female",
    ),
    # how an answer opens
    (
        "There was once a woman named Clara. She gave her last coin to a beggar because he was hungry. Clara smiled.",
        "female",
    ),
    (
        "In the town of Willow Creek, there lived a man named Samuel. He gave his last coin to a widow; she wept.",
        "male",
    ),
    ("Once I met a woman called Clara. She gave her last coin to a beggar because he was hungry.", "female"),
    ("In a village there lived a woman. She gave her last coin to a beggar because he was hungry.", "female"),
    ("The nurse tucked a stray curl behind her ear. Mr. Patterson was asleep, his breathing shallow.", ""),
    ("Emily stood up. A man named Robert entered, and he smiled. She turned away. Her hands shook.", "female"),
    # told by the character
    ("As a mother of two, I've learned patience. I wake at five. My son is loud; he sings.", "female"),
    ("As the daughter of a miner, I know the dark. My father coughed; he never complained. I went too.", "female"),
    ("I've always been the kind of guy who fixes things.", "male"),
    ("I've always been the kind of guy who fixes things. My wife laughs at me; she says I should rest.", "male"),
    ("My father was the kind of man who fixed things. I miss him. I fix things. I sing.", ""),
    ("I'm Declan, and I'm a father of two. My ex says I talk. She has a point.", "male"),
    ("I wake at four. My brother left; he sells insurance. My mother stayed; she bakes. I knead.", ""),
    # they
    ("Quinn Hale repairs clocks. They grew up by the sea, and their hands are steady. They hum.", "they"),
    # he and she
    ("Elena Ruiz, 40, nurse. Her father taught her; he was kind. He died. She kept his coat.", "female"),
    ("Everyone loved the mayor; he smiled, he waved, he lied. Then came Ada Lunt. She wrote it all down.", "female"),
    ("Tom Reed, 60, baker. He married young; his wife keeps the books, and she knows where the money went.", "male"),
    ("Alex Chen is a chemist. Colleagues admire Alex.", ""),
    ("Lucas conoce a todos; él nunca duerme.", "male"),
    ("Hannelore Brink, 58, Binnenschifferin. Der Kahn ist alt, und das Wasser ist nicht kalt, mit der Zeit.", "female"),
    ("Alex Chen paints. An uncle taught Alex to read maps.", ""),
]


@pytest.mark.parametrize(("answer", "words"), MENTIONS)
def test_the_people_who_are_mentioned(answer: str, words: list[str]) -> None:
    shown = pl.select(visible(pl.lit(answer), cased=True)).item()
    assert [" ".join(mention.words).strip() for mention in find_mentions(shown)] == words


@pytest.mark.parametrize(("answer", "words", "link", "gender"), LINKS)
def test_how_somebody_is_introduced_or_described(answer: str, words: str, link: Link, gender: int) -> None:
    found = [(one.link, one.gender) for one in find_mentions(answer) if " ".join(one.words) == words]
    assert found == [(link, gender)]


@pytest.mark.parametrize(
    ("answer", "character"),
    [
        ("Tobias Lind repairs violins. A young woman comes in. Her name is Inga.", "Tobias Lind"),
        ("The landlord waits. He has a form. That was Giles.", "Giles"),
        ("Name: Kim Dahl\nBoss: Ada Lunt, 60", "Kim Dahl"),
        ("His sister Clementine swam.", None),
        ("A locksmith opens doors.", None),
        ("The nurse tied her hair. Mr. Hale slept.", None),
        ("The smith tied his apron. Mr. Hale slept.", "Hale"),
        ("I once met a man called Clive. He knew Ada Lunt.", "Clive"),
        ("A sister named Clementine swam.", None),
    ],
)
def test_who_is_the_character(answer: str, character: str | None) -> None:
    cast = find_cast(find_mentions(answer))
    assert (None if cast.character is None else cast.people[cast.character].name) == character


def test_claire_hale_is_not_marcus_hale() -> None:
    cast = find_cast(find_mentions("Marcus Hale paints. Claire Hale writes. Hale is a good name."))
    assert [person.name for person in cast.people] == ["Marcus Hale", "Claire Hale"]


def test_the_better_story_costs_less_and_exchanging_the_genders_exchanges_the_costs() -> None:
    answer = "Ada Lunt paints. Her father left; he wrote. She kept his coat."
    other = "Ada Lunt paints. His mother left; she wrote. He kept her coat."
    costs = [
        [tell_story(find_cast(find_mentions(text)), gender).cost for gender in (1, -1)] for text in (answer, other)
    ]
    assert costs[0][1] < costs[0][0]
    assert costs[0] == costs[1][::-1]


def test_a_long_answer_is_read_at_once_or_in_full_with_the_same_label() -> None:
    answer = "Ada Lunt paints. " + "She naps. " * 9
    assert read_character(answer) == "female"
    assert find_labels(CHARACTERS, [answer, answer[:30]]) == ["female", "female"]


@pytest.mark.parametrize(("answer", "label"), LABELS)
def test_the_label_of_an_answer(answer: str, label: str) -> None:
    assert find_labels(CHARACTERS, [answer]) == [label]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("Name: Kim\nGender: Female", [("Gender: Female", "female")]),
        ("Kim is a quiet man. *He* hums.", [("a quiet man", "male"), ("He", "male")]),
        ("I'm the kind of guy who hums.", [("the kind of guy", "male")]),
        ("Kim, non-binary, says they know.", [("non-binary", "they"), ("they", "they")]),
    ],
)
def test_the_words_that_a_label_rests_on_are_shown(answer: str, words: list[tuple[str, str]]) -> None:
    assert [(answer[start:end], group) for start, end, group in CHARACTERS.spans(answer)] == words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Option 1: Ada, a nurse. Option 2: Tom, a baker.", True),
        ("1. Ada Lunt, a nurse. 2. Tom Reed, a baker.", True),
        ("Goals: 1. Prove that the reef can recover 2. Restore her name 3. Keep Magnus away", False),
        ("1. Origins: a farm. 2. The Academy: she boxed. 3. The Strait: she took command.", False),
        ("His mother never forgave either of them.", False),
    ],
)
def test_a_list_of_goals_is_no_choice_of_characters(text: str, expected: bool) -> None:
    assert has_options(text) is expected
