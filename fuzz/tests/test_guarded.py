"""The guard pages of the fuzzers do end a process that goes beyond an array."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fuzz.guarded import PAGE, guarded

ROOT = Path(__file__).resolve().parents[2]
BEYOND = """
import ctypes, sys
import numpy as np
from fuzz.guarded import guarded
array, memory = guarded((5, 7), np.dtype("f8"), at_end={at_end})
ctypes.memset(array.ctypes.data + {offset}, 0, 1)
"""


@pytest.mark.parametrize(
    ("at_end", "offset", "ends"), [(True, 279, False), (True, 280, True), (False, 0, False), (False, -1, True)]
)
def test_one_byte_beyond_ends_the_process(at_end: bool, offset: int, ends: bool) -> None:
    script = BEYOND.format(at_end=at_end, offset=offset)
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode < 0) == ends, done.stderr


def test_what_is_written_on_the_same_page_is_seen() -> None:
    array, memory = guarded((3,), np.dtype("f4"), at_end=True)
    array[...] = 1.0
    memory.check()
    whole = array.base
    assert isinstance(whole, np.ndarray) and array.ctypes.data % PAGE == PAGE - 12
    whole[-PAGE - 13] = 0
    with pytest.raises(AssertionError, match="beside an array"):
        memory.check()
