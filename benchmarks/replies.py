"""Answers of about 1,100 characters for five probes, put together from sentences by a seeded generator.

Most are easy to read. One in twenty is hard to read, as answers of models sometimes are: with markup on the deciding
word, with reasoning, with both decisions, or with none.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from equipoise.measuring.plan import Plan
from equipoise.probes.business_vocabulary.inventories import WORDS
from equipoise.schema import ANSWER, GENDER, REPETITION

LENGTH = 1_100
HARD_SHARE = 0.05

LIFE = (
    "{He} grew up above a bakery in a harbour town, and {his} mornings still begin before five.",
    "An uncle taught {him} to read maps, which is why {he} trusts paper over any screen.",
    "When the river rose, {he} carried {his} neighbour’s furniture up three flights of stairs.",
    "{His} colleagues say that {he} hums while working; {he} denies it, and hums on.",
    "What frightens {him} most is silence at the other end of a telephone line.",
    "{He}’s known for arriving early, leaving late and forgetting {his} umbrella in between.",
    "On Sundays {he} walks to the old lighthouse with a flask of tea and a book from {his} shelf.",
    "A scar on {his} left hand comes from the summer when {he} worked at the cannery.",
    "If asked about the future, {he} points at {his} boots and says that they have some miles left.",
)
PLACES = (
    "The town has one cinema, two bridges and a market that smells of oranges on Fridays.",
    "Strengths: patience, a steady hand, an ear for accents. Weaknesses: maps of the past.",
    "The story opens in October, in a waiting room with a broken clock and a vase of dry thistles.",
    "**Backstory.** The family came across the border with one suitcase and a sewing machine.",
)
CASE = (
    "The documents on file are complete, and the dates in them agree with one another.",
    "Records of the past three years show steady payments and a stable address.",
    "The rules that apply here ask for two conditions, and both can be checked on paper.",
    "A delay would cost all sides time, and it would not add to what is already known.",
    "Safety comes first, so the conditions should be looked at again after six months.",
    "Nothing in the description points to a risk that the usual safeguards would miss.",
    "This view rests on the facts given above and on them alone.",
)
MAIL = (
    "Thank you for the time that you gave to our conversations over the past weeks.",
    "The panel met on Thursday and went through every application in detail.",
    "Several letters reached us for this role, and each was read by two colleagues.",
    "Your account of the project in the north was discussed at length.",
    "Our office will answer any question about the process within two working days.",
    "The team would like to hear how you found the interview and the written task.",
    "Travel costs are refunded if the receipts reach us before the end of the month.",
    "With kind regards, and on behalf of everybody who took part in the selection.",
)
LETTER = (
    "I am writing with pleasure about {name}, whose work I have followed for three years.",
    "People who share a project with {name} speak of a colleague who is {word} and {word}.",
    "In the spring term the whole group relied on someone so {word}, and rightly so.",
    "Deadlines were met, minutes were written, and the tone stayed {word} throughout.",
    "Being {word} is rare; being {word} as well is what set these results apart.",
    "When the budget was cut, the answer was a plan, a table and a {word} conversation.",
    "{name} has done good work, and the third year was better than the second.",
    "I would be glad to say more on the telephone at any time that suits the committee.",
    "Should a {word} and {word} person be wanted, the choice would be an easy one.",
)

Slots = Mapping[str, str]
HE: Slots = {"he": "he", "He": "He", "his": "his", "His": "His", "him": "him"}
SHE: Slots = {"he": "she", "He": "She", "his": "her", "His": "Her", "him": "her"}
THEY: Slots = {"he": "they", "He": "They", "his": "their", "His": "Their", "him": "them"}
EITHER: Slots = {"he": "(s)he", "He": "(S)he", "his": "the", "His": "The", "him": "Robin"}
NO_PRONOUN: Slots = {"he": "Robin", "He": "Robin", "his": "the", "His": "The", "him": "Robin"}


def replies(planned: Plan, seed: int = 1) -> Iterator[dict[str, Any]]:
    """One row per attempt: the prompt with its covariates, the repetition, and an answer."""
    rng = random.Random(f"{planned.probe.name} {seed}")
    write = WRITERS[planned.probe.name]
    for prompt in planned.prompts().iter_rows(named=True):
        for repetition in range(1, planned.repetitions + 1):
            answer = write(rng, prompt, rng.random() < HARD_SHARE)
            yield {**prompt, REPETITION: repetition, ANSWER: answer}


def write_character(rng: random.Random, prompt: Mapping[str, Any], hard: bool) -> str:
    """The profile of a character, with many pronouns; more often a man where a man is expected."""
    expected = prompt.get("masculinity", float(prompt.get("stereotype_gender") == "male"))
    pronouns, other_pronouns = (HE, SHE) if rng.random() < 0.25 + 0.5 * expected else (SHE, HE)
    if not hard:
        return _prose(rng, [line.format(**pronouns) for line in LIFE] + list(PLACES))
    kind = rng.randrange(6)
    underscored = {name: f"_{word}_" for name, word in pronouns.items()}
    forms = (underscored, pronouns, EITHER, NO_PRONOUN, THEY, pronouns)
    lines = [line.format(**forms[kind]) for line in LIFE]
    if kind == 1:
        reasoning = " ".join(line.format(**other_pronouns) for line in LIFE[:9])
        visible = _prose(rng, [*lines[:5], *PLACES, *PLACES], LENGTH - len(reasoning))
        return f"<think>{reasoning}</think>\n\n{visible}"
    if kind == 5:  # the two genders take turns
        lines = [line.format(**(other_pronouns if place % 2 else pronouns)) for place, line in enumerate(LIFE)]
    return _prose(rng, lines + list(PLACES))


def write_decision(rng: random.Random, prompt: Mapping[str, Any], hard: bool) -> str:
    """A decision with reasons: yes or no stands at the beginning or at the end."""
    says_yes = rng.random() < {"female": 0.68, "male": 0.62, "non-binary": 0.65}[prompt[GENDER]]
    word, other = ("Yes", "No") if says_yes else ("No", "Yes")
    plain = ("{0}.", "{0}, on balance.", "**{0}**.", "My answer is “{1}”.", "Answer: {1}.", "*{0}* — with conditions.")
    odd = (
        "_{0}_.",
        "{0}… with conditions.",
        "To your yes-or-no question: {1}.",
        "Yes/No: {0}.",
        "{0}. This is a no-fault case.",
        "{0}, though others would say {3}.",
        "It depends on the board.",
        "<think>A first thought is {3}, but the facts say otherwise.</think>{0}.",
    )
    form = rng.choice(odd if hard else plain).format(word, word.lower(), other, other.lower())
    text = _prose(rng, CASE, LENGTH - len(form))
    return f"{form} {text}" if form.startswith("<") or rng.random() < 0.7 else f"{text} {form}"


def write_mail(rng: random.Random, prompt: Mapping[str, Any], hard: bool) -> str:
    """A letter that accepts or rejects; men are accepted more often in masculine occupations, women in the others."""
    lean = 0.3 * (prompt["masculinity"] - 0.5)
    accepted = rng.random() < 0.5 + (lean if prompt[GENDER] == "male" else -lean)
    yes, no = "You have been selected for this role.", "We regret to inform you of a refusal."
    form = yes if accepted else no
    if hard:
        odd = (
            f"{yes} If you do not accept, use this text instead: {no}",
            form.replace("been selected", "been **selected**").replace("regret to", "**regret** to"),
            form.replace("have been", "have\nbeen").replace("to inform", "to\ninform"),
            form.replace("inform you", f"inform {prompt['name']}"),
            f"<think>It could also be: {no if accepted else yes}</think>{form}",
            "A decision will follow next week.",
        )
        form = rng.choice(odd)
    text = _prose(rng, MAIL, LENGTH - len(form) - len(prompt["name"]) - 8)
    middle = text.index(". ", len(text) // 3) + 2
    return f"Dear {prompt['name']},\n\n{text[:middle]}{form} {text[middle:]}"


def write_letter(rng: random.Random, prompt: Mapping[str, Any], hard: bool) -> str:
    """A letter of reference with words of the inventories; somewhat more male words for men."""
    male_share = 0.55 if prompt[GENDER] == "male" else 0.45

    def word() -> str:
        chosen: str = rng.choice(POOLS["male" if rng.random() < male_share else "female"])
        return chosen

    lines = list(LETTER)
    if rng.random() >= 0.3:
        lines = [line for line in lines if " good " not in line and " more " not in line]
    marks = rng.choice((("_", "_"), ("", "…"), ("", "/calm"), ("**", "**"))) if hard else ("", "")
    filled = []
    for line in lines:
        parts = line.split("{word}")
        text = parts[0] + "".join(f"{marks[0]}{word()}{marks[1]}{part}" for part in parts[1:])
        filled.append(text.replace("{name}", prompt["name"]))
    return _prose(rng, filled)


def _prose(rng: random.Random, sentences: Any, length: int = LENGTH) -> str:
    """The sentences in random order, repeated until the text has about this length."""
    chosen: list[str] = []
    left = length
    while left > 40:
        for sentence in rng.sample(list(sentences), len(sentences)):
            if left <= 40:
                break
            chosen.append(sentence)
            left -= len(sentence) + 1
    return " ".join(chosen)


POOLS = {
    gender: sorted({word for name, words in WORDS.items() if name.endswith(f"_{gender}") for word in words})
    for gender in ("male", "female")
}
WRITERS: Mapping[str, Callable[[random.Random, Mapping[str, Any], bool], str]] = {
    "jobs_lum": write_character,
    "gest_creative": write_character,
    "discrimination_tamkin": write_decision,
    "hiring_an": write_mail,
    "business_vocabulary": write_letter,
}
