"""What a call that is refused says, whole."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from condyle.errors import UnsupportedError


def refuses(said: str, call: Callable[[], object], error: type[Exception] = UnsupportedError) -> None:
    """A call whose message is this text, or begins with it if it ends with dots."""
    end = "" if said.endswith("...") else "$"
    with pytest.raises(error, match=rf"^{re.escape(said.removesuffix('...'))}{end}"):
        call()
