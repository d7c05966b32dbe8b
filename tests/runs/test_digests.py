"""A bit that flips, a copy that is mixed up, an answer that is changed by hand: noticed, and named."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import equipoise
from answering import Recorder
from equipoise.errors import BudgetReached, IntegrityError
from equipoise.models.protocol import Reply
from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.store import RETRIED, RunFile
from equipoise.schema import Status
from runs.fakes import answering, create, execute, finish, plan, prompts_of
from runs.pumping import make_pump
from runs.pumping import run as run_to_end

INSERT = """
    insert into attempts (place, digest, probe, prompt, repetition, status, tries, finished_at)
    select 7, x'', probe, id, 1, 'ok', 1, '' from prompts where position = 9
"""


@pytest.fixture(scope="module")
def six_attempts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of ten prompts, of which five were answered, one of them after a failure."""
    path = tmp_path_factory.mktemp("run") / "run.db"
    with create(path) as run:
        first, second, third, fourth, fifth, *_ = run.pending()
        odd = Reply(status=Status.OK, answer="He\0wrote \udc80.", raw=b"\x00\xff", latency=0.25)
        run.store(
            [
                finish(first, odd),
                finish(second, Reply(status=Status.TIMEOUT)),
                finish(third),
                finish(fourth),
            ]
        )
        assert run.ask_again([Status.TIMEOUT]) == 1
        run.store([finish(second), finish(fifth)])
    return path


EARLY = [
    pytest.param(
        "update prompts set prompt = prompt || ' ' where position = 7",
        "prompts alpha 0",
        id="the text of a prompt",
    ),
    pytest.param(
        "update prompts set item = 'other' where position = 7",
        "prompts alpha",
        id="the item of a prompt",
    ),
    pytest.param(
        "update attempts set answer = 'yes' where place = 3",
        "attempt number 3",
        id="an answer",
    ),
    pytest.param(
        "update attempts set status = 'empty' where place = 3",
        "attempt number 3",
        id="a state",
    ),
    pytest.param(
        "update attempts set served_model = 'x' where place = 3",
        "attempt number 3",
        id="a served model",
    ),
    pytest.param(
        "update attempts set digest = x'' where place = 3",
        "attempt number 3",
        id="a digest",
    ),
    pytest.param(
        "delete from attempts where place = 3",
        "attempt number 3",
        id="a missing attempt",
    ),
    pytest.param(
        "delete from earlier_failures",
        "attempt number 2",
        id="a missing earlier failure",
    ),
    pytest.param(
        "update earlier_failures set detail = 'nothing'",
        "attempt number 2",
        id="an earlier failure",
    ),
    pytest.param(
        "update digests set digest = x'00' where part = 'start'",
        "attempt number 1",
        id="the start of the chain",
    ),
]
"""What is noticed when answers are read: prompts, and attempts before the last one."""
AT_ONCE = [
    pytest.param(
        "update settings set value = json_set(value, '$.model', 'another') where key = 'spec'",
        "settings",
        id="the model",
    ),
    pytest.param(
        "update settings set value = json_set(value, '$.suite', 'full') where key = 'spec'",
        "settings",
        id="the suite",
    ),
    pytest.param(
        "update settings set value = json_set(value, '$.temperature', 0.5) where key = 'spec'",
        "settings",
        id="the temperature",
    ),
    pytest.param(
        "update settings set value = '[\"A note.\"]' where key = 'notes'",
        "settings",
        id="the notes",
    ),
    pytest.param(
        "update probes set plan = json_set(plan, '$.version', 99)",
        "probes",
        id="the version of a probe",
    ),
    pytest.param(
        "update probes set plan = json_set(plan, '$.corpus_sha256', 'abc')",
        "probes",
        id="the corpus",
    ),
    pytest.param("update probes set repetitions = 2", "probes", id="the repetitions"),
    pytest.param(
        "update probes set plan = json_set(plan, '$.asking.max_tokens', 9)",
        "probes",
        id="the limit of answers",
    ),
    pytest.param(
        "update probes set plan = json_set(plan, '$.asking.opening', 'No')",
        "probes",
        id="the opening of answers",
    ),
    pytest.param(
        "delete from digests where part = 'prompts alpha 0'",
        "digests",
        id="a missing digest",
    ),
    pytest.param(
        "update attempts set answer = 'He.' where place = 6",
        "attempt number 6",
        id="the last answer",
    ),
    pytest.param(
        "delete from attempts where place = 6",
        "what came after attempt number 5",
        id="the last attempt is missing",
    ),
    pytest.param(INSERT, "attempt number 7", id="an attempt that was not stored"),
    pytest.param(
        "update digests set digest = x'00' where part = 'attempts'",
        "what came after attempt number 6",
        id="the end of the chain",
    ),
]
"""What is noticed also by who goes on with a run: settings, plans, and the end of the chain."""
PLACES = [
    pytest.param(
        "update attempts set place = 9 where place = 6",
        "attempt number 6",
        id="the place of the last attempt",
    ),
    pytest.param("delete from attempts", "attempt number 1", id="all attempts"),
    pytest.param(
        "update attempts set place = 9 where place = 3",
        "attempt number 3",
        id="the place of an attempt",
    ),
]


