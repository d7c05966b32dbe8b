"""What is put into a run file comes out of it again, and the states add up to the plan."""

from __future__ import annotations

import dataclasses
import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from polars.testing import assert_frame_equal

import equipoise
from equipoise.errors import ProbeError, StorageError
from equipoise.models.protocol import Reply
from equipoise.runs.file import reader
from equipoise.runs.file.connection import translate_storage_errors
from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.store import RunFile
from equipoise.schema import ANSWER, ID, ITEM, PROMPT, REPETITION, STATUS, SYSTEM, Status, replace_surrogates
from runs.fakes import SETTINGS, attempts_of, create, finish, plan, prompts_of, seal


def file_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file())


def test_a_new_run_holds_settings_probes_and_every_prompt(tmp_path: Path) -> None:
    planned = plan("alpha", 10, repetitions=2)
    with create(tmp_path / "run.db", planned, plan("beta", 4)) as run:
        stored = run.record
        assert structs.replace(stored, created=SETTINGS.created) == SETTINGS
        assert stored.equipoise == equipoise.__version__
        assert stored.created.endswith("+00:00")
        alpha, beta = run.probes()
        assert (alpha.name, alpha.prompts, alpha.repetitions, beta.prompts) == ("alpha", 10, 2, 4)
        assert alpha.parameters == dict(planned.parameters)
        assert_frame_equal(prompts_of(run), planned.prompts())
        assert run.counts()[Status.PENDING] == sum(run.counts().values()) == 24


def test_prompts_of_a_real_plan_come_back_with_their_types(tmp_path: Path) -> None:
    planned = equipoise.plan("hiring_an", sample=100)
    with create(tmp_path / "run.db", planned) as run:
        assert_frame_equal(prompts_of(run, "hiring_an"), planned.prompts())


def test_a_probe_that_is_not_in_the_run_has_no_rows(tmp_path: Path) -> None:
    with create(tmp_path / "run.db") as run:
        assert prompts_of(run, "gamma").height == 0
        assert attempts_of(run, "gamma").height == 0


@pytest.mark.parametrize("repetitions", [1, 2])
def test_the_system_part_of_a_prompt_is_stored_and_asked(tmp_path: Path, repetitions: int) -> None:
    planned = plan(
        size=9,
        repetitions=repetitions,
        system=lambda place: None if place == 1 else f"\0 Be {place}.",
    )
    with create(tmp_path / "run.db", planned, plan("beta")) as run:
        alpha, beta = run.probes()
        assert alpha.covariates == {**beta.covariates, SYSTEM: "String"}
        assert_frame_equal(prompts_of(run), planned.prompts())
        assert SYSTEM not in prompts_of(run, "beta").columns
        assert_frame_equal(
            pl.concat(prompts for prompts, _ in run.attempts("alpha")),
            planned.prompts(),
        )
        systems = dict(planned.prompts().select(ID, SYSTEM).iter_rows())
        asked = list(run.pending())
        assert all(pending.system == systems.get(pending.prompt_id) for pending in asked)
        run.store(finish(pending) for pending in asked if pending.system is not None or pending.probe == "beta")
        assert [pending.text for pending in run.pending()] == ["Prompt 1 of alpha."] * repetitions


@pytest.mark.fault("D12")
def test_two_prompts_with_the_same_id_leave_no_file(tmp_path: Path) -> None:
    twins = plan(text="the same")
    probe = dataclasses.replace(twins.probe, prompts=lambda items, parameters: items.with_columns(item=pl.lit("one")))
    with pytest.raises(ProbeError, match="same id"):
        create(tmp_path / "run.db", dataclasses.replace(twins, probe=probe))
    assert file_names(tmp_path) == []


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    path.write_bytes(b"mine")
    with pytest.raises(StorageError, match=r"already exists.*equipoise resume"):
        create(path)
    assert (path.read_bytes(), file_names(tmp_path)) == (b"mine", ["run.db"])


def test_what_a_kill_left_while_planning_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    for name in ("run.db.unfinished", "run.db.unfinished-journal", "run.db.lock"):
        (tmp_path / name).write_bytes(b"half")
    create(path).close()
    assert file_names(tmp_path) == ["run.db"]


