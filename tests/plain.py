"""Values that compare equal on every version of Python, although they hold numbers that are none."""

from __future__ import annotations

from typing import Any

import msgspec

from equipoise.schema import without_nan


def to_plain(values: Any) -> Any:
    """The fields of values as plain Python, with None in the place of NaN.

    Two NaN are never equal. Until Python 3.12 dataclasses with the very same NaN were, and since 3.13 they are not.
    """
    return without_nan(msgspec.to_builtins(values))
