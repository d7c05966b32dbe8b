"""Data and weights from outside, verified by hash, and the packaged facts; what they mean belongs to `probes/`."""

from __future__ import annotations

from equipoise.assets.registry import REGISTRY, Asset, Https, InWheel, InWheels, find_asset
from equipoise.assets.store import StoredFile, describe_wrong_file, find_hash, find_stored, locate, sha256_of
from equipoise.assets.tables import FACTS, facts

__all__ = [
    "FACTS",
    "REGISTRY",
    "Asset",
    "Https",
    "InWheel",
    "InWheels",
    "StoredFile",
    "describe_wrong_file",
    "facts",
    "find_asset",
    "find_hash",
    "find_stored",
    "locate",
    "sha256_of",
]
