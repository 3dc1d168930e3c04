"""What one instruction set is said in: its rows and its drivers, and nothing else."""

import re
from pathlib import Path

import pytest

import condyle
from condyle.backends.cpu.target import ISAS
from condyle.runtime import machine

PACKAGE = Path(condyle.__file__).parent
TEXTS = (".py", ".pyi", ".c", ".h")

FILES = {
    "runtime/instruction_sets.h",
    *(f"runtime/{drivers}/{{name}}_{bits}.c" for drivers in ("tiles", "chain") for bits in (64, 32)),
    "backends/cpu/target.py",
    "backends/cpu/encode.py",
}
"""Of a set with vectors of 32 or 64 bytes. The last one changes if its instructions have another encoding."""
ALSO = {"avx512": {"backends/c/support/vector.h"}}
"""Generated C, whose compiler may have the widest vectors."""


def test_a_set_is_said_in_few_files():
    sources = [path for path in sorted(PACKAGE.rglob("*")) if path.suffix in TEXTS]
    texts = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in sources}
    assert len(texts) > 100
    for name in ISAS:
        spelled = re.compile(name.replace("avx", "avx-?"), re.IGNORECASE)
        said = {path for path, text in texts.items() if spelled.search(text) or spelled.search(path)}
        assert said == {path.format(name=name) for path in FILES} | ALSO.get(name, set())
        assert len(said) <= 8


@pytest.mark.skipif(not machine.instruction_sets(), reason="no machine code of ours runs here")
def test_both_rows_of_a_set_agree():
    """The runtime's row, in C, and the code generator's."""
    can = machine.instruction_sets()
    assert list(can) == [name for name in ISAS if name in can]  # the best one first
    for name in can:
        assert machine.instruction_set_of(ISAS[name].vector_bytes) == name
    assert machine.instruction_set_of(8) is None
