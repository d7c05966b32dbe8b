"""Work in threads: results in order, errors that arrive, nothing that goes on when nobody wants it."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Iterable

import pytest

from equipoise.measuring import threads
from equipoise.measuring.threads import TURN, work_ahead, work_beside, work_in_threads


@pytest.fixture(params=[1, 2, 5])
def number(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(threads, "count_threads", lambda: request.param)
    return int(request.param)


@pytest.fixture
def two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "count_threads", lambda: 2)


def total(tasks: Iterable[int]) -> int:
    return sum(tasks)


@pytest.mark.usefixtures("number")
@pytest.mark.parametrize("ahead", [1, 3])
def test_results_come_in_the_order_of_the_tasks(ahead: int) -> None:
    squares = [task**2 for task in range(20)]
    assert work_in_threads(lambda task: task**2, range(20)) == squares
    assert work_in_threads(str, []) == []
    assert list(work_ahead(lambda task: task**2, range(20), ahead)) == squares
    assert list(work_ahead(str, [], ahead)) == []
    with work_beside(total, iter(range(20))) as working:
        assert working.result() == 190
        assert working.result() == 190
        assert working.done()


@pytest.mark.usefixtures("number")
def test_an_error_in_a_thread_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        work_in_threads(lambda task: 1 / task, [1, 0, 2])
    results = work_ahead(lambda task: 1 / task, [1, 0, 2])
    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)
    with pytest.raises(ZeroDivisionError), work_beside(lambda tasks: [1 // task for task in tasks], [1, 0]) as working:
        working.result()


@pytest.mark.parametrize("ahead", [1, 3])
def test_so_many_tasks_are_worked_on_ahead(ahead: int, number: int) -> None:
    begun: list[int] = []
    results = work_ahead(begun.append, itertools.count(), ahead)
    next(results)
    next(results)
    results.close()  # waits for what is under way
    assert sorted(begun) == [*range(2 + (ahead if number > 1 else 0))]


@pytest.mark.usefixtures("two_threads")
def test_work_beside_ends_when_the_caller_fails() -> None:
    is_working = threading.Event()
    taken = 0

    def take(tasks: Iterable[int]) -> None:
        nonlocal taken
        for _ in tasks:
            taken += 1
            is_working.set()

    def fail_meanwhile() -> None:
        with work_beside(take, range(10**8)):
            assert is_working.wait(60)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_meanwhile()
    assert 0 < taken < 10**8


@pytest.mark.usefixtures("two_threads")
def test_nothing_is_left_of_work_that_was_broken_off_while_its_error_is_kept() -> None:
    before = sys.getswitchinterval()
    is_working = threading.Event()

    def begin(task: int) -> int:
        is_working.set()
        return task

    def fail_meanwhile() -> None:
        with work_beside(total, work_ahead(begin, itertools.count())) as working:
            assert is_working.wait(60)
            assert not working.done()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as kept:  # and with it all that its traceback refers to
        fail_meanwhile()
    assert sys.getswitchinterval() == before
    assert kept.traceback


@pytest.mark.usefixtures("two_threads")
def test_turns_are_short_while_threads_work_and_then_as_before() -> None:
    before = sys.getswitchinterval()
    assert before > TURN
    with work_beside(total, [1]):
        outer = work_ahead(lambda _: sys.getswitchinterval(), range(5))
        assert next(outer) == pytest.approx(TURN)
        assert work_in_threads(lambda _: sys.getswitchinterval(), range(3)) == pytest.approx([TURN] * 3)
    assert sys.getswitchinterval() == pytest.approx(TURN)  # one of them is still at work
    outer.close()
    assert sys.getswitchinterval() == before
    with pytest.raises(ZeroDivisionError):
        work_in_threads(lambda task: 1 / task, [1, 0, 2])
    assert sys.getswitchinterval() == before
