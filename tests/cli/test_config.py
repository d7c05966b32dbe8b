"""`equipoise.toml`: several models with one command, rules for the gate, and what is refused."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import jsonschema  # type: ignore[import-untyped, unused-ignore]
import pytest

from calling import Command
from equipoise.cli.config import config_schema, read_config, read_models
from equipoise.measuring.gate import Rules
from equipoise.runs.reaching import APPROVED
from equipoise.runs.run import Run
from equipoise.settings import Settings
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


@pytest.fixture(autouse=True)
def team(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEAM", "canary-0123456789")


@pytest.fixture
def servers() -> Iterator[tuple[FaultyServer, FaultyServer]]:
    """The endpoints of the two models of `TWO`."""
    with FaultyServer(always("She.")) as first, FaultyServer(always("He.")) as second:
        yield first, second


def test_every_model_is_asked_into_a_file_of_its_own(
    command: Command,
    servers: tuple[FaultyServer, FaultyServer],
) -> None:
    first, second = servers
    path = write(TWO.format(first=first.url, second=second.url))
    outcome = command("run", "--config", path, "--trust-config")
    assert outcome.code == 0, outcome.err
    assert (first.total, second.total) == (8, 8)
    assert "vllm/first -> first.equipoise" in outcome.err
    assert "vllm/second -> second.equipoise" in outcome.err
    assert "8/8 answered" in outcome.err
    assert Run.open("first.equipoise").model == "vllm/first"
    assert Run.open("second.equipoise").model == "vllm/second"


def test_the_same_command_again_asks_nothing(
    command: Command,
    servers: tuple[FaultyServer, FaultyServer],
) -> None:
    first, second = servers
    path = write(TWO.format(first=first.url, second=second.url))
    for _ in range(2):
        assert command("run", "--config", path, "--trust-config").code == 0
    assert (first.total, second.total) == (8, 8)


def test_two_models_are_not_asked_into_one_file(
    command: Command,
    servers: tuple[FaultyServer, FaultyServer],
) -> None:
    first, second = servers
    content = TWO.format(first=first.url, second=second.url)
    path = write(content.replace("second.equipoise", "first.equipoise"))
    outcome = command("run", "--config", path, "--trust-config")
    assert outcome.code == 6
    assert "answers to different questions are not mixed" in outcome.err
    assert (first.total, second.total) == (8, 0)
    assert Run.open("first.equipoise").model == "vllm/first"
    assert Run.open("first.equipoise").complete


def test_settings_of_one_model_replace_those_of_all(
    command: Command,
    servers: tuple[FaultyServer, FaultyServer],
) -> None:
    first, second = servers
    path = write(TWO.format(first=first.url, second=second.url))
    assert command("run", "--config", path, "--trust-config").code == 0
    assert {request.body["temperature"] for request in first.received} == {0.5}
    assert {request.body["temperature"] for request in second.received} == {1.0}
    assert {request.body["max_tokens"] for request in second.received} == {50}


@pytest.mark.fault("S25")
def test_a_header_from_a_variable_is_sent_and_not_stored(
    command: Command,
    servers: tuple[FaultyServer, FaultyServer],
) -> None:
    first, second = servers
    path = write(TWO.format(first=first.url, second=second.url))
    assert command("run", "--config", path, "--trust-config").code == 0
    assert second.received[-1].headers["X-Team"] == "canary-0123456789"
    assert "X-Team" not in first.received[-1].headers
    assert b"canary" not in Path("second.equipoise").read_bytes()


def test_the_gate_reads_its_rules_from_the_file(
    command: Command,
    servers: tuple[FaultyServer, FaultyServer],
) -> None:
    first, second = servers
    path = write(TWO.format(first=first.url, second=second.url))
    assert command("run", "--config", path, "--trust-config").code == 0
    assert command("gate", "first.equipoise").code == 2
    assert command("gate", "first.equipoise", "--config", path).code == 0
    strict = command("gate", "first.equipoise", "--config", path, "--undecided", "fail")
    assert strict.code == 7


def test_what_is_typed_counts_more(command: Command) -> None:
    with FaultyServer() as first, FaultyServer() as second:
        path = write(TWO.format(first=first.url, second=second.url))
        typed = (
            "--config",
            path,
            "--trust-config",
            "--sample",
            "2",
            "--temperature",
            "0",
            "--out",
            "one.equipoise",
        )
        assert command("run", "vllm/second", *typed).code == 0
        assert (first.total, second.total) == (0, 4)
        assert second.received[-1].body["temperature"] == 0
        refused = command("run", *typed)
        assert (refused.code, "--out is for one model" in refused.err) == (2, True)


def test_a_model_that_fails_does_not_stop_the_others(command: Command) -> None:
    with FaultyServer(always(Fault.UNAUTHORIZED_401)) as first, FaultyServer() as second:
        outcome = command(
            "run",
            "--config",
            write(TWO.format(first=first.url, second=second.url)),
            "--trust-config",
        )
        assert (outcome.code, second.total) == (4, 8)
    assert "vllm/first: A key is needed" in outcome.err
    assert "error: A key is needed" in outcome.err


MISTAKES = [
    ("sute = 'quick'", "No setting is called 'sute'. Did you mean 'suite'"),
    (
        "[[models]]\nmodel = 'vllm/m'\nbaseurl = 'x'",
        "'models[0]': Object contains unknown field `baseurl`",
    ),
    ("[budget]\nmax_cost = 3", "No setting is called 'budget'"),
    ("allow_insecure = true", "No setting is called 'allow_insecure'"),
    ("[gate]\nfail = 'C'", "'gate': Object contains unknown field `fail`"),
    ("max_tokens = 'many'", "'max_tokens' must be `int | null`. Got 'many' instead."),
    ("max_tokens = true", "'max_tokens' must be `int | null`"),
    ("max_tokens = 0\n[[models]]\nmodel = 'simulated/unbiased'", "'max_tokens' must be `int` >= 1"),
    ("sample = 'some'", "'sample' must be "),
    ("probes = [1]", "'probes[0]' must be `str`"),
    ("parameters = 3", "'parameters' must be `object`"),
    ("models = ['vllm/m']", "'models[0]' must be `object`"),
    ("[[models]]\nout = 'x'", "names no model"),
    ("suite = 'quick'", "names no model"),
    ("suite = ", "is not TOML"),
    (
        "[[models]]\nmodel='vllm/a'\nheaders={X='NOT_SET_HERE'}",
        "needs the name of an environment variable",
    ),
    ("[gate.max]\nrate = 'x'", "'gate.max[...]' must be `float`"),
    ("[gate]\nundecided = 'pas'", "called 'pas'. Did you mean 'pass'"),
    ("[gate]\nfail_on = 'E'", "A gate can fail on B, C or D"),
    ("allow_missing = 2.0", "'allow_missing' must be `float` <= 1.0. Got '2.0' instead."),
    ("allow_missing = nan", "'allow_missing' must be `float` >= 0.0. Got 'nan' instead."),
]


@pytest.mark.parametrize(("content", "message"), MISTAKES)
def test_what_is_wrong_is_said_before_anything_is_sent(
    command: Command,
    content: str,
    message: str,
) -> None:
    outcome = command("run", "--config", write(content))
    assert outcome.code == 2
    assert message in outcome.err
    assert not list(Path().glob("*.equipoise"))


@pytest.mark.fault("S27")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"[{'.'.join('a' * 3_000)}]\nb = 1", "No setting is called 'a'"),
        (
            f"[extra.{'.'.join('a' * 3_000)}]\nb = 1",
            "'extra' must be what JSON holds, not nested too deep",
        ),
        (f"x = {'[' * 3_000}{']' * 3_000}", "is not TOML"),
        (f"seed = {'9' * 4_000}", "'seed' must be what JSON holds"),
        (f"seed = {'9' * 5_000}", "is not TOML"),
        ("[extra]\nsince = 2026-11-17", "'extra' must be what JSON holds"),
        ("[parameters]\nsince = 2026-11-17T12:00:00Z", "'parameters' must be what JSON holds"),
        ("[[models]]\nmodel = 'vllm/m'\nout = \"a\\u0000b\"", "'out' holds a NUL"),
    ],
)
def test_odd_files_are_refused_with_a_sentence(
    command: Command,
    content: str,
    message: str,
) -> None:
    outcome = command("run", "--config", write(content))
    assert (outcome.code, message in outcome.err) == (2, True), outcome.err
    assert "Traceback" not in outcome.err
    assert len(outcome.err) < 2_000


@pytest.mark.parametrize("name", ["none.toml", "."])
def test_a_file_that_is_not_there_is_refused(command: Command, name: str) -> None:
    outcome = command("run", "--config", name)
    assert outcome.code == 2
    assert f"error: {name} cannot be read" in outcome.err


WRITING = "probes = ['jobs_lum']\nsample = 4\n[[models]]\nmodel = 'simulated/unbiased'\nout = '{}'"


@pytest.mark.fault("S26")
@pytest.mark.parametrize("target", ["../x.html", "/tmp/equipoise-elsewhere", "link/x.html", "."])
def test_what_a_file_names_to_be_written_stays_in_its_folder(command: Command, target: str) -> None:
    Path("link").symlink_to("/tmp")
    outcome = command("run", "--config", write(WRITING.format(target)))
    assert outcome.code == 2
    assert "is not in the folder of this file" in outcome.err


@pytest.mark.fault("S26")
def test_a_file_does_not_replace_what_is_no_run(command: Command) -> None:
    Path(".bashrc").write_text("alias ls=ls")
    outcome = command("run", "--config", write(WRITING.format(".bashrc")))
    assert outcome.code == 6
    assert ".bashrc" in outcome.err
    assert Path(".bashrc").read_text() == "alias ls=ls"


KEY = "canary-0123456789-abcdefgh"


@pytest.mark.fault("S25")
@pytest.mark.parametrize(
    "planted",
    [
        "model = 'openai/m'\nbase_url = '{url}'",
        "model = 'custom/m'\nbase_url = '{url}'\nkey_variable = 'OPENAI_API_KEY'",
        "model = 'openai/m'\nkey_variable = 'AWS_SECRET_ACCESS_KEY'",
        "model = 'custom/m'\nbase_url = '{url}'\nheaders = {{ X-Api-Key = 'AWS_SECRET_ACCESS_KEY' }}",
        "model = 'openai/m'\nheaders = {{ X-Api-Key = 'AWS_SECRET_ACCESS_KEY' }}",
        "model = 'simulated/unbiased'\njudge = 'openai/m'\njudge_base_url = '{url}'",
        "model = 'simulated/unbiased'\njudge = 'openai/m'\njudge_key_variable = 'AWS_SECRET_ACCESS_KEY'",
    ],
)
def test_a_file_does_not_decide_where_a_key_is_sent(
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    planted: str,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
    with FaultyServer() as server:
        content = f"probes = ['hiring_an']\nsample = 4\n[[models]]\n{planted.format(url=server.url)}"
        outcome = command("run", "--config", write(content))
        assert outcome.code == 2, outcome.err
        assert "A file cannot decide that" in outcome.err
        assert not server.received
    assert not list(Path().glob("*.equipoise"))
    assert not (Settings.load().config / APPROVED).exists()


@pytest.mark.fault("S25")
def test_a_person_decides_where_a_key_is_sent(
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with FaultyServer() as server:
        content = "probes = ['jobs_lum']\nsample = 2\n[[models]]\nmodel = 'openai/m'\nout = '{}'\nbase_url = '{}'"
        path = write(content.format("a.equipoise", server.url))
        refused = command("run", "--config", path)
        _, typed = refused.err.split("If you trust it: equipoise ")
        assert command(*shlex.split(typed)).code == 0
        assert server.total == 2
        # What a person has said holds on this machine from then on.
        assert command("run", "--config", write(content.format("b.equipoise", server.url))).code == 0
    with FaultyServer() as other:
        path = write(content.format("c.equipoise", other.url))
        assert command("run", "--config", path).code == 2
        assert command("run", "--config", path, "--trust-config").code == 0


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


@pytest.fixture
def example() -> str:
    """The file that the documentation shows."""
    (shown,) = re.findall(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    return str(shown)


def test_the_example_of_the_documentation_is_read_as_it_says(example: str, tmp_path: Path) -> None:
    path = tmp_path / "equipoise.toml"
    path.write_text(example, encoding="utf-8")
    mini, ours = read_models(path, None)
    assert mini.fields["model"] == "openai/gpt-4o-mini"
    assert mini.fields["suite"] == "quick"
    assert mini.fields["price"] == "0.15,0.60"
    assert mini.fields["max_tokens"] == 512
    assert mini.fields["probes"] == ("jobs_lum", "hiring_an")
    assert mini.fields["parameters"] == {"repeat": 2, "hiring_an.sample": 20}
    assert (mini.fields["max_cost"], mini.fields["max_requests"]) == (5.0, 10_000)
    assert mini.out == tmp_path / "mini.equipoise"
    assert (ours.fields["max_cost"], ours.fields["max_requests"]) == (1.0, 10_000)
    assert ours.headers == {"X-Team": "TEAM"}
    limits = {"jobs_lum.stereotype_rate": 0.3}
    assert read_config(path).gate == Rules(fail_on="C", max=limits, undecided="fail")


def test_the_example_of_the_documentation_fits_the_schema(example: str) -> None:
    validator = jsonschema.Draft202012Validator(config_schema())
    assert list(validator.iter_errors(tomllib.loads(example))) == []


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("mistake", ['sute = "quick"', "top_p = 2", "temprature = 1"])
def test_the_schema_refuses_mistakes(example: str, mistake: str, place: str) -> None:
    changed = f"{mistake}\n{example}"
    if place == "after":
        changed = f'{example}\n[[models]]\nmodel = "ollama/m"\n{mistake}'
    validator = jsonschema.Draft202012Validator(config_schema())
    assert not validator.is_valid(tomllib.loads(changed))


def test_names_and_prompts_that_hold_sk_are_no_secrets(command: Command) -> None:
    """The word "risk-assessment" holds "sk-", and is no key of any service."""
    content = "[[models]]\nmodel = 'simulated/unbiased'\nout = 'risk-assessment-2026.equipoise'\n"
    content += "probes = ['jobs_lum']\n"
    outcome = command("run", "--config", write(content))
    assert outcome.code == 0, outcome
    assert Path("risk-assessment-2026.equipoise").exists()
