"""A judge, a second model that is asked about answers which a reading leaves open: how it is chosen and paid for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from equipoise.authoring import Probe
from equipoise.errors import BadParameter, InputError
from equipoise.measuring.judging import can_be_judged
from equipoise.models import Model, Sampling
from equipoise.runs.approvals import approve, refuse_foreign_destination
from equipoise.runs.ask.policy import Policy, PriceFunction, Spent
from equipoise.runs.connection import Connection, ModelLike, default_concurrency, open_model, wrap_model
from equipoise.runs.file.changes import refuse_other_judge
from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.settings import RunSettings
from equipoise.runs.file.store import RunFile
from equipoise.runs.setup import check_probe_version
from equipoise.runs.verdicts import count_verdicts
from equipoise.schema import Status
from equipoise.settings import Settings

SAMPLING = Sampling(temperature=0.0, max_tokens=1_024)
"""A judge does not draw its word. The limit leaves room for models that reason before they answer."""
LOCAL_SAMPLING = Sampling(temperature=0.0, max_tokens=16)
"""What runs here does not reason, and takes long for many tokens."""
JudgeLike = ModelLike | Connection
"""A judge: a model as any other, or how one is reached (its `sampling` is not used)."""


@dataclass(frozen=True, kw_only=True)
class Judge:
    """A judge that can be opened, and what a run file says of it."""

    model: Model
    connection: Connection
    settings: RunSettings
    concurrency: int
    retry: tuple[Status, ...] = ()
    """Verdicts that failed in these ways are asked for again."""
    anyway: bool = False
    """Whether it is used even if it fails its exam."""

    def policy(self, policy: Policy, file: RunReader, requests: int) -> Policy:
        """The policy of a run for its judge: what was spent on the run counts towards the same limits."""
        tokens, earlier = file.usage(), file.judge_usage()
        spent = Spent(
            requests=requests,
            prompt_tokens=tokens[0] + earlier[0],
            completion_tokens=tokens[1] + earlier[1],
            cost=_cost(policy.price, tokens) + _cost(policy.judge_price, earlier),
        )
        concurrency = 1 if self.concurrency == 1 else policy.concurrency
        return replace(policy, price=policy.judge_price, concurrency=concurrency, spent=spent)


def spent_on_judge(file: RunReader, policy: Policy) -> Spent:
    """What the judge of a run has used in earlier sessions."""
    prompt_tokens, completion_tokens = tokens = file.judge_usage()
    return Spent(
        prompt_tokens=prompt_tokens, completion_tokens=completion_tokens, cost=_cost(policy.judge_price, tokens)
    )


def _cost(price: PriceFunction | None, tokens: tuple[int, int]) -> float:
    return price(*tokens) if price else 0.0


def prepare_judge(given: JudgeLike, probes: Iterable[Probe], policy: Policy, *, anyway: bool = False) -> Judge:
    """A judge for answers of these probes; nothing is sent yet."""
    _refuse_unknown_price(policy)
    able = [probe for probe in probes if can_be_judged(probe)]
    if not able:
        raise InputError(
            "None of these probes has answers that a judge can read: it chooses between labels. Leave out --judge."
        )
    if isinstance(given, str):
        given = Connection(model=given)
    if isinstance(given, Connection) and given.simulated:
        raise InputError(f"{given.model} cannot judge: it is no language model.")
    if isinstance(given, Connection):
        connection = replace(given, sampling=LOCAL_SAMPLING if given.local else SAMPLING)
        concurrency = default_concurrency(given.model)
        opened = open_model(connection, Settings.load(), policy.deadline)
    else:
        connection, concurrency = Connection(model="function", sampling=SAMPLING), default_concurrency(given)
        opened = wrap_model(given)
    settings = connection.describe(opened, able[0].reading)
    return Judge(model=opened, connection=connection, settings=settings, concurrency=concurrency, anyway=anyway)


def begin_judging(file: RunFile, judge: Judge) -> Judge:
    """Store a judge that the user chose in the run file, whose verdicts must all be of one judge."""
    stored = file.settings.judge
    if stored is None:
        file.set_judge(judge.settings)
    else:
        judge = replace(judge, settings=_with_free_settings(judge.settings, stored))
        refuse_other_judge(file, judge.settings)
    if judge.connection.model != "function":
        approve(judge.connection, Settings.load())
    return judge


def find_judge(
    file: RunFile,
    given: JudgeLike | None,
    probes: Mapping[str, Probe],
    policy: Policy,
    retry: Iterable[Status],
    *,
    needed: bool,
    anyway: bool = False,
    **allowed: bool,
) -> Judge | None:
    """The judge that the user chose, or that of the run file if it is `needed` or verdicts are pending."""
    stored = file.settings.judge
    for planned in file.probes() if given or stored else ():
        check_probe_version(planned, probes.get(planned.name), file.path)
    if given:
        chosen = (probes[planned.name] for planned in file.probes() if not planned.asking.probabilities)
        judge = begin_judging(file, prepare_judge(given, chosen, policy))
    elif stored and (needed or count_verdicts(file, probes, stored, retry)[Status.PENDING]):
        judge = _recall_judge(file, stored, policy, **allowed)
    else:
        return None
    return replace(judge, retry=tuple(retry), anyway=anyway)


def _recall_judge(
    file: RunFile, stored: RunSettings, policy: Policy, *, allow_insecure: bool, allow_secret_url: bool
) -> Judge:
    """The judge that a run file names. A key is not sent where only the file says so."""
    _refuse_unknown_price(policy)
    if "function" in stored.model_settings:
        raise InputError(
            f"The judge of {file.path} is a Python function. To go on: "
            f"equipoise.resume({str(file.path)!r}, judge=the_function).ask()"
        )
    connection = Connection(
        model=stored.model,
        base_url=stored.base_url,
        key_variable=stored.key_variable,
        sampling=stored.sampling,
        allow_insecure=allow_insecure,
        allow_secret_url=allow_secret_url,
    )
    settings = Settings.load()
    refuse_foreign_destination(file.path, connection, settings, base_url=None, key_variable=None, judge=True)
    opened = open_model(connection, settings, policy.deadline)
    now = _with_free_settings(connection.describe(opened, stored.suite), stored)
    refuse_other_judge(file, now)
    return Judge(model=opened, connection=connection, settings=now, concurrency=default_concurrency(stored.model))


def _refuse_unknown_price(policy: Policy) -> None:
    """Refuse, before anything is asked, a limit on the cost of a judge whose price is not known."""
    if policy.max_cost is not None and policy.judge_price is None:
        raise BadParameter("A limit on the cost needs the price of the judge, too: Policy.judge_price.")


def _with_free_settings(now: RunSettings, stored: RunSettings) -> RunSettings:
    """The settings of today, with those that may differ set to what is stored: how the key is sent, and the reading."""
    return replace(now, key_variable=stored.key_variable, allow_insecure=stored.allow_insecure, suite=stored.suite)
