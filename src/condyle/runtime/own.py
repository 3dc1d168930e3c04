"""What this installation of Condyle is made of."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent


@cache
def identity() -> str:
    """sha256 (hex) over Condyle's own Python sources: what they made may be used again only while they are the same.

    Empty where they cannot be read.
    """
    digest = hashlib.sha256()
    try:
        for path in sorted(PACKAGE.rglob("*.py")):
            digest.update(f"{path.relative_to(PACKAGE)}\n".encode() + path.read_bytes())
    except OSError:
        return ""
    return digest.hexdigest()