@pytest.mark.fault("D14")
@pytest.mark.parametrize(("statement", "words"), [*EARLY, *AT_ONCE, *PLACES])
def test_whatever_is_changed_by_hand_is_named(tmp_path: Path, six_attempts: Path, statement: str, words: str) -> None:
    path = Path(shutil.copy(six_attempts, tmp_path))
    execute(statement)(path)
    with pytest.raises(
        IntegrityError,
        match=f"was changed after it was written: {words}",
    ) as caught:
        RunReader.open(path)
    assert caught.value.exit_code == 6


@pytest.mark.fault("D14")
@pytest.mark.parametrize(("statement", "words"), AT_ONCE)
def test_a_run_does_not_go_on_with_changed_settings_or_a_changed_end(
    tmp_path: Path, six_attempts: Path, statement: str, words: str
) -> None:
    path = Path(shutil.copy(six_attempts, tmp_path))
    execute(statement)(path)
    with pytest.raises(IntegrityError, match=f"was changed after it was written: {words}") as caught:
        RunFile.open(path)
    assert caught.value.exit_code == 6


@pytest.fixture(scope="module")
def stopped_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of twelve prompts of which six were answered."""
    path = tmp_path_factory.mktemp("stopped") / "run.equipoise"
    size: dict[str, Any] = {"sample": 12, "concurrency": 1, "max_requests": 6}
    with pytest.raises(BudgetReached):
        equipoise.audit(Recorder(), probes="jobs_lum", out=path, **size)
    return path


@pytest.mark.fault("D14")
def test_a_prompt_that_was_changed_is_never_asked(tmp_path: Path, stopped_run: Path) -> None:
    path = Path(shutil.copy(stopped_run, tmp_path))
    model = Recorder()
    execute("update prompts set prompt = prompt || ' Say yes.' where position = 11")(path)
    with pytest.raises(IntegrityError, match=r"was changed after it was written: prompts jobs_lum"):
        equipoise.resume(path, model=model).ask()
    assert not any("Say yes" in prompt for prompt in model.asked)


@pytest.mark.fault("D14")
def test_an_answer_that_was_changed_is_found_before_there_are_results(
    tmp_path: Path,
    stopped_run: Path,
) -> None:
    path = Path(shutil.copy(stopped_run, tmp_path))
    execute("update attempts set answer = 'She is kind.' where place = 2")(path)
    equipoise.resume(path, model=Recorder()).close()
    with pytest.raises(IntegrityError, match="was changed after it was written: attempt number 2"):
        equipoise.resume(path, model=Recorder()).ask()


@pytest.fixture(scope="module")
def three_blocks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 2,500 prompts, of which one was answered and another one changed.

    Each digest covers a thousand prompts.
    """
    path = tmp_path_factory.mktemp("blocks") / "run.db"
    with create(path, plan(size=2_500)) as run:
        run.store([finish(next(run.pending()))])
    execute("update prompts set prompt = 'Changed.' where position = 2200")(path)
    return path


@pytest.mark.fault("D14")
def test_prompts_before_a_changed_one_are_asked_and_it_is_not(
    tmp_path: Path,
    three_blocks: Path,
) -> None:
    path = Path(shutil.copy(three_blocks, tmp_path))
    model = answering()
    with RunFile.open(path) as run:
        with pytest.raises(IntegrityError, match="changed after it was written: prompts alpha 2"):
            run_to_end(make_pump(run, model).run())
        assert run.counts()[Status.OK] == 1 + model.requests == 1_001, "pages before it are asked"
    assert "Changed." not in model.asked


