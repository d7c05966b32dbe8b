"""Every colour of the report, light and dark. Charts are drawn in light colours; the stylesheet replaces them.

A chart's `fill="#1c2430"` is the colour `ink`, so one rule of the stylesheet gives it the `ink` of the reader's scheme.
Charts that are saved as files keep the light colours, which suit paper.
"""

from __future__ import annotations

COLOURS = {
    # name: (light, dark)
    "ink": ("#1c2430", "#e8eaee"),
    "soft": ("#556070", "#a9b2bf"),
    "line": ("#d5dae1", "#3a424e"),
    "page": ("#ffffff", "#14181e"),
    "panel": ("#f5f7f9", "#1d232b"),
    "accent": ("#1f5199", "#8fb8f2"),
    "context": ("#8b94a1", "#7d8794"),
    "band-a": ("#dff0e7", "#183327"),
    "band-b": ("#f6f0cd", "#37331a"),
    "band-c": ("#fbe3cb", "#412b18"),
    "band-d": ("#f7d6d2", "#452120"),
    "text-a": ("#0d5233", "#9be0bd"),
    "text-b": ("#5c4f00", "#e6d67c"),
    "text-c": ("#7d3c00", "#f5b982"),
    "text-d": ("#8c1812", "#f7a49d"),
    "first": ("#7a3a9c", "#cfa3e8"),
    "second": ("#0a7570", "#63c7bf"),
    "third": ("#9a6a00", "#e0b24e"),
}
LIGHT = {name: light for name, (light, _) in COLOURS.items()}


def stylesheet() -> str:
    """The colours as variables for both schemes, and the rules that replace the charts' own colours by them."""
    light, dark = ("".join(f"--{name}:{pair[scheme]};" for name, pair in COLOURS.items()) for scheme in (0, 1))
    replacements = "".join(
        f'svg [{part}="{colour}"]{{{part}:var(--{name})}}'
        for name, colour in LIGHT.items()
        for part in ("fill", "stroke")
    )
    return (
        f":root{{color-scheme:light dark;{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}{replacements}"
    )