def test_a_closed_run_is_one_file_and_an_open_one_has_its_lock(tmp_path: Path) -> None:
    with create(tmp_path / "run.db") as run:
        run.store(map(finish, run.pending()))
        assert file_names(tmp_path) == ["run.db", "run.db.lock"]
    assert file_names(tmp_path) == ["run.db"]
    with RunReader.open(tmp_path / "run.db") as run:
        assert run.counts()[Status.OK] == 10
        assert file_names(tmp_path) == ["run.db"]


def test_an_attempt_comes_back_as_it_was_stored(tmp_path: Path) -> None:
    reply = Reply(
        status=Status.TRUNCATED,
        answer="Yes, bec",
        reasoning="Hm.",
        detail="cut",
        raw=b"\x00\xff",
        served_model="fake-2",
        finish_reason="length",
        fingerprint="fp",
        prompt_tokens=7,
        completion_tokens=3,
        latency=0.25,
    )
    with create(tmp_path / "run.db") as run:
        first = next(run.pending())
        assert run.store([finish(first, reply, tries=2)]) == 1
        frame = attempts_of(run)
        row = frame.row(0, named=True)
        assert row.pop("finished_at").endswith("+00:00")
        assert row == {
            ID: first.prompt_id,
            REPETITION: 1,
            "tries": 2,
            **{name: value for name, value in dataclasses.asdict(reply).items() if name != "raw"},
        }
        assert run.usage() == (7, 3)
    with closing(sqlite3.connect(tmp_path / "run.db")) as connection:
        assert connection.execute("select raw from attempts where place = 1").fetchall() == [(b"\x00\xff",)]


def test_impossible_numbers_of_tokens_are_left_out(tmp_path: Path) -> None:
    with create(tmp_path / "run.db") as run:
        for tokens in (-1, 2**70):
            reply = Reply(
                status=Status.OK,
                answer="a",
                prompt_tokens=tokens,
                completion_tokens=tokens,
            )
            run.store([finish(next(run.pending()), reply)])
        assert run.usage() == (0, 0)
        assert run.counts()[Status.OK] == 2


@settings(max_examples=20)
@given(
    st.lists(st.text(st.characters(exclude_categories=()), max_size=20), min_size=1, max_size=10),
)
def test_any_text_is_stored_exactly_but_for_halves_of_characters(
    tmp_path_factory: pytest.TempPathFactory, answers: list[str]
) -> None:
    with create(tmp_path_factory.mktemp("run") / "run.db") as run:
        asked = zip(run.pending(), answers, strict=False)
        run.store(
            finish(
                pending,
                Reply(status=Status.OK, answer=answer),
            )
            for pending, answer in asked
        )
        stored = attempts_of(run)[ANSWER].to_list()
    assert stored == [replace_surrogates(answer) for answer in answers]


@pytest.mark.fault("D7")
def test_a_prompt_with_a_nul_is_asked_unchanged(tmp_path: Path) -> None:
    with create(tmp_path / "run.db", plan(text="{}\0{}")) as run:
        assert next(run.pending()).text == "0\0alpha"
        assert prompts_of(run)[PROMPT][0] == "0\0alpha"


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("a lone \ud83d surrogate and \udc00 another", id="surrogate", marks=pytest.mark.fault("D6")),
        pytest.param("a split pair \ud83d" + "\ude00", id="split pair", marks=pytest.mark.fault("D6")),
        pytest.param("a NUL \0 within\0", id="NUL", marks=pytest.mark.fault("D7")),
        pytest.param("\u202eright to left\u200b", id="right to left", marks=pytest.mark.fault("D9")),
        pytest.param("x" * 10_000_000, id="10 MB", marks=pytest.mark.fault("D8")),
    ],
)
def test_unusual_answers_are_stored_exactly(tmp_path: Path, answer: str) -> None:
    with create(tmp_path / "run.db") as run:
        short = answer[:99]
        reply = Reply(
            status=Status.OK,
            answer=answer,
            reasoning=short,
            detail=short,
            finish_reason=short,
        )
        run.store([finish(next(run.pending()), reply)])
    with closing(sqlite3.connect(tmp_path / "run.db")) as connection:
        rows = connection.execute(
            "select answer, reasoning, detail, finish_reason from attempts",
        ).fetchall()
    assert rows == [(replace_surrogates(answer), *[replace_surrogates(short)] * 3)]
    with RunReader.open(tmp_path / "run.db") as run:
        assert attempts_of(run)[ANSWER].to_list() == [replace_surrogates(answer)]


