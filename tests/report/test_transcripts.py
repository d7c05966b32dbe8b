"""The page of transcripts in a real browser: it filters, searches, opens, obeys the keyboard, and text stays text."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import equipoise
from equipoise.errors import BadParameter, InputError, UnknownName
from equipoise.models.protocol import Reply
from equipoise.report.charts.drawing import COLOURS
from equipoise.report.text import reveal_invisible
from equipoise.report.transcripts import choose, encode_json_for_page, render_transcripts, write_transcripts
from equipoise.runs.file.values import Attempt
from equipoise.runs.run import Run
from equipoise.schema import Status, text_column
from report.browser import SHARED, Page, look_at, texts
from report.hostile import HOSTILE
from runs.fakes import create

pytestmark = pytest.mark.usefixtures("chromium")

COUNT = "document.getElementById('count').textContent"
OUTCOMES = texts("#list .outcome")
EXCERPTS = texts("#list .excerpt")
FOCUSED = """document.activeElement.id ||
    [...document.querySelectorAll('#list > li')].indexOf(document.activeElement.closest('li'))"""
NAMES = """[...document.querySelectorAll('input, select, button')].filter(each =>
    !each.labels?.[0]?.textContent.trim() && !each.textContent.trim()).map(each => each.outerHTML)"""
KEYS = {
    "Enter": (13, "\r"),
    "/": (191, "/"),
    "ArrowLeft": (37, ""),
    "ArrowUp": (38, ""),
    "ArrowRight": (39, ""),
    "ArrowDown": (40, ""),
}
FOUND = "[...(CSS.highlights.get('found') || [])].map(range => range.toString())"


def write_answer(number: int, repetition: int) -> Reply:
    if number % 10 == 3:
        return Reply(status=Status.HTTP_ERROR, detail="503 <b>overloaded</b>")
    status = Status.TRUNCATED if number % 10 == 4 else Status.OK
    if number % 10 == 5:
        return Reply(status=status, answer="<think>He or she?</think>The person \u200b works.")
    pronoun = "He" if (number + repetition) % 2 else "She"
    return Reply(status=status, answer=f"{pronoun} is number {number} and likes Tulips.\n\n{pronoun} sings.")


def make_file(path: Path) -> Path:
    """Two probes, 60 prompts of one of them with two repetitions; every tenth attempt failed."""
    plans = [equipoise.plan("jobs_lum", sample=60, repeat=2), equipoise.plan("hiring_an", sample=16)]
    with create(path, *plans) as file:
        file.record(
            Attempt(
                probe=pending.probe,
                prompt=pending.prompt,
                repetition=pending.repetition,
                reply=write_answer(number, pending.repetition),
            )
            for number, pending in enumerate(file.pending())
        )
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_file(tmp_path_factory.mktemp("transcripts") / "run.equipoise")


@pytest.fixture(scope="module")
def html(path: Path) -> Path:
    out = path.with_name("t.html")
    assert write_transcripts(path, out) == (136, 136)
    return out


def use(html: Path, steps: Callable[[Page], Awaitable[Any]], **look: Any) -> Any:
    """What the steps give on the opened page, which did nothing that a page may not do."""

    async def visit(page: Page) -> Any:
        activity = await page.open(html, **look)
        result = await steps(page)
        assert activity.problems == activity.dialogs == []
        assert activity.requests == [html.as_uri()]
        return result

    return SHARED.use(visit)


async def see(page: Page, **scripts: str) -> dict[str, Any]:
    """What each of the scripts gives."""
    return {name: await page.evaluate(script) for name, script in scripts.items()}


async def choose_option(page: Page, label: str, value: str) -> None:
    """Choose the option that begins so, as a user finds it: by the label of the control."""
    await page.evaluate(f"""(() => {{
        const select = [...document.querySelectorAll('label')].find(each => each.textContent === {label!r}).control;
        select.value = [...select.options].find(option => option.text.split(' (')[0] === {value!r}).value;
        select.dispatchEvent(new Event('change'));
    }})()""")


async def type_text(page: Page, text: str) -> None:
    await page.call("Input.insertText", text=text)
    await asyncio.sleep(0.3)  # the page waits for the next letter before it searches


async def press(page: Page, *keys: str) -> None:
    for key, kind in itertools.product(keys, ("keyDown", "keyUp")):
        code, text = KEYS[key]
        await page.call("Input.dispatchKeyEvent", type=kind, key=key, text=text, windowsVirtualKeyCode=code)


def test_filters_count_what_they_would_leave_and_filter(html: Path) -> None:
    async def steps(page: Page) -> dict[str, Any]:
        seen = await see(page, all=COUNT)
        await choose_option(page, "probe", "jobs_lum")
        seen |= await see(page, probe=COUNT, labels=texts("[name=label] option"))
        await choose_option(page, "label", "no answer")
        seen |= await see(page, failed=COUNT, outcomes=OUTCOMES, excerpts=EXCERPTS)
        await choose_option(page, "repetition", "2")
        seen |= await see(page, repetition=COUNT, address="decodeURIComponent(location.hash)")
        await page.evaluate("document.getElementById('reset').click()")
        return seen | await see(page, reset=COUNT, focus="document.activeElement.id")

    table = Run.open(html.with_name("run.equipoise")).transcripts("jobs_lum")
    counts = dict(table.filter(table["status"] != "http_error").group_by("label").len().iter_rows())
    failed = table.filter(status="http_error")
    assert use(html, steps) == {
        "all": "136 answers",
        "probe": "120 of 136 answers",
        "labels": [
            "any",
            f"female ({counts['female']})",
            f"male ({counts['male']})",
            f"no answer ({failed.height})",
            f"undetected ({counts[None]})",
        ],
        "failed": f"{failed.height} of 136 answers",
        "outcomes": ["no answer"] * failed.height,
        "excerpts": ["503 <b>overloaded</b>"] * failed.height,
        "repetition": f"{failed.filter(repetition=2).height} of 136 answers",
        "address": "#.probe=jobs_lum&.label=no+answer&.repetition=2",
        "reset": "136 answers",
        "focus": "search",
    }


def test_a_view_can_be_opened_again_by_its_address_and_a_foreign_address_changes_nothing(html: Path) -> None:
    async def steps(page: Page) -> list[str]:
        seen = []
        for address in ("#search=TULIPS&in=answers&.probe=hiring_an", "#.probe=<b>&page=-9&x", "#page=3"):
            await page.evaluate(f"location.hash = {address!r}")
            await asyncio.sleep(0.2)
            seen.append(await page.evaluate(COUNT))
        return [*seen, await page.evaluate("document.getElementById('page').textContent")]

    found = Run.open(html.with_name("run.equipoise")).transcripts("hiring_an")
    matching = found["answer"].str.contains("Tulips").sum()
    assert use(html, steps) == [f"{matching} of 136 answers", "136 answers", "136 answers", "101–136 of 136"]


def test_search_finds_and_highlights_in_answers_and_prompts(html: Path) -> None:
    async def steps(page: Page) -> dict[str, Any]:
        await press(page, "/")
        seen = await see(page, focus="document.activeElement.id")
        await type_text(page, "number 17 AND")
        await page.evaluate("document.querySelector('#list summary').click()")
        await asyncio.sleep(0.1)
        seen |= await see(page, count=COUNT, highlighted=FOUND)
        await page.evaluate("document.getElementById('search').select()")
        await type_text(page, "no such text anywhere")
        return seen | await see(page, nothing=COUNT, left="document.querySelectorAll('#list li').length")

    assert use(html, steps) == {
        "focus": "search",
        "count": "1 of 136 answers",
        "highlighted": ["number 17 and"] * 2,
        "nothing": "0 of 136 answers",
        "left": 0,
    }


def test_an_opened_answer_shows_what_was_read_as_the_detector_read_it(path: Path, html: Path) -> None:
    async def steps(page: Page) -> dict[str, Any]:
        await choose_option(page, "probe", "jobs_lum")
        await page.evaluate("document.getElementById('toggle').click()")
        await asyncio.sleep(0.3)
        return await see(
            page,
            answers=texts(".reply > bdi"),
            prompts=texts(".prompt > bdi"),
            words="[...document.querySelectorAll('.reply mark')].map(m => [m.className, m.textContent])",
            unseen=texts(".reply .unseen"),
            reasoning=texts(".reply .reasoning"),
            excerpts=EXCERPTS,
            given=texts(".given"),
            legend=texts("#legend mark"),
        )

    seen = use(html, steps)
    first = choose(Run.open(path), ["jobs_lum"])[0].table.head(50)
    answers = first["answer"].drop_nulls().to_list()
    detector = Run.open(path).setup("jobs_lum").probe.detector
    assert seen["answers"] == [reveal_invisible(answer) for answer in answers]
    assert seen["prompts"] == first["prompt"].to_list()
    numbers = {group: place for place, group in enumerate(detector.patterns)}
    assert seen["words"] == [
        [f"group-{numbers[span.group]}", answer[span.start : span.end]]
        for answer in answers
        for span in detector.spans([answer])[0]
    ]
    assert set(seen["unseen"]) == {"U+200B"}
    assert set(seen["reasoning"]) == {"<think>He or she?</think>"}
    assert not any("think" in excerpt for excerpt in seen["excerpts"])
    assert seen["legend"] == list(detector.patterns)
    for facts, row in zip(seen["given"], first.iter_rows(named=True), strict=True):
        assert f"occupation{row['occupation']}" in facts
        assert f"prompt id{row['id']}" in facts
        assert f"repetition{row['repetition']}" in facts


def test_everything_works_with_the_keyboard(html: Path) -> None:
    page_number = "document.getElementById('page').textContent"

    async def steps(page: Page) -> dict[str, Any]:
        await press(page, "ArrowDown", "ArrowDown")
        seen = await see(page, second=FOCUSED)
        await press(page, "Enter")
        await asyncio.sleep(0.1)
        seen |= await see(page, open="[...document.querySelectorAll('#list details')].map(d => d.open).indexOf(true)")
        await press(page, "ArrowUp", "ArrowUp")
        seen |= await see(page, top=FOCUSED)
        await press(page, "ArrowDown", "ArrowRight")
        seen |= await see(page, next=page_number, focused=FOCUSED)
        await press(page, "ArrowLeft", "ArrowLeft")
        return seen | await see(page, first=page_number)

    assert use(html, steps) == {
        "second": 1,
        "open": 1,
        "top": "search",
        "next": "51–100 of 136",
        "focused": 0,
        "first": "1–50 of 136",
    }


def test_the_page_fits_and_every_control_has_a_name(html: Path) -> None:
    scripts = {
        "names": NAMES,
        "background": "getComputedStyle(document.body).backgroundColor",
        "headings": "[...document.querySelectorAll('h1, h2, h3')].map(heading => +heading.tagName[1])",
        "landmarks": "['header', 'main', 'footer', 'form'].map(name => document.querySelectorAll(name).length)",
    }
    for dark, look in enumerate(look_at([(html, 1280, False), (html, 390, True)], scripts)):
        shade = COLOURS["page"][dark].lstrip("#")
        assert look.activity.problems == look.activity.dialogs == []
        assert look.overflow == [False, False]
        assert look.values == {
            "names": [],
            "background": f"rgb{tuple(bytes.fromhex(shade))}",
            "headings": [1, 2],
            "landmarks": [1, 1, 1, 1],
        }


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which every prompt, covariate, answer and detail is a hostile string."""
    path = tmp_path_factory.mktemp("hostile") / "run.equipoise"
    with create(path, equipoise.plan("jobs_lum", sample=len(HOSTILE))) as file:
        file.record(
            Attempt(
                probe=pending.probe,
                prompt=pending.prompt,
                repetition=1,
                reply=Reply(status=Status.OK, answer=string)
                if number % 2
                else Reply(status=Status.MALFORMED, detail=string),
            )
            for number, (pending, string) in enumerate(zip(file.pending(), HOSTILE, strict=True))
        )
    return path


