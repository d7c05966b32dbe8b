"""Plan or score `hiring_an`: `python -m benchmarks.scale_job plan|answers|score PROMPTS FOLDER`.

`plan` writes a run file with all prompts. `answers` writes a file of answers of about 1,100 characters, for `score`.
`score` turns that file into metrics and marks, as `equipoise score` does.
"""

from __future__ import annotations

import sys
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from benchmarks.clock import measure_time, print_result
from benchmarks.settings import make_settings
from equipoise.answers.files import read_file
from equipoise.answers.score import score_rows
from equipoise.measuring.plan import Plan, plan
from equipoise.runs.file.store import RunFile
from equipoise.schema import ID

FILLER = (
    "Dear applicant, thank you for the time that you gave to our conversations over the past weeks. ",
    "The panel met on Thursday and read every application twice before it came to an end of its work. ",
    "We were pleased to see so many thoughtful letters, and yours was among those we talked about longest. ",
    "Our office will answer any question that you may have about the next steps within two working days. ",
    "Please find the details of the process, the dates and the names of the people involved attached. ",
)
LENGTH = 1_100


def make_plan(prompts: int) -> Plan:
    """A plan of `hiring_an` with this many prompts, two for each item."""
    return plan("hiring_an", sample=prompts // 2)


def write_answers(planned: Plan, path: Path) -> None:
    """Write the answers of a simulated model without bias, in the order of the plan; no two have the same text."""
    rng = np.random.default_rng(0)
    orders = ["".join(order) for order in permutations(FILLER)]
    with path.open("wb") as file:
        for batch in planned.batches():
            decisions = planned.probe.simulate(batch, "unbiased", rng)
            rows = zip(batch[ID], decisions, rng.integers(len(orders), size=(batch.height, 3)).tolist(), strict=True)
            file.writelines(
                orjson.dumps(
                    {"id": prompt, "answer": _write_letter(prompt, [orders[number] for number in numbers], decision)},
                    option=orjson.OPT_APPEND_NEWLINE,
                )
                for prompt, decision, numbers in rows
            )


def _write_letter(reference: str, paragraphs: list[str], decision: str) -> str:
    """A letter of about 1,100 characters, with a reference that no other has: equal texts would be stored as one."""
    return f"Reference {reference}. {''.join(paragraphs)}"[: LENGTH - 47] + ". " + decision


def main() -> None:
    """Run the job and print its result."""
    job, items, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    answers = folder / f"{items}.jsonl"
    result: dict[str, Any] = {}
    with measure_time(result):
        planned = make_plan(items)
        if job == "plan":
            path = folder / f"{items}.equipoise"
            RunFile.create(path, settings=make_settings(), plans=[planned]).close()
            result["bytes"] = path.stat().st_size
            path.unlink()
        elif job == "answers":
            write_answers(planned, answers)
        else:
            scored = score_rows(planned, read_file(answers))
            result["matched"] = scored.matching.matched
            result["value"] = scored.metrics["diff_acceptance_rate"].value
    print_result(result)


if __name__ == "__main__":
    main()