@settings(max_examples=20)
@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 3)), min_size=1, max_size=3),
    st.lists(st.sampled_from([status for status in Status if status != Status.PENDING]), max_size=30),
)
def test_the_states_add_up_to_the_plan(
    tmp_path_factory: pytest.TempPathFactory, shapes: list[tuple[int, int]], ends: list[Status]
) -> None:
    plans = [plan(f"p{i}", size, repetitions=times) for i, (size, times) in enumerate(shapes)]
    planned = sum(size * times for size, times in shapes)
    with create(tmp_path_factory.mktemp("run") / "run.db", *plans) as run:
        pairs = list(zip(run.pending(), ends, strict=False))
        run.store(finish(pending, Reply(status=status)) for pending, status in pairs)
        counts, states = run.counts(), run.states()
        assert sum(counts.values()) == planned
        assert counts[Status.PENDING] == planned - len(pairs) == len(list(run.pending()))
        for (size, times), of_probe in zip(shapes, states.values(), strict=True):
            assert sum(of_probe.values()) == size * times
        assert {status: n for status, n in counts.items() if n and status != Status.PENDING} == {
            status: sum(end == status for _, end in pairs) for status in {end for _, end in pairs}
        }


def test_any_beginning_of_the_pending_attempts_is_a_fair_sample(tmp_path: Path) -> None:
    with create(tmp_path / "run.db", plan("large", 900), plan("small", 90, repetitions=2)) as run:
        order = list(run.pending())
        assert len({(each.probe, each.prompt_id, each.repetition) for each in order}) == 900 + 180
        assert [each.repetition for each in order] == sorted(each.repetition for each in order)
        for n in range(11, 990, 11):
            assert abs(sum(each.probe == "small" for each in order[:n]) - n / 11) <= 1
        for probe in ("large", "small"):
            prompts = [each.prompt_id for each in order if each.probe == probe and each.repetition == 1]
            assert prompts == prompts_of(run, probe)[ID].to_list(), "each probe in the order of its plan"


@pytest.mark.parametrize(
    "left",
    [slice(None, None, 3), slice(0, None, 2), slice(3, 4), slice(300, None), slice(0, 0)],
)
def test_resuming_asks_only_for_the_rest(tmp_path: Path, left: slice) -> None:
    with create(tmp_path / "run.db", plan(size=600)) as run:
        everything = list(run.pending())
        run.store(finish(each) for each in everything if each not in everything[left])
    with RunFile.open(tmp_path / "run.db") as run:
        rest = list(run.pending())
        assert rest == everything[left]
        run.store(map(finish, rest))
        assert list(run.pending()) == []
        frames = attempts_of(run)
        assert frames[ID].to_list() == prompts_of(run)[ID].to_list(), "in the order of the plan, not of arrival"
        texts = prompts_of(run)[PROMPT].to_list()
        assert frames[ANSWER].to_list() == [seal(text) for text in texts]
        assert set(frames[STATUS]) == {"ok"}


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        *[pytest.param(rows, 10**6, id=f"{rows} rows") for rows in (1, 2, 3, 7, 8)],
        *[pytest.param(100, text, id=f"{text} bytes") for text in (0, 30, 100, 300)],
    ],
)
def test_answers_come_with_their_prompts_in_whole_items_of_bounded_size(
    tmp_path: Path, rows: int, text: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "BATCH", rows)
    monkeypatch.setattr(reader, "BATCH_BYTES", text)
    with create(tmp_path / "run.db", plan("alpha", 9, repetitions=2), plan("beta", 4)) as run:
        run.store(finish(each) for each in run.pending() if each.text != "Prompt 4 of alpha.")
        parts = list(run.attempts("alpha"))
        prompts, attempts = (pl.concat(column) for column in zip(*parts, strict=True))
        assert_frame_equal(prompts, prompts_of(run))
        assert_frame_equal(attempts.select(prompts.columns), prompts.join(attempts.select(ID), on=ID))
        assert attempts[ANSWER].to_list() == [seal(text) for text in attempts[PROMPT]]
        assert attempts.height == 16
        items = [item for asked, _ in parts for item in asked[ITEM].unique()]
        assert len(items) == len(set(items)) == 5
        assert len(parts) > 1
        for asked, answered in parts:
            assert answered[ID].is_in(asked[ID].implode()).all()