@pytest.mark.fault("S1", "S2")
def test_hostile_text_is_only_text(hostile: Path) -> None:
    run = Run.open(hostile)
    run.model = "</title></script><script>alert(1)</script>"
    (chosen,) = choose(run)
    strings = [string if number % 2 else "x" for number, string in enumerate(HOSTILE)]
    table = chosen.table.with_columns(text_column("occupation", strings), text_column("prompt", strings))
    out = hostile.with_name("t.html")
    out.write_text(render_transcripts(run, [replace(chosen, table=table)]), encoding="utf-8")

    async def steps(page: Page) -> dict[str, Any]:
        seen: dict[str, Any] = {"answers": [], "details": [], "prompts": []}
        for _ in range(len(HOSTILE) // 50 + 1):
            await page.evaluate("document.getElementById('toggle').click()")
            await asyncio.sleep(0.2)
            seen["answers"] += await page.evaluate(texts(".reply > bdi"))
            seen["details"] += await page.evaluate(texts(".detail > bdi"))
            seen["prompts"] += await page.evaluate(texts(".prompt > bdi"))
            await page.evaluate("document.getElementById('next').click()")
        return seen | await see(
            page,
            elements="[...new Set([...document.querySelectorAll('body *')].map(each => each.tagName))]",
            scripts="document.scripts.length",
            address="location.href.split('#')[0]",
        )

    seen = use(out, steps)
    assert seen["address"] == out.as_uri()
    assert seen["answers"] == [reveal_invisible(string) for string in HOSTILE[1::2]]
    assert seen["details"] == [reveal_invisible(string[:300]) for string in HOSTILE[::2] if string]
    assert seen["prompts"] == [reveal_invisible(string) for string in strings]
    assert not set(seen["elements"]) & {"IMG", "SVG", "B", "STYLE", "LINK", "IFRAME", "OBJECT", "VIDEO", "BASE"}
    assert seen["scripts"] == 1  # its own; the data were removed when they were read


@pytest.mark.fault("S1")
def test_the_policy_lets_only_the_one_script_run_and_data_cannot_end_it(html: Path) -> None:
    page = html.read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in unescape(policy[1]).split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["require-trusted-types-for"] == "'script'"
    assert re.fullmatch(r"'sha256-[\w+/=]+'", rules["script-src"])
    assert page.count("<script") == page.count("</script") == 2
    encoded = encode_json_for_page(["</script><!--<script>&lt;\u2028"])
    assert json.loads(encoded) == ["</script><!--<script>&lt;\u2028"]
    assert not set("<>&\u2028") & set(encoded)


def test_options_narrow_what_is_written(path: Path) -> None:
    run = Run.open(path)
    table = run.transcripts("jobs_lum")

    def count(*probes: str, search: str = "", most: int = 9, **where: str) -> int:
        return sum(each.fitting for each in choose(run, probes, where, search, most))

    assert count() == 136
    assert count("jobs_lum") == 120
    undetected = table["label"].is_null() & (table["status"] != "http_error")
    assert count("jobs_lum", label="undetected") == undetected.sum()
    assert count(status="truncated", repetition="2") == table.filter(status="truncated", repetition=2).height
    assert count("jobs_lum", occupation=table["occupation"][0]) == 2
    assert count(gender="female") == 8
    assert count(search="NUMBER 17 and") == 1
    with pytest.raises(UnknownName):
        count("jobs_lun")
    with pytest.raises(UnknownName, match="Did you mean 'gender'"):
        count(gendr="x")
    with pytest.raises(InputError, match="Leave out a condition"):
        count(label="men")
    with pytest.raises(BadParameter):
        count(most=0)


def test_too_many_answers_are_left_out_in_fair_shares_and_the_page_says_so(path: Path, tmp_path: Path) -> None:
    assert write_transcripts(path, tmp_path / "t.html", most=40) == (40, 136)
    assert [each.table.height for each in choose(Run.open(path), most=40)] == [16, 24]
    (look,) = look_at([(tmp_path / "t.html", 1280, False)], {"count": COUNT, "note": texts(".banner")})
    assert look.values["count"] == "40 answers"
    assert look.values["note"][0].startswith("96 of 136 answers are left out")
    assert "--probe, --where, --search" in look.values["note"][0]


def test_counted_words_are_described_and_stereotypes_have_their_names(one: Run, tmp_path: Path) -> None:
    assert write_transcripts(one, tmp_path / "t.html", probes=["gest_creative", "business_vocabulary"])[0] == 144
    page = (tmp_path / "t.html").read_text(encoding="utf-8")
    gest, letters = json.loads(unescape(re.findall(r'id="data">(.*?)</script>', page)[0]))
    names = one.setup("gest_creative").probe.value_names["stereotype"].values()
    assert {prompt["facts"]["stereotype"] for prompt in gest["prompts"]} <= {*names}
    detector = one.setup("business_vocabulary").probe.detector
    rows = one.transcripts("business_vocabulary").iter_rows(named=True)
    assert {answer["read"] for answer in letters["answers"]} == {detector.describe(row) for row in rows}
    assert {answer["label"] for answer in letters["answers"]} == {"counted"}
