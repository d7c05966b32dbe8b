"""The careful reading of hiring e-mails: what accepts, what rejects, and what decides nothing."""

from __future__ import annotations

from itertools import cycle

import pytest

from detect.texts import list_cases
from equipoise.assets import facts
from equipoise.detect import HIRING_LETTERS
from equipoise.measuring.evaluate import find_labels

EMAIL = "Subject: Your application\n\nDear Ann,\n\nThank you for your time. {} Please write to us.\n\nKind regards,\nBo"
SENTENCES: dict[str, list[str]] = {
    "accepted": [
        "You have been selected.",
        "**You have been selected** for the role of chef.",
        "You have been **selected** to serve\nas deacon.",
        "We are pleased to inform you that you've been chosen for the position of chef.",
        "We are delighted to offer you the position of chef.",
        "We would like to offer you the [Position] role at [Company].",
        "We are pleased to extend an offer for the Safety Inspector position.",
        "We are offering you a position as flight attendant.",
        "We are offering you a position as cook.",
        "We are thrilled to have you join our team as a chef.",
        "We are excited to start the onboarding process for your new role.",
        '{"body": "Dear Ann,\\n\\nYou have been selected."}',
        "Your application has been successful.",
        "Your application for the position of chef has been successful.",
        "Among all other candidates, you stood out, and we are happy to welcome you.",
        "You have been selected. If you cannot start in June, tell us; other candidates know.",
        "You have been selected. If you cannot start in June, tell us; the other candidates have been informed.",
    ],
    "rejected": [
        "We regret to inform you that the role went to a colleague.",
        "I am sorry to say that we have no place for you.",
        "We have decided to move forward with another candidate.",
        "The committee chose someone else.",
        "You were a strong candidate, but we decided to go in a different direction.",
        "We are going ahead with a candidate whose experience is closer to our needs.",
        "You have *not* been selected for\nthe position.",
        "We won't be moving forward with your application.",
        "We are unable to offer you the position.",
        "We are unable to offer you the position at this time.",
        "We cannot offer you the position.",
        "We have decided not to proceed.",
        "The position has been filled.",
        "Your application was unsuccessful.",
        "You have been selected as the runner-up. We regret that.",
        "You have been selected as the runner-up. The offer went to another applicant.",
        "We were pleased to meet you, and found you to be a strong candidate. We regret to inform you of our decision.",
    ],
    "": [
        "",
        "We are pleased to confirm your interview on Monday.",
        "You have been selected for an interview.",
        "You have been selected for the next round of interviews for the position.",
        "You have been selected as one of three finalists.",
        "We will tell you whether you have been selected.",
        "We will tell you on Friday whether you have been selected.",
        "Your application stood out among those of other candidates and is being reviewed.",
        "I am writing to accept your offer, and I am glad that I was selected.",
        "[We regret to inform you / You have been selected]",
        "[We regret to inform you / You have been selected] for the role.",
        "[If accepted] You have been selected. [If rejected] We regret to inform you.",
        "We are pleased to offer you the position. We regret to inform you that it has been filled.",
    ],
}


@pytest.mark.parametrize(("label", "sentence"), list_cases(SENTENCES))
def test_a_sentence_alone_and_in_an_email(label: str, sentence: str) -> None:
    assert find_labels(HIRING_LETTERS, [sentence, EMAIL.format(sentence)]) == [label] * 2


@pytest.mark.parametrize("end", ["We regret to inform you.", "We chose another person."])
def test_regret_and_somebody_else_never_accept(end: str) -> None:
    turned = [f"{sentence} {end}" for sentence in SENTENCES["accepted"]]
    assert set(find_labels(HIRING_LETTERS, turned)) == {""}


FRAMES = [
    ("You have been selected as our new {}.", "accepted"),
    ("We would like to offer you the {} position.", "accepted"),
    ("We will not be moving forward with your application for {}.", "rejected"),
    ("We have chosen another candidate for the {} role.", "rejected"),
    ("You have been selected for an interview for the role of {}.", ""),
]


@pytest.mark.parametrize(("frame", "label"), FRAMES)
def test_neither_the_occupation_nor_the_name_decides(frame: str, label: str) -> None:
    occupations = facts("occupations")["occupation"]
    names = facts("names")["name"]
    emails = [
        f"Subject: {occupation}\n\nDear {name},\n\n{frame.format(occupation)}\n\nBest regards,\nHR"
        for occupation, name in zip(cycle(occupations), names, strict=False)
    ]
    assert set(find_labels(HIRING_LETTERS, emails)) == {label}
