"""What equipoise knows and what it fetches: packaged tables of facts, and data and weights from outside.

A fetched asset counts only when its hash is the registered one, wherever it came from.
"""

from __future__ import annotations

from equipoise.assets.registry import REGISTRY, Asset, Https, InWheel
from equipoise.assets.store import Stored, locate, sha256_of, stored
from equipoise.assets.tables import FACTS, facts

__all__ = [
    "FACTS",
    "REGISTRY",
    "Asset",
    "Https",
    "InWheel",
    "Stored",
    "facts",
    "locate",
    "sha256_of",
    "stored",
]
