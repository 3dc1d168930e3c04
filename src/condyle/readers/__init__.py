"""Readers: a model file becomes a Robot; everything unsupported is refused here, all of it in one message."""

from __future__ import annotations

from condyle.readers.load import BUNDLED, load_robot

__all__ = ["BUNDLED", "load_robot"]
