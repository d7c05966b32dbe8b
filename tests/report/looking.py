"""What a page holds and does, as plain values to compare."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from report.browser import Seen, browser

# How many there are of these depends on the text: pieces of it, and the points of a chart that have room for a name.
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
    """A page as the browser saw it."""

    seen: Seen
    address: str
    census: dict[str, int]
    overflow: list[bool]
    found: dict[str, Any]


def look_at(pages: Sequence[tuple[Path, int, bool]], scripts: dict[str, str]) -> list[Look]:
    """Open pages one after another in one browser, at a width and light or dark."""

    async def visit() -> list[Look]:
        looks = []
        async with browser() as page:
            for path, width, dark in pages:
                seen = await page.open(path, width=width, dark=dark)
                await asyncio.sleep(0.1)
                looks.append(
                    Look(
                        seen=seen,
                        address=await page.evaluate("location.href"),
                        census=await page.evaluate(CENSUS),
                        overflow=await page.evaluate(OVERFLOW),
                        found={name: await page.evaluate(script) for name, script in scripts.items()},
                    )
                )
        return looks

    return asyncio.run(visit())


def texts(selector: str) -> str:
    """The expression for what the elements hold as text."""
    return f"[...document.querySelectorAll({selector!r})].map(element => element.textContent)"


def complaints(look: Look, path: Path, benign: Look) -> list[str]:
    """Everything that the page did or holds and a page with harmless text does not."""
    found = [f"dialog: {message}" for message in look.seen.dialogs]
    found += [f"request: {url}" for url in look.seen.requests if url != path.as_uri()]
    found += [f"problem: {problem}" for problem in look.seen.problems]
    found += [f"address: {look.address}"] * (look.address != path.as_uri())
    names = sorted(look.census.keys() | benign.census.keys())
    return found + [
        f"element: {look.census.get(name, 0)} {name}, not {benign.census.get(name, 0)}"
        for name in names
        if look.census.get(name) != benign.census.get(name)
    ]
