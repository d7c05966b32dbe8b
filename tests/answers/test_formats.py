"""Answers in the files of other tools: each shape as its documentation has it, each outcome read as what it is."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import equipoise
from equipoise.answers.files import read_tables
from equipoise.answers.formats import ENVELOPES
from equipoise.errors import BadFile, InputError
from equipoise.runs.imports import import_answers
from equipoise.schema import Status

OK, CUT, WITHHELD, FAILED, NOT_ASKED = "ok", "truncated", "filtered", "http_error", "pending"
Line = dict[str, Any]


def openai_chat(key: str, _prompt: str, answer: str, state: str) -> Line:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": answer, "refusal": None, "annotations": []},
        "finish_reason": {OK: "stop", CUT: "length", WITHHELD: "content_filter"}.get(state),
    }
    body = {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice], "usage": {"total_tokens": 24}}
    line: Line = {"id": "batch_req_1", "custom_id": key, "response": None, "error": None}
    if state == NOT_ASKED:
        return line | {"error": {"code": "batch_expired", "message": "This request could not be executed in time."}}
    failed = state == FAILED
    return line | {"response": {"status_code": 500 if failed else 200, "body": {} if failed else body}}


def openai_responses(key: str, _prompt: str, answer: str, state: str) -> Line:
    if state in (FAILED, NOT_ASKED):
        return openai_chat(key, "", answer, state)
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "He or she?"}]}
    said = {"type": "refusal", "refusal": answer} if state == WITHHELD else {"type": "output_text", "text": answer}
    body = {
        "status": "incomplete" if state == CUT else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if state == CUT else None,
        "output": [thought, {"type": "message", "role": "assistant", "content": [said]}],
    }
    return {"custom_id": key, "response": {"status_code": 200, "body": body}, "error": None}


def vllm(key: str, _prompt: str, answer: str, state: str) -> Line:
    line = openai_chat(key, "", answer, state) | {"id": "vllm-1"}
    if state == FAILED:
        line["response"] = {"status_code": 500, "request_id": "vllm-batch-1", "body": None}
        line["error"] = {"object": "error", "message": "It expired.", "type": "InternalServerError", "code": 500}
    return line


def message(answer: str, state: str) -> Line:
    content = [{"type": "thinking", "thinking": "He or she?", "signature": "x"}, {"type": "text", "text": answer}]
    reason = {OK: "end_turn", CUT: "max_tokens", WITHHELD: "refusal"}[state]
    return {"type": "message", "role": "assistant", "content": content, "stop_reason": reason}


def anthropic(key: str, _prompt: str, answer: str, state: str) -> Line:
    if state == FAILED:
        error = {"type": "error", "error": {"type": "invalid_request_error", "message": "max_tokens: too large"}}
        return {"custom_id": key, "result": {"type": "errored", "error": error}}
    if state == NOT_ASKED:
        return {"custom_id": key, "result": {"type": "expired"}}
    return {"custom_id": key, "result": {"type": "succeeded", "message": message(answer, state)}}


def gemini_response(answer: str, state: str) -> Line:
    parts = [{"text": "He or she?", "thought": True}, {"text": answer}]
    reason = {OK: "STOP", CUT: "MAX_TOKENS", WITHHELD: "SAFETY"}[state]
    return {"candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": reason}]}


def gemini(key: str, _prompt: str, answer: str, state: str) -> Line:
    if state in (FAILED, NOT_ASKED):
        code, name = (1, "CANCELLED") if state == NOT_ASKED else (13, "INTERNAL")
        return {"key": key, "error": {"code": code, "status": name, "message": "The safety of the job expired."}}
    return {"key": key, "response": gemini_response(answer, state)}


def vertex(_key: str, prompt: str, answer: str, state: str) -> Line:
    """A line of Vertex has no key: the prompt itself is given back."""
    request = {"contents": [{"role": "user", "parts": [{"text": prompt}]}], "generationConfig": {"temperature": 0.5}}
    line: Line = {"status": "", "processed_time": "2026-01-01T00:00:00.000+00:00", "request": request}
    if state in (FAILED, NOT_ASKED):
        return line | {"status": "Cancelled" if state == NOT_ASKED else 'Bad Request: {"code": 400}', "response": {}}
    return line | {"response": gemini_response(answer, state)}


def vertex_claude(key: str, prompt: str, answer: str, state: str) -> Line:
    request = {"messages": [{"role": "user", "content": prompt}], "anthropic_version": "vertex-2023-10-16"}
    line: Line = {"custom_id": key, "request": request}
    if state in (FAILED, NOT_ASKED):
        return line | {"status": "Cancelled" if state == NOT_ASKED else 'Bad Request: {"error": {"code": 400}}'}
    return line | {"response": message(answer, state), "status": ""}


def fireworks(key: str, _prompt: str, answer: str, state: str) -> Line:
    line = openai_chat(key, "", answer, state)
    if state == FAILED:
        return line | {"response": {"error": {"object": "error", "code": 500, "message": "Batch expired."}}}
    return line if state == NOT_ASKED else line | {"response": line["response"]["body"]}


def bedrock(key: str, prompt: str, answer: str, state: str) -> Line:
    asked = {
        "anthropic_version": "bedrock-2023-05-31",
        "max_tokens": 99,
        "messages": [{"role": "user", "content": prompt}],
    }
    if state == FAILED:
        return {"recordId": key, "modelInput": asked, "error": {"errorCode": 400, "errorMessage": "Token expired."}}
    return {"recordId": key, "modelInput": asked, "modelOutput": message(answer, state)}


def bedrock_converse(_key: str, prompt: str, answer: str, state: str) -> Line:
    """Records without an id of ours are found by their prompt."""
    asked = {"messages": [{"role": "user", "content": [{"text": prompt}]}], "inferenceConfig": {"maxTokens": 99}}
    if state == FAILED:
        return bedrock("CALL0000001", prompt, answer, state)
    reason = {OK: "end_turn", CUT: "max_tokens", WITHHELD: "guardrail_intervened"}[state]
    content = [{"reasoningContent": {"reasoningText": {"text": "He or she?"}}}, {"text": answer}]
    output = {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": reason}
    return {"recordId": "CALL0000001", "modelInput": asked, "modelOutput": output}


def bedrock_llama(key: str, prompt: str, answer: str, state: str) -> Line:
    line = bedrock(key, prompt, answer, state) | {"modelInput": {"prompt": prompt, "max_gen_len": 99}}
    if "modelOutput" in line:
        reason = {OK: "stop", CUT: "length", WITHHELD: "content_filtered"}[state]
        line["modelOutput"] = {"generation": answer, "generation_token_count": 9, "stop_reason": reason}
    return line


def bedrock_titan(key: str, prompt: str, answer: str, state: str) -> Line:
    line = bedrock(key, prompt, answer, state) | {"modelInput": {"inputText": prompt}}
    if "modelOutput" in line:
        reason = {OK: "FINISH", CUT: "LENGTH", WITHHELD: "CONTENT_FILTERED"}[state]
        result = {"tokenCount": 3, "outputText": answer, "completionReason": reason}
        line["modelOutput"] = {"inputTextTokenCount": 8, "results": [result]}
    return line


def bedrock_mistral(key: str, prompt: str, answer: str, state: str) -> Line:
    line = bedrock(key, prompt, answer, state) | {"modelInput": {"prompt": prompt}}
    if "modelOutput" in line:
        reason = {OK: "stop", CUT: "length", WITHHELD: "content_filter"}[state]
        line["modelOutput"] = {"outputs": [{"text": answer, "stop_reason": reason}]}
    return line


def lm_eval(_key: str, prompt: str, answer: str, _state: str) -> Line:
    arguments = {"gen_args_0": {"arg_0": prompt, "arg_1": {"until": ["\n\n"], "temperature": 0.7}}}
    return {"doc_id": 0, "doc": {"question": prompt}, "arguments": arguments, "resps": [[answer]], "filter": "none"}


def lm_eval_with_id(key: str, _prompt: str, answer: str, _state: str) -> Line:
    line = lm_eval("", "<|user|>…<|assistant|>", answer, "")
    return line | {"doc": {"id": key}, "arguments": [["<|user|>…<|assistant|>", {"until": []}]]}


SHAPES = [
    *(openai_chat, openai_responses, vllm, anthropic, gemini, vertex, vertex_claude, fireworks, bedrock),
    *(bedrock_converse, bedrock_llama, bedrock_titan, bedrock_mistral, lm_eval, lm_eval_with_id),
]
STATES = (OK, CUT, WITHHELD, FAILED, NOT_ASKED)
# lm-eval keeps nothing but the text; jobs of Bedrock leave out what was never sent.
KNOWN_STATES = {"lm_eval": STATES[:1], "bedrock": STATES[:-1]}
OUTCOMES = [
    (shape, state)
    for shape in SHAPES
    for state in next((known for name, known in KNOWN_STATES.items() if name in shape.__name__), STATES)
]
Shape = Callable[[str, str, str, str], Line]


def read(path: Path) -> list[tuple[Any, ...]]:
    """id, prompt, repetition, status and answer of each row."""
    return pl.concat(read_tables(path)).rows()


def write(path: Path, lines: list[Line]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize(("shape", "state"), OUTCOMES)
def test_every_outcome_is_read_as_what_it_is(shape: Shape, state: str, tmp_path: Path) -> None:
    lines = [shape("0abc", "Who?", "She.", state)]
    ((key, prompt, repetition, status, answer),) = read(write(tmp_path / "a.jsonl", lines))
    assert key in ("0abc", "CALL0000001", None)
    assert key == "0abc" or prompt == "Who?"
    assert (repetition, status) == (None, state)
    assert answer == (None if state in (WITHHELD, FAILED, NOT_ASKED) else "She.")


@pytest.mark.parametrize("shape", [anthropic, vertex, lm_eval])
def test_scoring_and_importing_give_what_our_own_format_gives(shape: Shape, tmp_path: Path) -> None:
    prompts = equipoise.plan("jobs_lum", sample=40).prompts()
    said = [f"{'She' if place % 3 else 'He'} is {place}." for place in range(40)]
    rows = list(zip(prompts["id"], prompts["prompt"], said, strict=True))
    random.Random(3).shuffle(rows)
    path = write(tmp_path / "a.jsonl", [shape(key, prompt, answer, OK) for key, prompt, answer in rows])
    own = equipoise.score("jobs_lum", [{"id": key, "answer": answer} for key, _, answer in rows], sample=40)
    run, new, matching = import_answers(path, tmp_path / "run.equipoise", probes="jobs_lum", sample=40)
    assert (new, matching.matched, run.complete) == (40, 40, True)
    assert run.result("jobs_lum").metrics == own.metrics
    assert equipoise.score("jobs_lum", pl.concat(read_tables(path)), sample=40).metrics == own.metrics


def test_what_was_not_asked_stays_pending_in_a_run(tmp_path: Path) -> None:
    prompts = equipoise.plan("jobs_lum", sample=10).prompts()
    lines = [anthropic(key, "", "She.", OK if place else NOT_ASKED) for place, key in enumerate(prompts["id"])]
    path = write(tmp_path / "a.jsonl", lines)
    run, new, _ = import_answers(path, tmp_path / "run.equipoise", probes="jobs_lum", sample=10)
    assert (new, run.complete, run.counts[Status.PENDING]) == (9, False, 1)


def test_repetitions_come_back_by_key_or_in_order(tmp_path: Path) -> None:
    assert read(write(tmp_path / "a.jsonl", [anthropic("0abc-2", "", "She.", OK)]))[0][:3] == ("0abc", None, 2)
    assert read(write(tmp_path / "a.jsonl", [openai_chat("0abc#3", "", "She.", OK)]))[0][:3] == ("0abc", None, 3)
    line = lm_eval("", "Who?", "", "") | {"resps": [["She.", "He."]]}
    assert [row[-1] for row in read(write(tmp_path / "b.jsonl", [line]))] == ["She.", "He."]


@pytest.mark.fault("D4")
@pytest.mark.parametrize(
    "line",
    [
        {"custom_id": "0abc", "params": {"model": "m"}},
        {"text": "She.", "id": "0abc"},
        {"totalRecordCount": 3, "successRecordCount": 3},
    ],
)
def test_what_is_not_known_is_refused_with_what_is(line: Line, tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"line 1: no field answer.*Anthropic batch") as error:
        read(write(tmp_path / "a.jsonl", [line]))
    assert all(name in str(error.value) for name in [*ENVELOPES, "CSV", "Parquet", "logs of Inspect"])


@pytest.mark.fault("D4")
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"custom_id": "a", "result": {}}, "result.type must be succeeded, errored, canceled or expired. Got None"),
        ({"custom_id": "a", "result": {"type": "paused"}}, "Got 'paused' instead"),
        (
            {"custom_id": "a", "result": {"type": "succeeded", "message": {"text": "She."}}},
            "with the fields text. Known",
        ),
        (
            {"custom_id": "a", "result": {"type": "succeeded", "message": {"content": [{"text": 5}]}}},
            "without an answer",
        ),
        ({"custom_id": "a", "response": "She."}, "without an answer"),
        ({"custom_id": "a", "response": {"status_code": 200, "body": {"data": [1]}}}, "Known are: chat completions"),
        ({"key": "a", "response": {"candidates": [7]}}, "without an answer"),
        (
            {"modelInput": {"prompt": "Who?"}, "modelOutput": {"embedding": [0.1]}},
            "fields embedding. Known are: .*Titan",
        ),
        ({"doc_id": 1, "arguments": [["Who?", " She"]], "resps": [[[-1.2, False]]]}, "log-likelihoods"),
        ({"doc_id": 1, "arguments": [["?", "a"]], "resps": [[["-1", "False"]], [["-2", "True"]]]}, "log-likelihoods"),
        ({"doc_id": 1, "arguments": [], "resps": [["She."]]}, "without an answer"),
    ],
)
def test_a_known_shape_that_cannot_be_read_is_refused(line: Line, words: str, tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=f"line 1: .*{words}"):
        read(write(tmp_path / "a.jsonl", [line]))


def chat(content: object, reason: str | None = "stop", **choice: Any) -> Line:
    message = {"role": "assistant", "content": content, "refusal": None}
    return {"object": "chat.completion", "choices": [{"message": message, "finish_reason": reason, **choice}]}


def batch(body: object, code: object = 200, error: object = None) -> Line:
    return {"custom_id": "a", "response": {"status_code": code, "request_id": "r", "body": body}, "error": error}


def failed(code: int, name: str | None, message: str, kind: str = "invalid_request_error") -> Line:
    return batch({"error": {"message": message, "type": kind, "param": None, "code": name}}, code)


def anthropic_error(message: str, kind: str = "invalid_request_error") -> Line:
    error = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return {"custom_id": "a", "result": {"type": "errored", "error": error}}


def responses(status: str, said: str | None = None, error: Line | None = None, reason: str | None = None) -> Line:
    content = [{"type": "output_text", "text": said}]
    output = [] if said is None else [{"type": "message", "content": content}]
    details = {"reason": reason} if reason else None
    return batch({"status": status, "error": error, "incomplete_details": details, "output": output})


def record(output: Line) -> Line:
    return {"recordId": "a", "modelInput": {"prompt": "Who?"}, "modelOutput": output}


FLAGGED = "Invalid prompt: your prompt was flagged as potentially violating our usage policy."
EMPTY, MALFORMED, TIMEOUT, CONTEXT = "empty", "malformed", "timeout", "context_length"


@pytest.mark.fault("D4")
@pytest.mark.parametrize(
    ("line", "status", "answer"),
    [
        # The HTTP status is a number, a text, or not there.
        (batch(chat("She.")), OK, "She."),
        (batch(chat("She."), "200"), OK, "She."),
        ({"custom_id": "a", "response": {"request_id": "r", "body": chat("She.")}, "error": None}, OK, "She."),
        # Failures count by their codes and by what their status leaves open, as those of an endpoint do.
        (failed(400, "context_length_exceeded", "Too long."), CONTEXT, None),
        (failed(400, None, "This model's maximum context length is 8192 tokens.", "BadRequestError"), CONTEXT, None),
        (failed(400, None, "The decoder prompt is longer than the maximum model length of 4096.", "…"), CONTEXT, None),
        (anthropic_error("prompt is too long: 214315 tokens > 200000 maximum"), CONTEXT, None),
        (failed(400, "invalid_prompt", FLAGGED), WITHHELD, None),
        (failed(400, "content_filter", "No."), WITHHELD, None),
        (anthropic_error("Output blocked by content filtering policy"), WITHHELD, None),
        (anthropic_error("Overloaded", "overloaded_error"), FAILED, None),
        (failed(401, "invalid_api_key", "Your token has expired."), FAILED, None),
        (failed(429, "rate_limit_exceeded", "Slow down, for the safety of all. Refusal."), FAILED, None),
        (batch(None, 500), FAILED, None),
        (batch(None, 400, {"object": "error", "message": "maximum context length is 99", "code": 400}), CONTEXT, None),
        ({"custom_id": "a", "response": None, "error": {"code": "batch_cancelled", "message": ""}}, NOT_ASKED, None),
        (
            {"key": "a", "error": {"code": 4, "message": "Deadline expired.", "status": "DEADLINE_EXCEEDED"}},
            TIMEOUT,
            None,
        ),
        ({"key": "a", "status": {"code": 3, "message": "bad"}}, FAILED, None),
        # Answers that broke off, were withheld, cut, or are not there.
        (batch(chat("She", "error")), FAILED, None),
        (batch(chat("She", "abort")), FAILED, None),
        (batch(chat([{"type": "refusal", "refusal": "I cannot."}])), WITHHELD, None),
        (batch(chat([{"type": "thinking", "thinking": "He?"}, {"type": "text", "text": "She."}])), OK, "She."),
        (batch({"choices": [], "usage": {}}), MALFORMED, None),
        (batch({}), MALFORMED, None),
        ({"custom_id": "a", "response": None, "error": None}, MALFORMED, None),
        (batch(chat(None, error={"code": 502, "message": "Provider returned error"})), FAILED, None),
        (responses("failed", error={"code": "server_error", "message": "expired"}), FAILED, None),
        (responses("failed", "She", {"code": "server_error", "message": "…"}), FAILED, None),
        (responses("failed", "She"), FAILED, None),
        (responses("failed", error={"code": "invalid_prompt", "message": FLAGGED}), WITHHELD, None),
        (responses("cancelled"), NOT_ASKED, None),
        (responses("incomplete", "She", reason="content_filter"), WITHHELD, None),
        ({"key": "a", "response": {"usageMetadata": {"promptTokenCount": 4}, "modelVersion": "m"}}, EMPTY, None),
        ({"key": "a", "response": {"candidates": [{"finish_reason": "MAX_TOKENS"}], "usageMetadata": {}}}, EMPTY, ""),
        ({"key": "a", "response": {"promptFeedback": {"blockReason": "SAFETY"}}}, WITHHELD, None),
        (record({"choices": [{"message": {"content": "She"}, "stop_reason": "length"}]}), CUT, "She"),
        (record({"choices": [{"text": "She", "stop_reason": "length"}]}), CUT, "She"),
        (record(chat("<reasoning>He or she? She", "length")), EMPTY, ""),
        (record(chat("<reasoning>He or she?</reasoning>They.")), OK, "They."),
        # Our own lines may leave out the answer where there is none.
        ({"id": "a", "status": "http_error"}, FAILED, None),
    ],
)
def test_what_a_line_means(line: Line, status: str, answer: str | None, tmp_path: Path) -> None:
    ((key, *_, found, said),) = read(write(tmp_path / "a.jsonl", [line]))
    assert (key, found, said) == ("a", status, answer)


@pytest.mark.parametrize(
    "asked",
    [
        "Who?",
        ["Who?"],
        '[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}]',
        ['[{"role": "user", "content": "Who?"}]'],
        [{"role": "user", "content": "Who?"}],
    ],
)
def test_prompts_of_lm_eval_as_text_and_as_messages(asked: object, tmp_path: Path) -> None:
    line = lm_eval("", "", "She.", OK) | {"arguments": {"gen_args_0": {"arg_0": asked, "arg_1": {}}}}
    assert read(write(tmp_path / "a.jsonl", [line])) == [(None, "Who?", None, OK, "She.")]
    assert read(write(tmp_path / "b.jsonl", [line | {"resps": []}])) == [(None, "Who?", None, MALFORMED, None)]


def test_lm_eval_writes_each_answer_once_for_every_filter(tmp_path: Path) -> None:
    lines = [lm_eval_with_id(key, "", "She.", OK) | {"filter": name} for name in ("strict", "loose") for key in "ab"]
    assert [row[0] for row in read(write(tmp_path / "a.jsonl", lines))] == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.json", b'[{"id": "a", "answer": "She."}]', "line 1: a JSON object is needed, and this is an array"),
        ("a.jsonl", b'[\n{"id": "a", "answer": "She."}]', "this is an array. Write one object per line"),
        ("a.json", b'{"answers": []}', "no field answer"),
        ("a.jsonl.gz", b"\x1f\x8b\x08\x00", "is compressed.*gunzip"),
        ("a.csv", b"id,answer,answer\na,b,c\n", "the column answer is there twice"),
    ],
)
@pytest.mark.fault("D4")
def test_a_file_of_another_kind_is_refused_with_what_to_do(
    name: str, content: bytes, words: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadFile, match=words):
        read(tmp_path / name)


@pytest.mark.fault("D4")
def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="is a folder"):
        read(tmp_path)


# Logs of Inspect


def write_log(path: Path, samples: list[tuple[Any, int, Any, str | None]], *, listed: bool) -> Path:
    from inspect_ai.dataset import Sample  # noqa: F401 - registers what logs hold
    from inspect_ai.log import EvalLog, EvalSample, EvalSpec, write_eval_log
    from inspect_ai.log._log import EvalConfig, EvalDataset
    from inspect_ai.model import ModelOutput

    dataset = EvalDataset(sample_ids=sorted({key for key, *_ in samples}) if listed else None)
    config = EvalConfig(epochs=2)
    spec = EvalSpec(created="2026-01-01T00:00:00+00:00", task="jobs_lum", dataset=dataset, model="m", config=config)
    log = EvalLog(status="success", eval=spec)
    log.samples = [
        EvalSample(
            id=key,
            epoch=epoch,
            input=asked,
            target="",
            output=ModelOutput() if answer is None else ModelOutput.from_content("m", answer),
        )
        for key, epoch, asked, answer in samples
    ]
    write_eval_log(log, str(path))
    return path


SAMPLES = [("0abc", 1, "Who?", "She."), ("0abc", 2, "Who?", "He."), ("0abd", 1, "?", None)]


@pytest.mark.parametrize("listed", [True, False], ids=["whole", "cut off"])
@pytest.mark.parametrize("name", ["log.eval", "log.json"])
def test_logs_of_inspect(name: str, listed: bool, tmp_path: Path) -> None:
    path = write_log(tmp_path / name, SAMPLES, listed=listed)
    assert sorted(read(path), key=str) == [
        ("0abc", "Who?", 1, OK, "She."),
        ("0abc", "Who?", 2, OK, "He."),
        ("0abd", "?", 1, NOT_ASKED, None),
    ]


@pytest.mark.fault("D4")
def test_what_is_no_log_is_refused(tmp_path: Path) -> None:
    for name, line in (("a.eval", {"id": "a", "answer": "She."}), ("a.json", {"eval": {}})):
        with pytest.raises(BadFile, match="cannot be read as a log of Inspect"):
            read(write(tmp_path / name, [line]))
    assert len(read(write(tmp_path / "b.json", [{"id": "a", "answer": "She."}]))) == 1


def test_an_answer_of_inspect_stays_when_its_scorer_failed(tmp_path: Path) -> None:
    from inspect_ai.log import EvalError, read_eval_log, write_eval_log

    path = str(write_log(tmp_path / "log.eval", SAMPLES, listed=True))
    log = read_eval_log(path)
    assert log.samples
    for sample in log.samples:
        sample.error = EvalError(message="boom", traceback="", traceback_ansi="")
    write_eval_log(log, path)
    assert sorted((key, epoch, status) for key, _, epoch, status, _ in read(Path(path))) == [
        ("0abc", 1, OK),
        ("0abc", 2, OK),
        ("0abd", 1, FAILED),
    ]


def test_without_the_library_a_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "inspect_ai.log", None)
    with pytest.raises(InputError, match=r"equipoise\[inspect\]"):
        read(write(tmp_path / "a.eval", [{}]))


# Parquet


def test_parquet_is_read_as_the_same_rows_in_json_lines_are(tmp_path: Path) -> None:
    rows: list[Line] = [
        {"id": "0abc", "prompt": None, "repetition": 1, "status": None, "answer": "She."},
        {"id": "0abc", "prompt": None, "repetition": 2, "status": "truncated", "answer": "He"},
        {"id": None, "prompt": "Who?", "repetition": None, "status": "timeout", "answer": None},
        {"id": "0abd", "prompt": None, "repetition": 1, "status": None, "answer": "<think>He?</think>"},
        {"id": "0abe", "prompt": None, "repetition": 1, "status": "ok", "answer": " \x1c\n"},
        {"id": "0abf", "prompt": None, "repetition": 1, "status": "ok", "answer": "<b>She</b>"},
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / "a.parquet")
    lines = write(tmp_path / "a.jsonl", rows)
    assert pl.concat(read_tables(tmp_path / "a.parquet")).equals(pl.concat(read_tables(lines)))


@pytest.mark.fault("D4")
@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"id": ["a"]}, "columns answer, and id or prompt, are needed"),
        ({"answer": ["a"]}, "are needed"),
        ({"id": [1], "answer": ["a"]}, "the column id must hold text"),
        ({"id": ["a"], "answer": [["a"]]}, "the column answer must hold text"),
        ({"id": ["a"], "answer": ["a"], "repetition": ["1"]}, "must hold whole numbers"),
        ({"id": ["a"], "answer": ["a"], "repetition": [1.5]}, "must be a whole number"),
        ({"id": ["a"], "answer": ["a"], "status": ["fine"]}, "status must be one of"),
        ({"id": [None, "a"], "answer": ["a", "b"]}, "row 1: no field id or prompt"),
        ({"id": pl.Series([], dtype=pl.String), "answer": pl.Series([], dtype=pl.String)}, "holds no answers"),
    ],
)
def test_parquet_that_cannot_be_read_is_refused(columns: dict[str, Any], words: str, tmp_path: Path) -> None:
    pl.DataFrame(columns, strict=False).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(BadFile, match=words):
        read(tmp_path / "a.parquet")


@pytest.mark.fault("D4")
def test_what_is_no_parquet_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="cannot be read as Parquet"):
        read(write(tmp_path / "a.parquet", [{"id": "a", "answer": "b"}]))
    with pytest.raises(BadFile, match="There is no file"):
        read(tmp_path / "none.parquet")
