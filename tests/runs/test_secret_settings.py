"""Secrets in the settings of a run: stored nowhere, and never sent as `[redacted]` (docs/faults.md, S18 and S19)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from equipoise.errors import BudgetReached, InputError
from equipoise.runs.session import resume
from equipoise.runs.spec import Access
from equipoise.runs.start import start
from serving.faulty import FaultyServer

KEY = "sk-canary-0123456789abcdefgh"
NAME = "custom/m"


def start_run(path: Path, **given: Any) -> None:
    start(NAME, probes="hiring_an", suite="quick", out=path, **given).ask()


@pytest.mark.fault("S18")
@pytest.mark.parametrize("secret", [{"extra": {"a": {"api_key": KEY}}}, {"system": f"Never say {KEY}."}])
def test_a_secret_must_be_given_again(tmp_path: Path, secret: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.equipoise"
    monkeypatch.setenv("CANARY", KEY)
    with FaultyServer() as server:
        given = {"base_url": server.url, "key_variable": "CANARY", **secret}
        with pytest.raises(BudgetReached):
            start_run(path, max_requests=3, **given)
        assert KEY.encode() not in path.read_bytes()
        with pytest.raises(InputError, match="keep no secrets"):
            resume(path, base_url=server.url, key_variable="CANARY")
        assert server.total == 3
        start_run(path, **given)
        assert "[redacted]" not in str([request.body for request in server.received])


@pytest.mark.fault("S19")
def test_a_base_url_with_a_secret_must_be_given_again(tmp_path: Path) -> None:
    path = tmp_path / "run.equipoise"
    with FaultyServer() as server:
        url = server.url.replace("/v1", f"/{KEY}/v1")
        with pytest.raises(InputError, match="--allow-secret-url"):
            start_run(path, base_url=url)
        with pytest.raises(BudgetReached):
            start_run(path, max_requests=3, base_url=url, allow_secret_url=True)
        assert KEY.encode() not in path.read_bytes()
        with pytest.raises(InputError, match="does not keep"):
            resume(path)
        assert resume(path, base_url=url, allow_secret_url=True).ask().complete
        assert {request.path for request in server.received} == {f"/{KEY}/v1/chat/completions"}


def test_the_address_of_a_judge_may_hold_a_secret_that_no_file_keeps(tmp_path: Path) -> None:
    path, address = tmp_path / "run.equipoise", f"http://127.0.0.1:9/{KEY}/v1"
    given: dict[str, Any] = {"judge": "custom/j", "judge_base_url": address, "allow_secret_url": True}
    start(lambda prompt: prompt, probes="jobs_lum", sample=4, out=path, **given).close()
    assert KEY.encode() not in path.read_bytes()


@pytest.mark.fault("S4")
def test_what_opens_the_way_to_a_model_shows_no_secret_when_it_is_printed() -> None:
    access = Access(key_command=f"echo {KEY}", headers={"X-Key": KEY})
    assert KEY not in repr(access)
    assert KEY not in f"{access}"
