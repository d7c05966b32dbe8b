"""What a page contains and does, as plain values to compare."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from report.browser import SHARED, Activity, Page

# Elements that are left out depend on the text: its pieces, and the points of a chart that have room for a label.
CENSUS = """(() => {
  const count = {};
  for (const element of document.querySelectorAll('*')) {
    const name = element.tagName.toLowerCase();
    if (!['bdi', 'span', 'mark', 'text'].includes(name)) count[name] = (count[name] || 0) + 1;
    for (const attribute of element.attributes)
      if (attribute.name.startsWith('on') || attribute.name === 'style') count['@' + attribute.name] = 1;
  }
  return count;
})()"""
OVERFLOW = """(() => {
  const wide = document.scrollingElement.scrollWidth > innerWidth;
  const open = document.querySelectorAll('details');
  open.forEach(details => details.open = true);
  const opened = document.scrollingElement.scrollWidth > innerWidth;
  open.forEach(details => details.open = false);
  return [wide, opened];
})()"""


@dataclass(frozen=True, kw_only=True)
class Look:
    """A page as the browser shows it. `values` are what the scripts gave."""

    activity: Activity
    address: str
    census: dict[str, int]
    overflow: list[bool]
    values: dict[str, Any]


def look_at(pages: Sequence[tuple[Path, int, bool]], scripts: dict[str, str]) -> list[Look]:
    """Open pages one after another in one browser, at a width and light or dark."""

    async def visit(page: Page) -> list[Look]:
        looks = []
        for path, width, dark in pages:
            activity = await page.open(path, width=width, dark=dark)
            await asyncio.sleep(0.1)
            looks.append(
                Look(
                    activity=activity,
                    address=await page.evaluate("location.href"),
                    census=await page.evaluate(CENSUS),
                    overflow=await page.evaluate(OVERFLOW),
                    values={name: await page.evaluate(script) for name, script in scripts.items()},
                )
            )
        return looks

    return SHARED.use(visit)


def texts(selector: str) -> str:
    """A script that gives the text of the elements."""
    return f"[...document.querySelectorAll({selector!r})].map(element => element.textContent)"


def find_harm(look: Look, path: Path, harmless: Look) -> list[str]:
    """Everything that the page does or contains and a page with harmless text does not."""
    harm = [f"dialog: {message}" for message in look.activity.dialogs]
    harm += [f"request: {url}" for url in look.activity.requests if url != path.as_uri()]
    harm += [f"problem: {problem}" for problem in look.activity.problems]
    if look.address != path.as_uri():
        harm.append(f"address: {look.address}")
    for name in sorted(look.census.keys() | harmless.census.keys()):
        number, expected = look.census.get(name, 0), harmless.census.get(name, 0)
        if number != expected:
            harm.append(f"element: {number} {name}, not {expected}")
    return harm
