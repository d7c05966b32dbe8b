"""A judge, a second model that is asked about answers which a reading leaves open: how it is chosen and paid for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from msgspec import structs

from equipoise.authoring import Probe
from equipoise.errors import BadParameter, InputError, IntegrityError
from equipoise.measuring.evaluate import can_be_judged
from equipoise.measuring.plan import Plan
from equipoise.models import Model
from equipoise.runs.ask.policy import Policy, PriceFunction, Spent
from equipoise.runs.file.reader import RunReader
from equipoise.runs.file.store import RunFile
from equipoise.runs.reaching import (
    ModelLike,
    approve,
    default_concurrency,
    describe,
    open_model,
    refuse_foreign_address,
    wrap_model,
)
from equipoise.runs.setup import check_probe_version
from equipoise.runs.spec import Access, RunSpec, find_differences, to_plain
from equipoise.runs.verdicts import count_verdicts
from equipoise.schema import Status


@dataclass(frozen=True, kw_only=True)
class Judge:
    """A judge that can be opened, and what a run file says of it."""

    model: Model
    spec: RunSpec
    """How it is reached, without secrets."""
    settings: Mapping[str, Any]
    """What it says of itself."""
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


def spent_on_judge(file: RunReader, policy: Policy, requests: int) -> Policy:
    """The policy with what the judge of a run has used: tokens in all sessions, requests in this one."""
    prompt_tokens, completion_tokens = tokens = file.judge_usage()
    cost = _cost(policy.judge_price, tokens)
    spent = Spent(requests=requests, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens, cost=cost)
    return replace(policy, spent=spent)


def _cost(price: PriceFunction | None, tokens: tuple[int, int]) -> float:
    return price(*tokens) if price else 0.0


def prepare_judge(
    spec: RunSpec,
    given: ModelLike | None,
    access: Access,
    plans: Iterable[Plan],
    policy: Policy,
    source: object,
    again: list[str],
) -> Judge:
    """The judge of a specification, for answers of these plans; nothing is sent yet."""
    _refuse_no_labels(planned.probe for planned in plans)
    return _open_judge(spec, given, access, policy, source, again)


def take_judge(file: RunFile, spec: RunSpec, judge: Judge, access: Access) -> None:
    """Store a judge that the user chose in the run file, whose verdicts must all be of one judge."""
    stored = file.settings
    if stored.judge_settings is None:
        chosen = structs.replace(
            file.spec,
            judge=judge.spec.model,
            judge_base_url=judge.spec.base_url,
            judge_key_variable=spec.judge_key_variable,
            judge_price=spec.judge_price,
        )
        file.set_judge(chosen, judge.settings)
    else:
        _refuse_other_judge(file, judge)
    if "function" not in judge.settings:
        approve(judge.spec, _access_of_judge(access))


def find_judge(
    file: RunFile,
    spec: RunSpec,
    given: ModelLike | None,
    access: Access,
    probes: Mapping[str, Probe],
    policy: Policy,
    retry: Iterable[Status],
    *,
    needed: bool,
) -> Judge | None:
    """The judge that the user chose, or that of the run file if it is `needed` or verdicts are pending."""
    if spec.judge is None:
        return None
    for planned in file.probes():
        check_probe_version(planned, probes.get(planned.name), file.path)
    again, is_new = ["equipoise", "resume", str(file.path)], "judge" in access.typed
    if not is_new and not needed and not count_verdicts(file, probes, retry)[Status.PENDING]:
        return None
    if is_new:
        _refuse_no_labels(probes[planned.name] for planned in file.probes() if not planned.asking.probabilities)
    elif given is None and "function" in (file.settings.judge_settings or {}):
        raise InputError(
            f"The judge of {file.path} is a Python function. To go on: "
            f"equipoise.resume({str(file.path)!r}, judge=the_function).ask()"
        )
    judge = _open_judge(spec, given, access, policy, file.path, again, received=not is_new)
    take_judge(file, spec, judge, access)
    return replace(judge, retry=tuple(retry))


def _open_judge(
    spec: RunSpec,
    given: ModelLike | None,
    access: Access,
    policy: Policy,
    source: object,
    again: list[str],
    *,
    received: bool = False,
) -> Judge:
    if policy.max_cost is not None and policy.judge_price is None:
        raise BadParameter("A limit on the cost needs the price of the judge, too: Policy.judge_price.")
    asked, access = spec.judge_spec(), _access_of_judge(access)
    if given is None or isinstance(given, str):
        if asked.simulated:
            raise InputError(f"{asked.model} cannot judge: it is no language model.")
        refuse_foreign_address(asked, access, source, again, judge=True, received=received)
        opened = open_model(asked, access, policy.deadline)
    else:
        opened = wrap_model(given)
    public, settings = describe(asked, opened)
    concurrency = default_concurrency(given if given is not None else asked.model)
    return Judge(model=opened, spec=public, settings=settings, concurrency=concurrency, anyway=spec.judge_anyway)


def _access_of_judge(access: Access) -> Access:
    """What opens the way to the judge: its key comes from the environment, and no headers go with it."""
    typed = {name.removeprefix("judge_") for name in access.typed if name.startswith("judge_")}
    return replace(access, key_command=None, headers={}, typed=frozenset(typed))


def _refuse_no_labels(probes: Iterable[Probe]) -> None:
    if not any(can_be_judged(probe) for probe in probes):
        raise InputError(
            "None of these probes has answers that a judge can read: it chooses between labels. Leave out --judge."
        )


def _refuse_other_judge(file: RunFile, judge: Judge) -> None:
    """Refuse another judge than the one whose verdicts the file holds."""
    stored = file.settings
    old = {"model": stored.spec.judge, "base_url": stored.spec.judge_base_url, "settings": stored.judge_settings}
    new = {"model": judge.spec.model, "base_url": judge.spec.base_url, "settings": dict(judge.settings)}
    if differences := list(find_differences(old, to_plain(new))):
        raise IntegrityError(
            f"{file.path} has another judge, and verdicts of different judges are not mixed:\n"
            + "\n".join(f"  {line}" for line in differences)
            + f"\nTo go on with that judge: equipoise resume {file.path}"
        )