def test_answers_to_some_prompts_come_with_these_prompts(tmp_path: Path) -> None:
    with create(tmp_path / "run.db", plan("alpha", 9, repetitions=2)) as run:
        run.store(map(finish, run.pending()))
        ids = prompts_of(run)[ID].to_list()
        parts = list(run.attempts("alpha", among=[ids[5], ids[2], "unknown"]))
    prompts, attempts = (pl.concat(column) for column in zip(*parts, strict=True))
    assert prompts[ID].to_list() == [ids[2], ids[5]]
    assert attempts[ID].to_list() == [ids[2]] * 2 + [ids[5]] * 2


def test_prompts_without_answers_are_returned_too(tmp_path: Path) -> None:
    with create(tmp_path / "run.db", plan(size=3)) as run:
        ((prompts, attempts),) = run.attempts("alpha")
        assert (prompts.height, attempts.height) == (3, 0)


@pytest.mark.parametrize("size", [0, 1, 127, 128, 129, 400])
def test_storing_returns_how_many_attempts_are_new(tmp_path: Path, size: int) -> None:
    with create(tmp_path / "run.db", plan(size=400)) as run:
        attempts = [finish(each) for each in run.pending()]
        assert run.store(attempts[: size // 2]) == size // 2
        assert run.store(attempts[size // 2 : size]) == size - size // 2
        assert run.counts()[Status.OK] == size
        texts = dict(prompts_of(run).select(ID, PROMPT).iter_rows())
        stored = attempts_of(run).select(ID, ANSWER).rows()
    assert stored == [(prompt, seal(texts[prompt])) for prompt, _ in stored]


def test_an_attempt_is_stored_once_and_attempts_all_or_none(tmp_path: Path) -> None:
    with create(tmp_path / "run.db", plan(size=20)) as run:
        attempts = [finish(each) for each in run.pending()]
        assert (run.store([]), run.store(attempts[:7])) == (0, 7)
        with pytest.raises(sqlite3.IntegrityError):
            run.store([*attempts[7:], attempts[-1]])
        assert run.counts()[Status.OK] == 7
        with pytest.raises(sqlite3.IntegrityError):
            run.store([dataclasses.replace(attempts[0], reply=Reply(status=Status.TIMEOUT))])
        assert run.counts()[Status.OK] == 7, "a stored attempt is not replaced"


def test_each_note_is_stored_once(tmp_path: Path) -> None:
    with create(tmp_path / "run.db") as run:
        run.add_notes(["a", "b\ud800"])
        run.add_notes(["a", "c"])
        assert run.record.notes == ["a", "b\ufffd", "c"]


def test_a_reader_cannot_write_and_sees_what_its_owner_commits(tmp_path: Path) -> None:
    with create(tmp_path / "run.db") as run, RunReader.open(tmp_path / "run.db") as reader:
        run.store([finish(next(run.pending()))])
        assert reader.counts()[Status.OK] == 1
        with pytest.raises(StorageError, match="readonly database"), translate_storage_errors(reader.path):
            reader._connection.execute("delete from attempts")
    assert file_names(tmp_path) == ["run.db"]
    with RunFile.open(tmp_path / "run.db") as run:
        assert run.counts()[Status.OK] == 1
    assert file_names(tmp_path) == ["run.db"]


def test_an_error_of_the_file_system_names_the_run_file_and_the_reason(tmp_path: Path) -> None:
    with pytest.raises(StorageError) as caught, translate_storage_errors(tmp_path / "run.db"):
        (tmp_path / ("x" * 300)).touch()
    assert str(caught.value) == f"{tmp_path / 'run.db'}: File name too long."
    assert caught.value.exit_code == 5
