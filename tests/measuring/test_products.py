"""Products in pieces, and work in threads."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.measuring import products
from equipoise.measuring.products import multiply, work_ahead, work_in_threads


@pytest.mark.parametrize(
    ("rows", "cells", "width"), [(1, 1, 1), (3, 255, 2), (70, 256, 17), (9, 1000, 40), (5, 600, 2000)]
)
def test_a_product_in_pieces_is_the_product(rows: int, cells: int, width: int) -> None:
    rng = np.random.default_rng(0)
    weights, columns = rng.random((rows, cells)), rng.random((cells, width))
    assert multiply(weights, columns) == pytest.approx(weights @ columns, rel=1e-12)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_tasks(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "count_threads", lambda: threads)
    assert work_in_threads(lambda task: task**2, range(20)) == [task**2 for task in range(20)]
    assert work_in_threads(str, []) == []
    assert list(work_ahead(lambda task: task**2, range(20))) == [task**2 for task in range(20)]
    assert list(work_ahead(str, [])) == []


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_in_a_thread_reaches_the_caller(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "count_threads", lambda: threads)
    with pytest.raises(ZeroDivisionError):
        work_in_threads(lambda task: 1 / task, [1, 0, 2])
    results = work_ahead(lambda task: 1 / task, [1, 0, 2])
    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)


@pytest.mark.parametrize(("threads", "ahead"), [(1, 0), (2, 1)])
def test_one_task_is_worked_on_ahead(threads: int, ahead: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "count_threads", lambda: threads)
    begun: list[int] = []
    results = work_ahead(begun.append, range(5))
    next(results)
    next(results)
    results.close()  # waits for what is under way
    assert begun == [*range(2 + ahead)]
