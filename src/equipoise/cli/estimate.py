"""`equipoise estimate`: prompts, tokens, money, time, before anything is sent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from typer import Option

from equipoise.cli import options
from equipoise.cli.output import open_console, print_json
from equipoise.cli.run import describe_price
from equipoise.runs.spec import make_spec
from equipoise.safe_text import printable_line

if TYPE_CHECKING:
    from equipoise.measuring.precision import Need

COLUMNS = ("prompts", "attempts", "prompt_tokens", "completion_tokens")
FIELDS = ("probes", "suite", "probabilities", "max_tokens", "concurrency", "base_url", "price")


@options.takes(*FIELDS, *options.PLAN, *options.OWN)
def command(
    model: options.Model = None,
    *,
    precision: float | None = Option(
        None,
        help="Plan as many items as give every marked metric this half-width; needs --pilot.",
        metavar="H",
    ),
    certain: bool = Option(False, "--certain", help="Plan as many items as make the marks certain; needs --pilot."),
    pilot: Path | None = Option(None, help="A run file whose widths and values are used for planning.", metavar="RUN"),
    as_json: options.AsJson = False,
    given: options.Given,
) -> None:
    """Say what a run would take. Tokens are estimated: a token for four letters, answers of the usual length.

    Examples: equipoise estimate openai/gpt-4o-mini · equipoise estimate openai/gpt-4o --suite quick --repeat 3
    """
    from msgspec.structs import replace
    from rich import table

    from equipoise.runs.estimate import estimate
    from equipoise.runs.suites import choose_probes_for, find_readable

    spec = make_spec(**given.fields(), model=model)
    wanted = [*spec.probes, *given.own_probes()] or None
    chosen = choose_probes_for(spec.model, wanted, spec.suite)
    parameters = given.parameters(chosen)
    found = estimate(spec, probes=wanted, precision=precision, certain=certain, pilot=pilot, **parameters)
    if as_json:
        print_json("estimate/1", found.to_dict())
        return
    rows = table.Table(box=None, pad_edge=False)
    rows.add_column("probe")
    for name in COLUMNS:
        rows.add_column(name.replace("_", " "), justify="right")
    for row in found.probes:
        rows.add_row(printable_line(row.probe), *(f"{getattr(row, name):,}" for name in COLUMNS))
    rows.add_row("in all", *(f"{found.total(name):,}" for name in COLUMNS), style="bold")
    console = open_console()
    console.print(rows)
    for row in found.probes:
        for need in row.needs:
            console.print(_describe_need(row.probe, need))
    console.print(printable_line(f"{spec.model}, {found.spec.suite} suite: {describe_price(found)}"))
    readable = find_readable(chosen, str(found.spec.suite), found.spec.parameters)
    if readable and not (spec.probabilities or precision or certain):
        other = estimate(replace(spec, probabilities=True), probes=wanted, **parameters)
        tokens = f"{other.total('completion_tokens'):,} tokens of answers, one for each prompt of {', '.join(readable)}"
        console.print(printable_line(f"With --probabilities: {describe_price(other)}, {tokens}"))


def _describe_need(probe: str, need: Need) -> str:
    name = f"{probe}.{need.metric}"
    if need.items is None:
        return f"{name}: no number of items would decide it; its value lies at a limit or is not computable"
    short = ""
    if need.items > need.population:
        remedy = f"ask each {need.repetitions} times" if need.repetitions else "more may not tell"
        short = f" (there are only {need.population:,}; {remedy})"
    return (
        f"{name}: {need.items:,} items for ±{need.half_width:.3f}{short}; two models that differ by "
        f"{need.detectable:.3f} are then told apart in 4 of 5 comparisons"
    )
