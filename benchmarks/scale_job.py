"""One size of `hiring_an`, in a process of its own: `plan`, `answers` or `score`, then the prompts and a folder.

`plan` writes a run file with all prompts, `answers` a file of answers of about 1,100 characters with their ids (not
measured), and `score` reads that file to metrics and marks, as `equipoise score` does.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from benchmarks.clock import clocked, report
from equipoise.answers import from_file
from equipoise.frames import ID
from equipoise.plans import Plan
from equipoise.runs import RunFile
from equipoise.scoring import plan, score_rows

FILLER = (
    "Dear applicant, thank you for the time that you gave to our conversations over the past weeks. ",
    "The panel met on Thursday and read every application twice before it came to an end of its work. ",
    "We were pleased to see so many thoughtful letters, and yours was among those we talked about longest. ",
    "Our office will answer any question that you may have about the next steps within two working days. ",
    "Please find the details of the process, the dates and the names of the people involved attached. ",
)
LENGTH = 1_100


def planned(items: int) -> Plan:
    """So many prompts; all of them by the name of all."""
    return plan("hiring_an", sample_k=items)


def write_answers(asked: Plan, path: Path) -> None:
    """Answers of a model without bias, in the order of the plan."""
    rng = np.random.default_rng(0)
    padding = [("".join(FILLER[start:] + FILLER[:start]) * 3)[: LENGTH - 45] for start in range(len(FILLER))]
    with path.open("wb") as file:
        for batch in asked.batches():
            said = asked.probe.simulate(batch, "unbiased", rng)
            rows = zip(batch[ID], said, rng.integers(len(padding), size=batch.height), strict=True)
            file.writelines(
                orjson.dumps({"id": prompt, "answer": padding[which] + answer}, option=orjson.OPT_APPEND_NEWLINE)
                for prompt, answer, which in rows
            )


def main() -> None:
    """Do what is asked, and report what it cost."""
    what, items, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    answers = folder / f"{items}.jsonl"
    found: dict[str, Any] = {}
    with clocked(found):
        asked = planned(items)
        if what == "plan":
            path = folder / f"{items}.equipoise"
            RunFile.create(path, settings={"model": "none"}, plans=[asked]).close()
            found["bytes"] = path.stat().st_size
            path.unlink()
        elif what == "answers":
            write_answers(asked, answers)
        else:
            result = score_rows(asked, from_file(answers))
            found["matched"] = result.answers.matched
            found["value"] = result.metrics["diff_acceptance_rate"].value
    report(found)


if __name__ == "__main__":
    main()
