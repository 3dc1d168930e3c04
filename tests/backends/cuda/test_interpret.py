"""The interpreter notices what a GPU would punish."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.cuda.interpret import run
from tests.backends.cuda.meaning import fma, high_product
from tests.backends.cuda.memory import Memory, RaceError
from tests.backends.cuda.simulate import made, robot, simulate
from tests.backends.cuda.test_kernels import given

pytestmark = pytest.mark.smoke

HEAD = ".version 7.0\n.target sm_80\n.visible .entry k(\n.param .u32 n,\n.param .u64 out0\n)\n{\n"


def program(*lines: str) -> str:
    return HEAD + "\n".join(lines) + "\n}\n"


def test_race() -> None:
    lines = ["mov.u32 %a, %tid.x;", "shl.b32 %b, %a, 2;", "xor.b32 %c, %b, 4;", "st.shared.u32 [%b], %a;"]
    with pytest.raises(RaceError):
        run(program(*lines, "ld.shared.u32 %d, [%c];"), 1, 32, 128, (0, 0), Memory())
    run(program(*lines, "bar.warp.sync 0xFFFFFFFF;", "ld.shared.u32 %d, [%c];"), 1, 32, 128, (0, 0), Memory())
    with pytest.raises(RaceError):  # both write one place
        run(
            program("mov.u32 %a, %tid.x;", "and.b32 %b, %a, 4;", "st.shared.u32 [%b], %a;"),
            1,
            32,
            128,
            (0, 0),
            Memory(),
        )


def test_kernels_need_their_barriers() -> None:
    """Without any of them, the same texts race: so the checks above mean something."""
    one = robot("iiwa14")
    what = made(one, "m", 64)
    (part,) = what.launches
    (text,) = part.texts
    bare = type(text)(text.name, text.ptx.replace("bar.warp.sync 0xFFFFFFFF;", ""), text.pool, 32, "", 0)
    what = type(what)("m", 64, what.inputs, what.outputs, (type(part)((bare,), part.reads, part.writes),))
    with pytest.raises(RaceError):
        simulate(what, given(one, "m", 5))


def test_bounds() -> None:
    memory = Memory()
    address = memory.allocate(4 * 32)
    lines = ["mov.u32 %a, %tid.x;", "mul.wide.u32 %b, %a, 4;", "ld.param.u64 %o, [out0];", "add.u64 %b, %b, %o;"]
    run(program(*lines, "st.global.u32 [%b], %a;"), 1, 32, 0, (0, address), memory)
    np.testing.assert_array_equal(memory.blocks[address].view(np.uint32), np.arange(32))
    for offset in (4, -4, 2):
        with pytest.raises(IndexError):
            run(program(*lines, f"st.global.u32 [%b+{offset}], %a;"), 1, 32, 0, (0, address), memory)
    with pytest.raises(IndexError):
        run(program(*lines, "st.shared.u32 [%a], %a;"), 1, 32, 64, (0, address), memory)


def test_lanes_sleep_until_the_label() -> None:
    memory = Memory()
    address = memory.allocate(4 * 32)
    text = program(
        "mov.u32 %a, %tid.x;", "mul.wide.u32 %b, %a, 4;", "ld.param.u64 %o, [out0];", "add.u64 %b, %b, %o;",
        "setp.lt.u32 %p, %a, 7;", "mov.u32 %c, 1;", "@%p bra OVER;", "mov.u32 %c, 2;", "OVER:", "add.u32 %c, %c, 10;",
        "st.global.u32 [%b], %c;",
    )  # fmt: skip
    run(text, 1, 32, 0, (0, address), memory)
    np.testing.assert_array_equal(memory.blocks[address].view(np.uint32), [11] * 7 + [12] * 25)


def test_arithmetic() -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 1 << 64, 1000, np.uint64) for _ in range(2))
    assert high_product(a, b).tolist() == [(int(x) * int(y)) >> 64 for x, y in zip(a, b, strict=True)]
    x, y = rng.uniform(-1, 1, (2, 1000))
    exact = fma(x, y, -(x * y))  # what the product lost
    assert 0 < np.abs(exact).max() < 2e-16
    with np.errstate(invalid="ignore"):  # as in a kernel's run
        assert fma(np.array([np.inf]), np.array([1.0]), np.array([1.0]))[0] == np.inf


def test_shuffles() -> None:
    """Within segments of eight lanes; beyond the segment a lane keeps its own, and says so."""
    lane = np.arange(64)
    for mode, by, limit, source in (
        ("up", 3, 0, lane - 3),
        ("down", 5, 31, lane + 5),
        ("idx", 2, 31, lane // 8 * 8 + 2),
    ):
        memory = Memory()
        address = memory.allocate(8 * 64)
        text = program(
            "mov.u32 %a, %tid.x;", "mul.wide.u32 %b, %a, 8;", "ld.param.u64 %o, [out0];", "add.u64 %b, %b, %o;",
            f"shfl.sync.{mode}.b32 %c|%p, %a, {by}, {24 << 8 | limit}, 0xFFFFFFFF;", "selp.b32 %d, 1, 0, %p;",
            "st.global.u32 [%b], %c;", "st.global.u32 [%b+4], %d;",
        )  # fmt: skip
        run(text, 1, 64, 0, (0, address), memory)
        inside = (source // 8 == lane // 8) & (source >= 0)
        got = memory.blocks[address].view(np.uint32).reshape(64, 2)
        np.testing.assert_array_equal(got[:, 0], np.where(inside, source, lane))
        np.testing.assert_array_equal(got[:, 1], inside)


@pytest.mark.parametrize("what", ["bar.sync 0;", "shfl.sync.up.b32 %c, %a, 1, 0, 0xFFFFFFFF;"])
def test_what_only_some_lanes_reach(what: str) -> None:
    text = program("mov.u32 %a, %tid.x;", "setp.lt.u32 %p, %a, 7;", "@%p bra OVER;", what, "OVER:")
    with pytest.raises(ValueError, match="only some lanes"):
        run(text, 1, 32, 0, (0, Memory().allocate(4)), Memory())
