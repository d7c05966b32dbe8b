"""Data and weights from outside, verified by hash, and the packaged facts; what they mean belongs to `probes/`."""

from __future__ import annotations

from equipoise.assets.registry import FACTS, REGISTRY, Asset, InWheels, facts, find_asset
from equipoise.assets.store import StoredFile, find_stored, locate, sha256_of

__all__ = [
    "FACTS",
    "REGISTRY",
    "Asset",
    "InWheels",
    "StoredFile",
    "facts",
    "find_asset",
    "find_stored",
    "locate",
    "sha256_of",
]
