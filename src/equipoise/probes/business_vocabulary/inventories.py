"""The word inventories, by name and gender."""

from __future__ import annotations

from equipoise import authoring as eq

GENDERS = ("male", "female")
INVENTORIES = tuple(dict.fromkeys(eq.facts("inventories")["inventory"]))
TITLES = {
    "bsri": "Bem 1974 (BSRI)",
    "epaq": "Schullo & Alperson 1984 (EPAQ)",
    "gaucher": "Gaucher et al. 2011",
    "gest": "Pikuliak et al. 2024 (GEST)",
    "nicolas": "Nicolas et al. 2019",
    "wan": "Wan et al. 2023",
}
"""Whose list of words each inventory is."""
WORDS: dict[str, list[str]] = {
    f"{inventory}_{gender}": rows["word"].to_list()
    for (inventory, gender), rows in eq.facts("inventories").group_by("inventory", "gender", maintain_order=True)
}
CODED = {gender: {word for inventory in INVENTORIES for word in WORDS[f"{inventory}_{gender}"]} for gender in GENDERS}
"""All words that any inventory has for a gender."""
GROUPS = {
    "masculine": sorted(CODED["male"] - CODED["female"]),
    "feminine": sorted(CODED["female"] - CODED["male"]),
    "both": sorted(CODED["male"] & CODED["female"]),
}
"""What each word speaks for, over all inventories."""