@pytest.mark.fault("D14")
def test_a_changed_prompt_is_refused_before_it_is_read(tmp_path: Path, three_blocks: Path) -> None:
    path = Path(shutil.copy(three_blocks, tmp_path))
    with RunFile.open(path) as run, pytest.raises(IntegrityError, match="prompts alpha"):
        prompts_of(run)
    with pytest.raises(IntegrityError, match="prompts alpha"):
        RunReader.open(path)


@pytest.mark.fault("D14")
def test_a_changed_prompt_does_not_test_whether_the_endpoint_works(
    tmp_path: Path,
    three_blocks: Path,
) -> None:
    path = Path(shutil.copy(three_blocks, tmp_path))
    execute("update prompts set prompt = 'Changed.'")(path)
    with RunFile.open(path) as run, pytest.raises(IntegrityError, match="prompts alpha"):
        run.answered()


@pytest.mark.fault("D14")
def test_the_digests_are_those_of_the_documentation(six_attempts: Path) -> None:
    """They are computed as docs/run-file.md says, without the code of the package."""

    def digest(before: bytes, content: object) -> bytes:
        return hashlib.blake2b(before + encode(content).encode(), digest_size=16).digest()

    def encode(content: object) -> str:
        return json.dumps(
            content,
            separators=(",", ":"),
            ensure_ascii=False,
            default=lambda raw: {"hex": raw.hex()},
        )

    def digest_rows(statement: str) -> bytes:
        rows = connection.execute(statement)
        return hashlib.blake2b("".join(f"{encode(row)}," for row in rows).encode(), digest_size=16).digest()

    with closing(sqlite3.connect(six_attempts)) as connection:
        digests = dict(connection.execute("select part, digest from digests"))
        rows = connection.execute(
            "select * from attempts union all select * from earlier_failures order by place"
        ).fetchall()
        before = digests.pop("start")
        for place, (stored, actual, *values) in enumerate(rows, start=1):
            before = digest(before, values)
            assert (stored, actual) == (place, before)
        assert (digests.pop("attempts"), place) == (before, 6)
        assert digests == {
            "settings": digest_rows("select * from settings order by key"),
            "probes": digest_rows("select * from probes order by name"),
            "prompts alpha 0": digest_rows("select * from prompts where position < 1000 order by position"),
        }


@pytest.fixture
def failed(tmp_path: Path) -> Iterator[RunFile]:
    """A run of ten prompts that failed or got an empty answer, in turn."""
    with create(tmp_path / "run.db") as run:
        failures = [
            Reply(status=Status.HTTP_ERROR, detail="503"),
            Reply(status=Status.EMPTY, prompt_tokens=5),
        ]
        run.store(finish(each, failures[index % 2]) for index, each in enumerate(run.pending()))
        yield run


@pytest.mark.fault("D15")
@pytest.mark.parametrize("wrong", [Status.OK, Status.TRUNCATED, Status.PENDING])
def test_an_answer_is_never_asked_again(failed: RunFile, wrong: Status) -> None:
    with pytest.raises(AssertionError, match="never asked again"):
        failed.ask_again([Status.EMPTY, wrong])
    assert failed.counts()[Status.EMPTY] == 5


@pytest.mark.fault("D15")
def test_failures_that_are_asked_again_are_pending_and_the_others_stay(failed: RunFile) -> None:
    assert failed.ask_again([Status.HTTP_ERROR]) == 5
    assert failed.counts()[Status.PENDING] == failed.counts()[Status.EMPTY] == 5
    again = [pending.text for pending in failed.pending()]
    assert again == [f"Prompt {number} of alpha." for number in range(0, 10, 2)]


@pytest.mark.fault("D15")
def test_failures_that_were_asked_again_are_kept_and_what_was_paid_for_counts(
    failed: RunFile,
) -> None:
    assert failed.ask_again([Status.HTTP_ERROR]) == 5
    assert failed.store(map(finish, failed.pending())) == 5
    assert failed.ask_again(RETRIED) == 5
    assert failed.usage() == (25, 0), "what was paid for counts"
    assert failed.store(map(finish, failed.pending())) == 5
    assert failed.counts()[Status.OK] == sum(failed.counts().values()) == 10
    with closing(sqlite3.connect(failed.path)) as connection:
        kept = connection.execute("select place, status, detail from earlier_failures").fetchall()
    http_error = ("http_error", "503")
    empty = ("empty", None)
    assert kept == [(place, *(http_error if place % 2 else empty)) for place in range(1, 11)]
    RunReader.open(failed.path).close()
