"""Answers from the logs of Inspect, read by its own library, which knows all versions of the format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from equipoise.answers.formats import outcome, without_answer
from equipoise.answers.rows import Fields, Row
from equipoise.bodies import Completion
from equipoise.errors import BadFile, InputError
from equipoise.schema import ID, PROMPT, REPETITION, Status


def may_be_log(start: bytes) -> bool:
    """Whether a JSON file can be a log, by how it begins: `eval` comes right after its version and status."""
    return b'"eval"' in start


def read_log(path: Path) -> Iterator[Row]:
    """The samples of a log, one at a time. Ids are prompt ids, epochs are repetitions."""
    try:
        from inspect_ai.log import read_eval_log, read_eval_log_samples  # noqa: PLC0415 - an extra, slow to import
    except ImportError:
        raise InputError(
            f"{path} looks like a log of Inspect. To read it: pip install 'equipoise[inspect]'. "
            "Answers in JSON, one object a line, are called .jsonl."
        ) from None
    try:
        header = read_eval_log(str(path), header_only=True)
        # A log in JSON is one document, and one that was cut off does not list its samples: these are read whole.
        streamed = path.suffix.lower() == ".eval" and header.eval.dataset.sample_ids is not None
        samples = (
            read_eval_log_samples(str(path), all_samples_required=False)
            if streamed
            else read_eval_log(str(path)).samples or ()
        )
        for number, sample in enumerate(samples, 1):
            yield f"{path}, sample {number}", _read_sample(sample)
    except (BadFile, OSError):
        raise
    except Exception as error:  # whatever the library raises, the file is at fault
        raise BadFile(f"{path} cannot be read as a log of Inspect: {error}.") from None


def _read_sample(sample: Any) -> Fields:
    key = {ID: str(sample.id), PROMPT: _find_prompt(sample.input), REPETITION: sample.epoch}
    answered = bool(sample.output.choices) and not sample.output.error
    if answered and (sample.error is None or sample.output.completion):  # an error after the answer is a scorer's
        said = Completion(text=sample.output.completion, finish_reason=sample.output.stop_reason)
        return key | outcome(said)
    failed = sample.error is not None or sample.output.error
    return key | without_answer(Status.HTTP_ERROR if failed else Status.PENDING)


def _find_prompt(given: Any) -> str | None:
    """The text that was asked: the input, or the last message of the user in it."""
    if isinstance(given, str):
        return given
    return next((message.text for message in reversed(given) if message.role == "user"), None)
