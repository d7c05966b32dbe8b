"""`equipoise.toml`: several models with one command, rules for the gate, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from calling import Command
from equipoise.cli.config import read_config
from equipoise.errors import InputError
from equipoise.runs.run import Run
from serving.asking import always
from serving.faults import Fault
from serving.faulty import FaultyServer

DOCS = Path(__file__).parents[2] / "docs" / "config.md"
TWO = """
probes = ["jobs_lum"]
sample = 4
temperature = 0.5
[parameters]
repeat = 2
[[models]]
model = "vllm/first"
base_url = "{first}"
out = "first.equipoise"
[[models]]
model = "vllm/second"
base_url = "{second}"
out = "second.equipoise"
temperature = 1.0
max_tokens = 50
headers = {{ X-Team = "TEAM" }}
[gate]
fail_on = "D"
undecided = "pass"
"""


def write(content: str) -> Path:
    path = Path("equipoise.toml")
    path.write_text(content, encoding="utf-8")
    return path


def test_every_model_is_asked_into_a_file_of_its_own(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM", "canary-0123456789")
    with FaultyServer(always("She.")) as first, FaultyServer(always("He.")) as second:
        path = write(TWO.format(first=first.url, second=second.url))
        outcome = command("run", "--config", path)
        assert outcome.code == 0, outcome.err
        assert (first.total, second.total) == (8, 8)
        assert {request.body["temperature"] for request in first.received} == {0.5}
        assert {(request.body["temperature"], request.body["max_tokens"]) for request in second.received} == {(1.0, 50)}
        assert second.received[-1].headers["X-Team"] == "canary-0123456789"
        assert "vllm/first -> first.equipoise" in outcome.err
        assert "vllm/second -> second.equipoise" in outcome.err
        assert "8/8 answered" in outcome.err
        again = command("run", "--config", path)
        assert (again.code, first.total, second.total) == (0, 8, 8)
    assert (Run.open("first.equipoise").model, Run.open("second.equipoise").model) == ("vllm/first", "vllm/second")
    assert b"canary" not in Path("second.equipoise").read_bytes()


def test_what_is_typed_counts_more(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM", "blue")
    with FaultyServer() as first, FaultyServer() as second:
        path = write(TWO.format(first=first.url, second=second.url))
        typed = ("--config", path, "--sample", "2", "--temperature", "0", "--out", "one.equipoise")
        assert command("run", "vllm/second", *typed).code == 0
        assert (first.total, second.total) == (0, 4)
        assert second.received[-1].body["temperature"] == 0
        refused = command("run", *typed)
        assert refused.code == 2
        assert "--out is for one model" in refused.err


def test_a_model_that_fails_does_not_stop_the_others(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM", "blue")
    with FaultyServer(always(Fault.UNAUTHORIZED_401)) as first, FaultyServer() as second:
        path = write(TWO.format(first=first.url, second=second.url))
        outcome = command("run", "--config", path)
        assert outcome.code == 4
        assert second.total == 8
    assert "vllm/first: A key is needed" in outcome.err
    assert outcome.err.count("A key is needed") == 1
    assert outcome.err.endswith("error: 1 of 2 models failed, as said above.\n")


def test_the_gate_reads_its_rules_from_the_file(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM", "blue")
    with FaultyServer() as first, FaultyServer() as second:
        path = write(TWO.format(first=first.url, second=second.url))
        assert command("run", "--config", path).code == 0
    assert command("gate", "first.equipoise").code == 2
    assert command("gate", "first.equipoise", "--config", path).code == 0
    assert command("gate", "first.equipoise", "--config", path, "--undecided", "fail").code == 7


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("sute = 'quick'", "Did you mean 'suite'"),
        ("[[models]]\nmodel = 'vllm/m'\nbaseurl = 'x'", "Did you mean 'models 1: base_url'"),
        ("[budget]\nmax_costs = 3", "Did you mean 'budget.max_cost'"),
        ("[gate]\nfail = 'C'", "Did you mean 'gate.fail_on'"),
        ("max_tokens = 'many'", "'max_tokens' must be a whole number. Got 'many' instead."),
        ("max_tokens = true", "'max_tokens' must be a whole number"),
        ("sample = 'some'", "'sample' must be a whole number or 'all'"),
        ("probes = [1]", "'probes' must be a list of texts"),
        ("budget = 3", "'budget' must be a table"),
        ("[[models]]\nout = 'x'", "models 1 has no name"),
        ("models = ['vllm/m']", "models are written as [[models]]"),
        (
            "[[models]]\nmodel='vllm/a'\nout='x'\n[[models]]\nmodel='vllm/b'\nout='x'",
            "two models have the same run file",
        ),
        ("[gate.max]\nrate = 'x'", "'gate.max.rate' must be a number"),
        ("[gate]\nundecided = 'pas'", "Did you mean 'pass'"),
        ("[gate]\nfail_on = 'E'", "equipoise.toml: A gate can fail on B, C or D: A is the best mark. Got 'E' instead."),
        ("[gate]\nuncertain = 'wurst'", "Did you mean 'worst'"),
        ("allow_missing = 2.0", "'allow_missing' must be a share from 0 to 1. Got 2.0 instead."),
        ("allow_missing = nan", "'allow_missing' must be a share from 0 to 1. Got nan instead."),
        ("max_tokens = 0\n[[models]]\nmodel = 'simulated/unbiased'", "'max_tokens' must be 1 or more. Got 0 instead."),
        ("suite = ", "is not TOML"),
        ("suite = 'quick'", "names no model"),
        ("[[models]]\nmodel='vllm/a'\nheaders={X='NOT_SET_HERE'}", "needs the name of an environment variable"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_sent(command: Command, content: str, message: str) -> None:
    outcome = command("run", "--config", write(content))
    assert outcome.code == 2
    assert message in outcome.err


@pytest.mark.parametrize(
    "content",
    [
        "[[models]]\nmodel = 'openai/m'\nkey = 'canary'",
        "[[models]]\nmodel = 'openai/m'\napi_key = 'canary'",
        "[[models]]\nmodel = 'openai/m'\nkey_variable = 'sk-canary0123456789abcdef'",
        "[[models]]\nmodel = 'openai/m'\nheaders = { X-Team = 'sk-canary0123456789abcdef' }",
        "[extra]\ntoken = 'canary'",
    ],
)
def test_secrets_are_refused_and_not_shown(command: Command, content: str) -> None:
    outcome = command("run", "--config", write(content))
    assert outcome.code == 2
    assert "looks like a secret" in outcome.err
    assert "environment variable" in outcome.err
    assert "canary" not in outcome.err


@pytest.mark.parametrize("name", ["none.toml", "."])
def test_a_file_that_is_not_there(command: Command, name: str) -> None:
    assert command("run", "--config", name).code == 2


def test_the_example_of_the_documentation_is_right(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path / "equipoise.toml"
    path.write_text(example, encoding="utf-8")
    with pytest.raises(InputError, match="X-Team"):
        read_config(path)
    monkeypatch.setenv("TEAM", "fairness")
    config = read_config(path)
    mini, ours = config.models
    assert mini == {
        "suite": "quick",
        "probe": ["jobs_lum", "hiring_an"],
        "max_tokens": 512,
        "model": "openai/gpt-4o-mini",
        "out": Path("mini.equipoise"),
        "price": "0.15,0.60",
        "max_cost": 5.0,
        "max_requests": 10_000,
        "settings": ["repeat=2", "hiring_an.sample=20"],
    }
    assert (ours["max_cost"], ours["max_requests"], ours["header"]) == (1.0, 10_000, ["X-Team=fairness"])
    assert config.gate == {"fail_on": "C", "max_": ["jobs_lum.stereotype_rate=0.3"], "undecided": "fail"}
    assert config.report == Path("report.html")
