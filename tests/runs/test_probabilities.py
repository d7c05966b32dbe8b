"""Runs with `probabilities`: asked, stored, resumed after a kill, measured, and never mixed with drawn answers."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equipoise
from answering import Recorder
from equipoise import Probe
from equipoise.errors import BudgetReached, InputError, IntegrityError
from equipoise.measuring.compare import compare_audits
from equipoise.measuring.gate import Outcome, Rules, check_rules
from equipoise.models.protocol import FirstToken, Reply
from equipoise.probes import find_probes, get_probe
from equipoise.report.text import describe_mark, describe_undecided
from equipoise.runs.file.store import RunFile
from equipoise.runs.file.values import asking_of
from equipoise.runs.run import Run
from equipoise.runs.start import start
from equipoise.runs.suites import packaged_corpus
from equipoise.schema import PROBABILITIES, Status
from plain import to_plain
from runs.fakes import SETTINGS, Fake, execute, plan

PROBE = "discrimination_tamkin"
OF_MEN = re.compile(r"\b(?:man|he|him|his)\b", re.IGNORECASE)
SIZE: dict[str, Any] = {"corpus": "scenarios", "sample": 8}


def tokens(yes: float, no: float) -> FirstToken:
    return [{"token": "Yes", "p": yes}, {"token": "no", "p": no}, {"token": "The", "p": 1 - yes - no}]


def deciding(prompt: str, nth: int = 1) -> Reply:
    """A model that gives men a little more."""
    yes = 0.5 if OF_MEN.search(prompt) else 0.4
    return Reply(status=Status.OK, answer="Yes", first_token=tokens(yes, 0.8 - yes), prompt_tokens=100)


def ask(path: Path, model: Fake, **options: Any) -> Run:
    return start(model, probes=[PROBE], out=path, **SIZE, probabilities=True, **options).ask()


def test_the_run_says_how_each_probe_was_asked(tmp_path: Path) -> None:
    model = Fake(deciding)
    chosen = [PROBE, "hiring_an"]
    parameters = {f"{PROBE}.{name}": value for name, value in SIZE.items()} | {"hiring_an.sample": 2}
    run = start(model, probes=chosen, out=tmp_path / "run", **parameters, probabilities=True).ask()
    asked = {name: (each.asking.max_tokens, each.asking.probabilities) for name, each in run.planned.items()}
    assert asked == {PROBE: (1, True), "hiring_an": (256, False)}
    assert run.results()[PROBE].reading == PROBABILITIES
    assert run.results()["hiring_an"].reading == "careful"
    assert Run.open(run.path, reading="specified").results()[PROBE].reading == PROBABILITIES
    assert run.transcripts(PROBE)["first_token"].null_count() == 0
    assert to_plain(Run.open(run.path).results()[PROBE].metrics) == to_plain(run.results()[PROBE].metrics)


def test_the_metrics_are_means_of_shares(tmp_path: Path) -> None:
    result = ask(tmp_path / "run", Fake(deciding)).results()[PROBE]
    metrics = {name: estimate.value for name, estimate in result.metrics.items()}
    assert metrics["male_success_rate"] == pytest.approx(0.5 / 0.8, abs=1e-6)
    assert metrics["female_success_rate"] == pytest.approx(0.4 / 0.8, abs=1e-6)
    assert metrics["diff_mvf_success_rate"] == pytest.approx(0.125, abs=1e-6)
    assert metrics["max_diff"] == pytest.approx(0.125, abs=1e-6)
    assert metrics["undetected_rate_attempts"] == 0.0
    for name in ("neither_mass", "neither_mass_female", "neither_mass_male", "neither_mass_non_binary"):
        assert metrics[name] == pytest.approx(0.2, abs=1e-6)
    assert set(result.to_frame()["reading"]) == {PROBABILITIES}


def test_a_share_is_no_selection(tmp_path: Path) -> None:
    assert ask(tmp_path / "run", Fake(deciding)).results()[PROBE].selection == ()


def test_what_is_below_the_floor_is_undecided_and_bounded(tmp_path: Path) -> None:
    def respond(prompt: str, nth: int) -> Reply:
        return (
            Reply(status=Status.OK, answer="", first_token=tokens(0.01, 0.01))
            if OF_MEN.search(prompt)
            else deciding(prompt)
        )

    result = ask(tmp_path / "run", Fake(respond)).results()[PROBE]
    assert result.coverage["male"]["undetected"] == SIZE["sample"]
    assert np.isnan(result.metrics["diff_mvf_success_rate"].value)
    assert result.metrics["neither_mass_male"].value == pytest.approx(0.98, abs=1e-6)


def test_a_run_that_stopped_goes_on_and_gives_what_it_would_have_given(tmp_path: Path) -> None:
    whole = ask(tmp_path / "whole", Fake(deciding))
    with pytest.raises(BudgetReached):
        ask(tmp_path / "run", Fake(deciding), concurrency=2, max_requests=7)
    model = Fake(deciding)
    run = equipoise.resume(tmp_path / "run", model=model).ask()
    assert model.requests == whole.counts.planned - 7
    columns = ["id", "repetition", "first_token"]
    asked = run.attempts().select(columns).sort("id", "repetition")
    assert asked.equals(whole.attempts().select(columns).sort("id", "repetition"))
    assert to_plain(run.results()[PROBE].metrics) == to_plain(whole.results()[PROBE].metrics)


def test_a_run_is_not_resumed_with_drawn_answers(tmp_path: Path) -> None:
    ask(tmp_path / "run", Fake(deciding))
    with pytest.raises(IntegrityError, match=r"discrimination_tamkin.opening: was \"\", is null"):
        start(Fake(deciding), probes=[PROBE], out=tmp_path / "run", **SIZE)


def test_probabilities_are_not_compared_with_answers(tmp_path: Path) -> None:
    by_probability = ask(tmp_path / "a", Fake(deciding)).results()
    drawn = start(
        Fake(lambda prompt, nth: Reply(status=Status.OK, answer="Yes.")),
        probes=[PROBE],
        out=tmp_path / "b",
        **SIZE,
    ).ask()
    for pair in ((by_probability, drawn.results()), (drawn.results(), by_probability)):
        assert "reading is '" in compare_audits(pair)[0].refused[PROBE]


def test_the_same_probabilities_do_not_differ(tmp_path: Path) -> None:
    first = ask(tmp_path / "a", Fake(deciding)).results()
    (again,) = compare_audits([first, ask(tmp_path / "b", Fake(deciding)).results()])
    assert again[PROBE].metrics["max_diff"].p == 1.0


def test_two_models_are_told_apart_by_their_shares(tmp_path: Path) -> None:
    size: dict[str, Any] = {"corpus": "scenarios", "sample": 120}
    first = start(Fake(deciding), probes=[PROBE], out=tmp_path / "a", **size, probabilities=True).ask()
    fair = ask_fair(tmp_path / "b", decided=0.8)
    (compared,) = compare_audits([first.results(), fair.results()])
    found = compared[PROBE].metrics["diff_mvf_success_rate"]
    assert found.difference.value == pytest.approx(-0.125, abs=1e-6)
    assert found.p < 1e-3


@pytest.mark.fault("L1")
def test_probes_that_no_word_decides_are_refused_before_anything_is_asked(tmp_path: Path) -> None:
    model = Fake(deciding)
    words = r"Not one of the probes salary_advice, hiring_an can .* discrimination_tamkin"
    with pytest.raises(InputError, match=words):
        start(
            model,
            probes=["salary_advice", "hiring_an"],
            out=tmp_path / "run",
            probabilities=True,
        )
    assert model.requests == 0
    assert not (tmp_path / "run").exists()


@pytest.mark.fault("L1")
def test_a_function_has_no_probabilities_and_is_not_asked(tmp_path: Path) -> None:
    model = Recorder()
    with pytest.raises(InputError, match="cannot be asked for the probabilities"):
        equipoise.audit(model, probes=PROBE, out=tmp_path / "run", probabilities=True, **SIZE)
    assert model.asked == []
    assert not (tmp_path / "run").exists()


def test_a_plan_keeps_its_reading_and_the_ids_of_its_prompts() -> None:
    drawn = equipoise.plan(PROBE, reading="careful", **SIZE)
    read = equipoise.plan(PROBE, reading=PROBABILITIES, **SIZE)
    assert drawn.prompts().equals(read.prompts())
    assert (drawn.probe.reading, read.probe.reading) == ("careful", PROBABILITIES)


def test_a_probe_that_no_word_decides_cannot_be_read_from_probabilities() -> None:
    with pytest.raises(InputError, match="cannot be read from probabilities"):
        get_probe("hiring_an").read_by(PROBABILITIES)


@pytest.mark.parametrize(
    ("probe", "wanted", "limit"),
    [
        pytest.param(get_probe("hiring_an"), None, 256, id="that of the probe"),
        pytest.param(get_probe("hiring_an"), 5, 5, id="the user's"),
        pytest.param(
            get_probe(PROBE).read_by(PROBABILITIES),
            5,
            1,
            id="one token for probabilities",
        ),
    ],
)
def test_the_limit_of_an_answer(probe: Probe, wanted: int | None, limit: int) -> None:
    assert asking_of(probe, wanted).max_tokens == limit


def test_each_prompt_is_asked_with_the_limit_of_its_probe(tmp_path: Path) -> None:
    model = Fake(deciding)
    parameters = {f"{PROBE}.{name}": value for name, value in SIZE.items()} | {"hiring_an.sample": 2}
    start(
        model,
        probes=[PROBE, "hiring_an"],
        out=tmp_path / "run",
        probabilities=True,
        **parameters,
    ).ask()
    limits = [(asking.max_tokens, asking.probabilities) for asking in model.askings.values()]
    assert Counter(limits) == {(1, True): 3 * SIZE["sample"], (256, False): 2}


@pytest.mark.fault("D14")
@pytest.mark.parametrize(
    ("statement", "words"),
    [
        pytest.param(
            "update attempts set first_token = replace(first_token, '0.5', '0.6') where place = "
            "(select min(place) from attempts where first_token like '%0.5%')",
            "attempt number",
            id="a probability",
        ),
        pytest.param(
            "update probes set plan = json_set(plan, '$.asking.max_tokens', 2)",
            "probes",
            id="the limit",
        ),
        pytest.param(
            "update probes set plan = json_set(plan, '$.asking.opening', 'Answer:')",
            "probes",
            id="the opening",
        ),
    ],
)
def test_what_is_changed_in_a_run_of_probabilities_is_noticed(
    tmp_path: Path,
    statement: str,
    words: str,
) -> None:
    ask(tmp_path / "run", Fake(deciding))
    execute(statement)(tmp_path / "run")
    with pytest.raises(IntegrityError, match=f"was changed after it was written: {words}"):
        Run.open(tmp_path / "run")


def test_a_choice_between_translations_is_read_from_its_letter(tmp_path: Path) -> None:
    letters: FirstToken = [{"token": "a", "p": 0.6}, {"token": "(b", "p": 0.3}, {"token": "c", "p": 0.1}]
    model = Fake(lambda prompt, nth: Reply(status=Status.OK, answer="a", first_token=letters))
    texts: dict[str, Any] = {"corpus": "sentences", "design": "choose"}
    run = start(model, probes=["gest_translation"], out=tmp_path / "run", **texts, probabilities=True).ask()
    metrics = run.results()["gest_translation"].metrics
    assert run.planned["gest_translation"].asking.opening == "("
    assert metrics["masculine_rate"].value == pytest.approx(0.5)
    assert metrics["neither_mass"].value == pytest.approx(0.1, abs=1e-6)


def test_written_translations_cannot_be_read_from_probabilities(tmp_path: Path) -> None:
    model = Fake(deciding)
    with pytest.raises(InputError, match="design=choose"):
        start(
            model,
            probes=["gest_translation"],
            out=tmp_path / "run",
            corpus="sentences",
            probabilities=True,
        )
    assert model.requests == 0
    assert not (tmp_path / "run").exists()


@pytest.mark.fault("L8")
def test_a_model_that_cannot_continue_answers_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    model = Fake(deciding)
    model.continues_answers = False
    with pytest.raises(InputError, match=r"begins a new answer .* jobs_lum, inventories need"):
        start(model, probes=["jobs_lum", PROBE, "inventories"], out=tmp_path / "run", probabilities=True)
    assert not (tmp_path / "run").exists()


def test_a_raised_limit_leaves_probabilities_at_one_token(tmp_path: Path) -> None:
    plans = [equipoise.plan(PROBE, reading=PROBABILITIES, **SIZE), plan("alpha")]
    with RunFile.create(tmp_path / "run", record=SETTINGS, plans=plans) as run:
        run.raise_limit(2048)
        assert {probe.name: probe.asking.max_tokens for probe in run.probes()} == {PROBE: 1, "alpha": 2048}
    RunFile.open(tmp_path / "run").close()  # the digests are right


@pytest.mark.parametrize("name", [name for name, probe in find_probes().items() if probe.opening is not None])
@pytest.mark.parametrize("last", [True, False], ids=["the last stance", "unbiased"])
def test_answers_that_are_certain_measure_the_same_by_probabilities(
    name: str,
    last: bool,
    tmp_path: Path,
) -> None:
    design = {"corpus": "sentences", "design": "choose"} if name == "gest_translation" else {}
    parameters: dict[str, Any] = {**packaged_corpus(get_probe(name)), **design, "sample": 32}
    stance = get_probe(name).stances()[-1] if last else "unbiased"
    model, metrics = f"simulated/{stance}", {metric.name for metric in get_probe(name).metrics}
    values = []
    for by_probability in (True, False):
        path = tmp_path / str(by_probability)
        run = start(model, probes=[name], out=path, probabilities=by_probability, **parameters).ask()
        values.append({metric: run.result(name).metrics[metric].value for metric in metrics})
    assert values[0] == pytest.approx(values[1], abs=1e-5, nan_ok=True)


def ask_fair(path: Path, decided: float) -> Run:
    """Ask a fair model that says yes or no with this probability, and else something else."""
    half = decided / 2
    fair = Fake(
        lambda prompt, nth: Reply(status=Status.OK, answer="", first_token=tokens(half, half)),
    )
    return start(
        fair,
        probes=[PROBE],
        out=path,
        corpus="scenarios",
        sample=120,
        probabilities=True,
    ).ask()


def outcomes_of_a_gate(run: Run) -> set[Outcome]:
    """What two rules about the marked metric say."""
    gate = check_rules(run.results(), Rules(fail_on="D", max={"max_diff": 0.29}))
    return {check.outcome for check in gate.checks if check.what.endswith("max_diff")}


def test_a_fair_model_gets_an_a_where_much_is_decided(tmp_path: Path) -> None:
    run = ask_fair(tmp_path / "run", 0.8)
    result = run.results()[PROBE]
    found = result.marks["max_diff"]
    assert found is not None
    assert (found.letter, found.mark, found.low_coverage) == ("A", "A", None)
    assert result.to_dict()["marks"]["max_diff"]["mark"] == "A"
    assert outcomes_of_a_gate(run) == {Outcome.PASSED}


def test_there_is_no_a_where_little_is_decided(tmp_path: Path) -> None:
    run = ask_fair(tmp_path / "run", 0.3)
    result = run.results()[PROBE]
    found = result.marks["max_diff"]
    assert found is not None
    assert (found.letter, found.mark) == ("?", None)
    assert found.low_coverage == pytest.approx(0.3, abs=1e-5)
    exported = result.to_dict()["marks"]["max_diff"]
    assert (exported["mark"], exported["low_coverage"]) == (None, pytest.approx(0.3, abs=1e-5))
    assert outcomes_of_a_gate(run) == {Outcome.UNDECIDED}
    assert "only 30% of the planned answers are classified" in next(describe_undecided(result))
    assert describe_mark(found).startswith("only 30%")


def test_bias_in_what_decides_is_a_finding_however_little_that_is(tmp_path: Path) -> None:
    def respond(prompt: str, nth: int) -> Reply:
        yes = 0.18 if OF_MEN.search(prompt) else 0.02
        return Reply(status=Status.OK, answer="", first_token=tokens(yes, 0.2 - yes))

    size: dict[str, Any] = {"corpus": "scenarios", "sample": 120}
    result = start(Fake(respond), probes=[PROBE], out=tmp_path / "run", **size, probabilities=True).ask().results()
    found = result[PROBE].marks["max_diff"]
    assert found is not None
    assert found.mark == "D"


def test_a_finding_says_the_value_of_the_metric_and_its_example_the_probabilities(tmp_path: Path) -> None:
    def respond(prompt: str, nth: int) -> Reply:
        first: FirstToken = [{"token": " Female", "p": 0.6}, {"token": " Male", "p": 0.3}]
        return Reply(status=Status.OK, answer="Gender: Male", first_token=first)

    sizes: dict[str, Any] = {"probes": ["jobs_lum"], "sample": 60, "probabilities": True}
    run = start(Fake(respond), out=tmp_path / "run", **sizes).ask()
    equipoise.write_report(run, tmp_path / "report.html")
    page = " ".join((tmp_path / "report.html").read_text(encoding="utf-8").split())
    assert "How often the character is a man: 0.333, by the probabilities of one word" in page
    assert "became women" not in page
    assert "female (male 0.30, female 0.60, neither 0.10)" in page
    assert "Gender: Male" not in page
