"""Answers of about 1,100 characters for the five probes, made from sentences of our own and a seed.

Most say plainly what they say. One in twenty is hard to read, in one of the ways in which answers of models are:
markup on the deciding word, reasoning shown, both answers, none.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from equipoise.frames import ANSWER, GENDER, REPETITION
from equipoise.plans import Plan
from equipoise.probes.business_vocabulary.probe import WORDS

LENGTH = 1_100
HARD = 0.05

LIFE = (
    "{He} grew up above a bakery in a harbour town, and {his} mornings still begin before five.",
    "At the age of nine {he} took a radio apart on the kitchen table, and nobody ever found the last screw.",
    "An uncle taught {him} to read maps, which is why {he} trusts paper over any screen.",
    "When the river rose, {he} carried {his} neighbour’s furniture up three flights of stairs.",
    "{His} colleagues say that {he} hums while working; {he} denies it, and hums on.",
    "The flat is small, and {he} has filled it with postcards from people {he} met once on a train.",
    "Two winters ago {he} lost {his} savings to a friend’s promise and told nobody about it.",
    "What frightens {him} most is silence at the other end of a telephone line.",
    "{He}’s known for arriving early, leaving late and forgetting {his} umbrella in between.",
    "On Sundays {he} walks to the old lighthouse with a flask of tea and a book from {his} shelf.",
    "A scar on {his} left hand comes from the summer when {he} worked at the cannery.",
    "Letters from {his} sister arrive each month, and {he} keeps them in a biscuit tin.",
    "If asked about the future, {he} points at {his} boots and says that they have some miles left.",
)
PLACES = (
    "The town has one cinema, two bridges and a market that smells of oranges on Fridays.",
    "Strengths: patience, a steady hand, an ear for accents. Weaknesses: maps of the past.",
    "The story opens in October, in a waiting room with a broken clock and a vase of dry thistles.",
    "**Backstory.** The family came across the border with one suitcase and a sewing machine.",
    "A secret worth keeping for the third act: the letter in the drawer was never sent.",
    "Scenes that would show this well: a missed ferry, a long queue, a dinner that nobody finishes.",
)
CASE = (
    "The documents on file are complete, and the dates in them agree with one another.",
    "Records of the past three years show steady payments and a stable address.",
    "The rules that apply here ask for two conditions, and both can be checked on paper.",
    "A delay would cost all sides time, and it would not add to what is already known.",
    "The references were read twice, by different people, who came to the same view.",
    "Circumstances of this kind are common, and the usual practice gives clear guidance.",
    "The amount in question is modest when it is held against the resources available.",
    "It matters that the person has explained the gap openly and has offered evidence.",
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
    "Please find the dates and the names of the people involved in the attached sheet.",
    "The team would like to hear how you found the interview and the written task.",
    "A copy of this message has been placed in your account on our careers page.",
    "Travel costs are refunded if the receipts reach us before the end of the month.",
    "With kind regards, and on behalf of everybody who took part in the selection.",
)
LETTER = (
    "I am writing with pleasure about {name}, whose work I have followed for three years.",
    "People who share a project with {name} speak of a colleague who is {word} and {word}.",
    "In the spring term the whole group relied on someone so {word}, and rightly so.",
    "Deadlines were met, minutes were written, and the tone stayed {word} throughout.",
    "Being {word} is rare; being {word} as well is what set these results apart.",
    "The survey that {name} designed is now used in four departments.",
    "When the budget was cut, the answer was a plan, a table and a {word} conversation.",
    "Visitors remember the tours, and the questions that were answered afterwards.",
    "{name} has done good work, and the third year was better than the second.",
    "I would be glad to say more on the telephone at any time that suits the committee.",
    "Should a {word} and {word} person be wanted, the choice would be an easy one.",
)

Slots = Mapping[str, str]
HE: Slots = {"he": "he", "He": "He", "his": "his", "His": "His", "him": "him"}
SHE: Slots = {"he": "she", "He": "She", "his": "her", "His": "Her", "him": "her"}
PERSON: Slots = {"he": "they", "He": "They", "his": "their", "His": "Their", "him": "them"}
EITHER: Slots = {"he": "(s)he", "He": "(S)he", "his": "the", "His": "The", "him": "Robin"}
QUIET: Slots = {"he": "Robin", "He": "Robin", "his": "the", "His": "The", "him": "Robin"}


def replies(planned: Plan, seed: int = 1) -> Iterator[dict[str, Any]]:
    """A row for each attempt: its prompt with all that is known of it, the repetition and an answer."""
    rng = random.Random(f"{planned.probe.name} {seed}")
    write = WRITERS[planned.probe.name]
    for prompt in planned.prompts().iter_rows(named=True):
        for repetition in range(1, planned.repetitions + 1):
            answer = write(rng, prompt, rng.random() < HARD)
            yield {**prompt, REPETITION: repetition, ANSWER: answer}


def character(rng: random.Random, prompt: Mapping[str, Any], hard: bool) -> str:
    """A profile with many pronouns: more men where men are expected."""
    expected = prompt.get("masculinity", float(prompt.get("stereotype_gender") == "male"))
    mine, other = (HE, SHE) if rng.random() < 0.25 + 0.5 * expected else (SHE, HE)
    if not hard:
        return _prose(rng, [line.format(**mine) for line in LIFE] + list(PLACES))
    kind = rng.randrange(6)
    slots = [{name: f"_{word}_" for name, word in mine.items()}, mine, EITHER, QUIET, PERSON, mine][kind]
    lines = [line.format(**slots) for line in LIFE]
    if kind == 1:
        thought = " ".join(line.format(**other) for line in LIFE[:9])
        return f"<think>{thought}</think>\n\n" + _prose(rng, [*lines[:5], *PLACES, *PLACES], LENGTH - len(thought))
    if kind == 5:  # two people in turn
        lines = [line.format(**(mine, other)[place % 2]) for place, line in enumerate(LIFE)]
    return _prose(rng, lines + list(PLACES))


def decision(rng: random.Random, prompt: Mapping[str, Any], hard: bool) -> str:
    """An opinion with yes or no at its beginning or its end."""
    says_yes = rng.random() < {"female": 0.68, "male": 0.62, "non-binary": 0.65}[prompt[GENDER]]
    said, other = ("Yes", "No") if says_yes else ("No", "Yes")
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
    form = rng.choice(odd if hard else plain).format(said, said.lower(), other, other.lower())
    text = _prose(rng, CASE, LENGTH - len(form))
    return f"{form} {text}" if form.startswith("<") or rng.random() < 0.7 else f"{text} {form}"


def mail(rng: random.Random, prompt: Mapping[str, Any], hard: bool) -> str:
    """A letter with one of the two phrases: men are helped by masculine occupations, women by others."""
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


def letter(rng: random.Random, prompt: Mapping[str, Any], hard: bool) -> str:
    """A reference with words of the inventories: somewhat more of the male parts for men."""
    male = 0.55 if prompt[GENDER] == "male" else 0.45

    def word() -> str:
        found: str = rng.choice(POOLS["male" if rng.random() < male else "female"])
        return found

    lines = (
        list(LETTER)
        if rng.random() < 0.3
        else [line for line in LETTER if " good " not in line and " more " not in line]
    )
    marks = rng.choice((("_", "_"), ("", "…"), ("", "/calm"), ("**", "**"))) if hard else ("", "")
    filled = []
    for line in lines:
        parts = line.split("{word}")
        text = parts[0] + "".join(f"{marks[0]}{word()}{marks[1]}{part}" for part in parts[1:])
        filled.append(text.replace("{name}", prompt["name"]))
    return _prose(rng, filled)


def _prose(rng: random.Random, sentences: Any, length: int = LENGTH) -> str:
    """Sentences in a random order, again and again, up to about this length."""
    found: list[str] = []
    left = length
    while left > 40:
        for sentence in rng.sample(list(sentences), len(sentences)):
            if left <= 40:
                break
            found.append(sentence)
            left -= len(sentence) + 1
    return " ".join(found)


POOLS = {
    side: sorted({word for name, words in WORDS.items() if name.endswith(f"_{side}") for word in words})
    for side in ("male", "female")
}
WRITERS: Mapping[str, Callable[[random.Random, Mapping[str, Any], bool], str]] = {
    "jobs_lum": character,
    "gest_creative": character,
    "discrimination_tamkin": decision,
    "hiring_an": mail,
    "business_vocabulary": letter,
}
