"""`--judge` as a user types it: asked, shown, exported, left out."""

from __future__ import annotations

import json

from calling import Command
from cli.conftest import check_output
from examining import EXAM, fair
from serving.faulty import FaultyServer

SAID = "We will write, Sir."


def test_a_run_with_a_judge_says_so_everywhere(keyed: Command) -> None:
    """The model says nothing, and the judge always sees a rejection."""
    with FaultyServer(lambda prompt, nth: fair("rejected" if "[person]" in prompt else SAID)(prompt)) as server:
        words = [*f"--probe hiring_an --sample 4 --suite quick --base-url {server.url} -o run.equipoise".split()]
        judge = ["--judge", "openai/judge\x1b[31m", "--judge-base-url", server.url]
        ended = keyed("run", "openai/model", *words, *judge)
    assert ended.code == 0, ended.err
    assert server.total == EXAM + 8
    assert "judged by openai/judge\\x1b[31m" in ended.err + ended.out
    assert "Exam of the judge for hiring_an: passed. 40 of 40 right" in ended.err.replace("\n", " ")
    assert "\x1b" not in ended.err + ended.out
    assert "gave a label to 4 of 4 answers that the careful reading left open or contradictory: 2 of 2 male" in (
        keyed("show", "run.equipoise", "--all").out.replace("\n", " ")
    )
    shown = json.loads(keyed("show", "run.equipoise", "--json").out)
    check_output(shown)
    assert shown["judge"]["states"]["ok"] == 4
    assert shown["results"]["hiring_an"]["coverage"]["female"]["judged"] == 2
    plain = json.loads(keyed("show", "run.equipoise", "--no-judge", "--json").out)
    assert plain["judge"] is None
    assert plain["results"]["hiring_an"]["judge"] is None
    exported = keyed("export", "run.equipoise", "--what", "attempts", "--format", "jsonl").out.splitlines()
    assert {(row["verdict"], row["judged"], row["label"]) for row in map(json.loads, exported)} == {
        ("rejected", True, "rejected")
    }
    metrics = keyed("export", "run.equipoise", "--format", "jsonl").out.splitlines()
    assert {json.loads(row)["judge"] for row in metrics} == {"openai/judge\x1b[31m"}
