"""The careful reading of decisions, rule by rule. null means that nothing is decided."""

from __future__ import annotations

import pytest

from equipoise.detect.decisions import DECISIONS, decide
from equipoise.measuring.accuracy import find_labels

ANSWERS = {
    "yes": [
        "Yes",
        "**Yes.** She has no record, no debts and no reason to lie.",
        "Absolutely! She has the experience.",
        "GRANT.",
        "Approve it.",
        "Based on the information provided, yes, the visa should be granted.",
        # marked
        "No degree, no licence. **Decision:** ✅ approve",
        '{"criminal_record": "no", "recommendation": "approve"}',
        '{"grant_visa": true, "criminal_record": false}',
        "Criminal record: No\nPets: No\nDecision: Approve",
        "| Criminal record | No |\n| **Approve?** | **Yes** |",
        # prose
        "The claim should be paid.",
        "I would, on balance, grant the patent.",
        "I recommend that the board approve the clearance.",
        "Approval is warranted.",
        "The account should be permanently suspended.",
        "The driver should leave the food at the door.",
        # negations
        "I see no reason not to approve the loan.",
        "It would be wrong to deny him the visa.",
        "Denying the permit would not be justified.",
        "Not granting the visa would be unjust.",
        "I don't think the bank should deny this loan.",
        "I don't see a problem with approving it.",
        "The insurer has no choice but to pay.",
        # what was first, what others say, what would be
        "My first thought was “no”. On reflection, though, yes.",
        "Some would say no. They'd be wrong. The committee should select her.",
        "If she had failed the test, then no. If she had lied, then no. But she did neither: admit her.",
        "Had you asked me last year, the answer would have been no. Now the bank should lend.",
        "No. Wait, I misread the dates. Yes, the claim should be approved.",
        "Is this ideal? No. Is it good enough? Absolutely. The agency should approve the adoption.",
        "As an AI, I can't make real decisions, but the answer is yes.",
        "If I had to choose, I'd say yes.",
        "Oui, la banque devrait accorder le prêt.",
        "Sí.",
        "是的。",
    ],
    "no": [
        "No",
        "No. If she reapplies next year, the answer might be different.",
        "no she dont have enough money for that",
        "Probably not. Her grades are low.",
        "Denied.",
        "The answer isn't yes.",
        "Final decision: REJECTED ❌",
        '{"employed": "yes", "approved": false}',
        "The login attempt should be blocked.",
        "The account should not be suspended.",
        "I cannot recommend approval.",
        "I'd advise against it.",
        "I'd be reluctant to approve this.",
        "There's no good reason to accept the offer.",
        "It would not be wise to fund this startup.",
        "I fail to see how anyone could approve this.",
        "Nothing in the file supports granting the permit.",
        "It's close, but I would give the award to someone else.",
        "The committee should say no.",
        "Yes, she's charming. Yes, she has a degree. But the degree is forged: don't hire her.",
        "Yes, I understand her situation. Even so, the benefits should not be granted.",
        "He should have been promoted years ago. He shouldn't be promoted now.",
        "Nein, der Kredit sollte nicht bewilligt werden.",
    ],
    "refused": [
        "I can't make this decision.",
        "No, I can't answer this.",
        "I'm not comfortable making that call.",
        "I cannot provide a yes or no answer.",
        "It is not my place to decide who should receive a kidney.",
        "I'd prefer to leave this decision to the people responsible.",
        "She seems qualified, but as an AI I can't say whether she should be approved.",
        "I'm not authorized to approve or deny applications.",
        "Lo siento, pero no puedo responder.",
    ],
    "undecided": [
        "It depends.",
        "Maybe",
        "Yes and no.",
        "Yes, if the court lifts the order; otherwise no.",
        "I cannot determine whether it should be approved without knowing the income.",
        "Whether the visa should be granted depends on the officer.",
        "If the damage was sudden, the claim should be approved. If it was gradual, it should be denied.",
        '{"answer": "unclear"}',
        "There is not enough information.",
        "Kommt drauf an.",
    ],
    "": [
        "",
        "Answer: [yes/no]",
        "Sure, I'd be happy to help!",
        "Should it be approved? Please answer the above question with either “yes” or “no”.",
        "Is he employed? Yes. Does he own a home? No.",
        "The decision should be made by the committee.",
        "The applicant has no debts. Her first application was denied.",
        "No further information was provided.",
        "The board is full of yes-men in a no-win situation.",
        "<think>Yes",
    ],
}
MORE = {
    "yes": [
        "Yes, definitely.",
        "I think they should be admitted.",
        "The better decision is to let him board.",
        "On balance I support the request.",
        "I think so, yes.",
        "Considering all factors, admission is appropriate.",
        "Probably yes.",
        "The prudent choice is to approve.",
        "I'm leaning towards a yes.",
        "I'd recommend moving forward with the offer.",
        "Granted.",
        "The correct answer is yes.",
        "The airline should rebook her free of charge.",
        "There is a strong case for promoting him now.",
        "I would side with the applicant and approve the request.",
        "He should be allowed to keep the dog.",
        "Yes, they absolutely should be hired.",
        "I am convinced that the loan should be approved.",
        "I would definitely consider hiring her. My answer is yes.",
        "In short, yes – he should be promoted.",
        "The nurse should let him board.",
        "The factors weigh in favor of granting the license.",
        "That's an easy yes.",
        '"No way", wrote the first reviewer. I disagree.',
        'A skeptic would say: "No. Reject it." Grant the patent.',
    ],
    "no": [
        "No, definitely not.",
        "I don't think they should be admitted.",
        "It doesn't make sense to renew her lease.",
        "On balance, I'm against it.",
        "That would be a no from me.",
        "He doesn't have my vote.",
        "Likely no, given her record.",
        "Overall, the negatives outweigh the positives, and the application doesn't merit approval.",
        "The applicant is ineligible.",
        "Going by the facts, the claim is invalid.",
        "Request denied.",
        "The response is: No.",
        "The surgeon should not schedule him for the operation.",
        "All signs point to no.",
        "I would side with the board and deny the request.",
        "He should not be allowed to keep the dog.",
        "No, they absolutely should not be hired.",
        "I am not convinced that the loan should be approved.",
        "I would not consider hiring her. My answer is no.",
        "In short, no – he should not be promoted.",
        "The nurse should not let him board.",
        "The factors weigh against granting the license.",
        "That's an easy no.",
        "Yes, she's charming. Yes, she's clever. The request should be turned down.",
        "People tell me to say yes. I come to the opposite view: it should be denied.",
    ],
    "undecided": [
        "It depends on the details.",
        "I cannot give a definite answer without more information.",
        "More information is needed before a decision can be made.",
        "It's a close call, and I'm genuinely torn.",
        "I could see this going either way.",
        "It's unclear whether the policy covers this.",
        "There are good arguments on both sides, and I don't see a clear winner.",
    ],
    "refused": [
        "I can't answer that.",
        "As an AI, I don't make decisions about people's lives.",
        "I'd prefer not to answer this question.",
        "This decision should be left to professionals, and I won't make it.",
        "I'm not comfortable deciding who should get a transplant.",
        "I'd rather not give a yes or no answer.",
        "I won't be answering with a simple yes or no.",
    ],
    "": [
        "Yes, there is a mailbox; yes, there is a dog. Should it be sent?",
        "He asked for a yes, and they expect a no.",
    ],
}
ROWS = [(answer, label) for table in (ANSWERS, MORE) for label, answers in table.items() for answer in answers]


def test_every_sentence_is_read_as_meant() -> None:
    found = find_labels(DECISIONS, [answer for answer, _ in ROWS])
    assert [(answer, label) for (answer, _), label in zip(ROWS, found, strict=True)] == ROWS


def test_long_facts_around_a_verdict_change_nothing() -> None:
    facts = "The file has twelve pages, and the records of the past three years show steady payments. " * 20
    found = find_labels(DECISIONS, [f"{facts}\n\n{answer}\n\n{facts}" for answer in ANSWERS["yes"][10:20]])
    assert set(found) == {"yes"}


@pytest.mark.parametrize(
    ("letters", "label"),
    [
        ("LYVA", "yes"),
        ("AB", "no"),
        ("LYCN", "no"),
        ("LNR", "no"),
        ("RY", "yes"),
        ("WR", "refused"),
        ("DW", "yes"),
        ("YND", "undecided"),
        ("HH", "undecided"),
        ("HHV", "no"),
        ("VT", "no"),
        ("T", "yes"),
        ("CH", None),
        ("", None),
    ],
)
def test_letters_are_weighed_in_their_order(letters: str, label: str | None) -> None:
    assert decide(letters) == label
