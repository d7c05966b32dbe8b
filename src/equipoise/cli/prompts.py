"""`equipoise prompts`: the planned prompts, to be answered anywhere."""

from __future__ import annotations

from pathlib import Path

from typer import Argument, Option

from equipoise.cli import options
from equipoise.cli.output import choose_format, note, open_output
from equipoise.errors import InputError, UnknownName
from equipoise.report.files import make_folder

SAMPLING = ("temperature", "max_tokens", "system")


@options.takes(*SAMPLING, *options.PLAN, *options.OWN)
def command(
    probe: str | None = Argument(None, help="The probe; see: equipoise probes"),
    *,
    form: str | None = Option(
        None,
        "--format",
        help="Default: by the ending of the file, or JSONL. JSONL, CSV, Parquet, or input of a batch job.",
        metavar="jsonl|csv|parquet|openai-batch|anthropic-batch|gemini-batch",
    ),
    out: options.Out = None,
    shards: int | None = Option(
        None, help="Write so many files, of whole items each, to the folder --out.", metavar="N"
    ),
    suite: options.Suite = None,
    model: str | None = Option(
        None,
        "--model",
        "-m",
        help="The model that a batch job asks; for OpenAI gpt-4o-mini unless it is given. A Gemini job is told when it "
        "is started.",
    ),
    given: options.Given,
) -> None:
    """Write the planned prompts, one per line: id, item, prompt and the covariates.

    With --suite or --repeat, each prompt stands once for every repetition. A batch job asks what equipoise run would
    ask: with the probe's limit on the length of answers, and with --temperature, --max-tokens and --system. For import
    and score, give the same --suite, --sample, --repeat, --seed and --set.

    Examples: equipoise prompts jobs_lum > prompts.jsonl · equipoise prompts hiring_an --format anthropic-batch --model
    claude-haiku-4-5 -o batch.jsonl · equipoise prompts hiring_an --format parquet --shards 64 -o prompts
    """
    from equipoise.answers import batch_jobs
    from equipoise.answers import prompts as answer_prompts
    from equipoise.models.protocol import Sampling
    from equipoise.runs import suites

    chosen = given.one_probe(probe)
    form = choose_format(form, out if shards is None else None, answer_prompts.TABLES, default="jsonl")
    if form not in (*answer_prompts.TABLES, *batch_jobs.BATCHES):
        raise UnknownName("format", form, (*answer_prompts.TABLES, *batch_jobs.BATCHES))
    parameters = given.parameters([chosen])
    (planned,) = suites.plan_probes(chosen, suite or "standard", parameters, repeated=suite is not None)
    make_line = None
    if form in batch_jobs.BATCHES:
        sampling = Sampling(**{"max_tokens": chosen.max_tokens, **given.fields()})
        make_line = batch_jobs.make_line_writer(form, model, sampling)
    elif given.fields():
        note(f"--temperature, --max-tokens and --system are for batch jobs: {form} holds prompts only")
    targets: dict[Path | None, range | None] = {out: None}
    if shards is not None:
        if out is None:
            raise InputError("--shards writes several files: name a folder for them with --out.")
        ending = form if form in ("csv", "parquet") else "jsonl"
        ranges = answer_prompts.split_plan(planned, shards)
        targets = {out / f"prompts-{number:05}.{ending}": items for number, items in enumerate(ranges, 1)}
        make_folder(out)
    count = 0
    for path, items in targets.items():
        with open_output(path) as file:
            count += answer_prompts.write_prompts(planned, file, form, make_line, items)
    times = f", {planned.repetitions} times each" if planned.repetitions > 1 else ""
    files = f", in {shards:,} files" if shards else ""
    note(f"{count:,} prompts of {chosen.name}{times}{files}")
