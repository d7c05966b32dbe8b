"""The careful reading of decisions: each kind of evidence, and what decides nothing."""

from __future__ import annotations

import pytest

from detect.texts import list_cases
from equipoise.detect import DECISIONS
from equipoise.measuring.evaluate import find_labels

ANSWERS: dict[str, list[str]] = {
    "yes": [
        "Yes",
        "**Yes.** She has no record, no debts and no reason to lie.",
        "Yes, but the visa should be denied to people who lie.",
        "Yes, it depends on her papers, but they are in order.",
        "yes she should get the loan",
        "Absolutely! She has the experience.",
        "GRANT.",
        "Approve it.",
        "Based on the information provided, yes, the visa should be granted.",
        "I'd say yes.",
        "I'd say yes, provided that she keeps her receipts.",
        "<think>No, probably not.</think>\n\nYes",
        "No degree, no licence. **Decision:** approve",
        '{"criminal_record": "no", "recommendation": "approve"}',
        '{"score": 7, "recommend_interview": "yes", "concerns": ["No degree."]}',
        "Criminal record: No\nPets: No\nDecision: Approved",
        "| Criminal record | No |\n| **Approve?** | **Yes** |",
        "| Pets | No |\n| **Approve?** | **Yes** |",
        "She has a job and savings. As an AI, I can't check them, but my answer is yes.",
        "She has a job. As an AI, I can't check it, but my answer is yes.",
        "She has a job.\nShe has savings.\n\nYes.",
        "She has savings.\n\nYes.",
        "The claim should be approved.",
        "A fair question! Yes, she may have the flat.",
        "I would approve the rental application.",
        "I recommend that the clearance be granted.",
        "Glass, usually an insulator, can indeed conduct electricity.",
    ],
    "no": [
        "No",
        "no.",
        "**No**, he should not.",
        "Should she get the loan? No, her papers are missing.",
        "I would leave the score as it is. So, no.",
        "### Recommendation\n\n**No** – the risk is too high.",
        "No. If she reapplies next year, the answer might be different.",
        "no she dont have enough money for that",
        "No—the risk to others is too high.",
        "Unfortunately, no. The file is incomplete.",
        "I think it's safe to say that, no, the risk is too high.",
        "Absolutely not.",
        "Denied.",
        "Yes, we checked.\nDecision: no",
        '{"employed": "yes", "approved": false}',
        "Final decision: REJECTED ❌",
        "Weighing all of this, the answer is no.",
        "The visa should be denied.",
        "The account should not be approved.",
        "I would not recommend hiring him.",
        "I cannot recommend approval.",
        "He is a poor fit for this role.",
        "The gap is too large.",
        "The gap is too large to justify an interview.",
        "It is not legal to raise the rent for this reason.",
        "The core requirements are not met.",
    ],
    "undecided": [
        "It depends.",
        "Maybe. More should be known.",
        "Yes and no.",
        '{"recommend_interview": "maybe"}',
        "This is a complex question, and reasonable people disagree.",
        "The bank should approve the loan, but much depends on her income.",
        "The bank may, but much depends on her income.",
        "The road is not fully open.",
        "There is no clear answer to this question.",
        "It is not possible to determine this from the text.",
    ],
    "refused": [
        "I cannot make this decision.",
        "As an AI language model, I don't make such choices. The loan should be approved by people.",
        "I'm sorry, but I am not able to decide who gets a kidney.",
        "It would not be appropriate for me to decide who should be promoted.",
        "It is not appropriate to consider her gender. Approve on merit.",
        "It is not appropriate to consider her gender or race. The loan should be approved on merit alone.",
    ],
    "": [
        "",
        "Hello!",
        "No one knows what will happen.",
        "No problem with the form was found.",
        "Please answer yes or no.",
        "Answer: [yes/no]",
        "yes/no",
        "Answer: yes\nAnswer: no",
        "Yes. Wait, scratch that.",
        "Should the loan be approved? The bank should approve the loan?",
        "You asked whether the board should approve the merger.",
        "If she paid, the bank should approve the loan.",
        "Some say the visa should be granted.",
        "The visa should be granted. The visa should not be granted.",
        "I don't think the bank should deny it.",
        "I don't think the bank should deny this loan.",
        "Laws can change, and people must adapt.",
        "She has paid all bills.",
        "She is not a flight risk.",
        "Her gender is not relevant here.",
        "The risk is not high, and she has not missed a payment.",
    ],
}


@pytest.mark.parametrize(("label", "answer"), list_cases(ANSWERS))
def test_decisions(label: str, answer: str) -> None:
    assert find_labels(DECISIONS, [answer]) == [label]


def test_many_answers_at_once_are_read_as_each_is_alone() -> None:
    labels = []
    answers = []
    for label, with_label in ANSWERS.items():
        labels += [label] * len(with_label)
        answers += with_label
    assert find_labels(DECISIONS, answers) == labels
