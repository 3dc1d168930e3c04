"""The product of derivatives that are several kernels: its answers, where it writes, and what it takes."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from condyle.backends.cuda.launches import NAME, Product
from condyle.backends.cuda.target import TARGET, WARP
from condyle.functions import FUNCTIONS
from tests.backends.cuda.interpret import launch, parse
from tests.backends.cuda.memory import Memory
from tests.backends.cuda.simulate import kernels, robot

GUARD = 3
"""Numbers before each array, which make its address an odd multiple of a number's bytes, and behind outputs; behind
inputs there is no memory."""


@pytest.mark.parametrize("bits", [32, 64])
def test_answers_and_nothing_outside(bits: int) -> None:
    """Whole and partial warps of columns, any number of right-hand sides, few registers and little shared memory, one
    Minv for all states and one for each; batches that end inside a block."""
    rng = np.random.default_rng(0)
    tight = dataclasses.replace(TARGET, values32=12, values64=12, pool=600)
    cases = [(1, 1, TARGET), (7, 2, tight), (18, 2, TARGET), (30, 2, TARGET), (33, 3, tight), (36, 2, tight)]
    for n, (nv, matrices, target) in zip((5, 3, 1, 2, 3, 2), cases, strict=True):
        kept = rng.random((nv, nv)) < 0.4
        kept[:, nv // 2 :] &= np.arange(nv)[:, None] > 1
        dtype, product = np.dtype(f"f{bits // 8}"), Product(kept, matrices, bits, target)
        shape, memory = (n, nv, nv), Memory()
        rights = [np.where(kept, rng.uniform(-1.0, 1.0, shape), 0.0).astype(dtype) for _ in range(matrices)]
        Minv = rng.uniform(-1.0, 1.0, shape if nv % 2 else (1, nv, nv)).astype(dtype)
        values, item = [n, 0], dtype.itemsize
        for array in (Minv, *rights):
            flat = np.pad(array.reshape(-1), (GUARD, 0))
            stride = 0 if len(array) < n else nv * nv * item
            values += [memory.adopt(flat.view(np.uint8)) + GUARD * item, stride]
        buffers = [memory.allocate((n * nv * nv + 2 * GUARD) * item) for _ in rights]
        poison = memory.blocks[buffers[0]][: GUARD * item].copy()
        values += [buffer + GUARD * item for buffer in buffers]
        launch(parse(product.text())[NAME], -(-n * WARP // 64), 64, 2 * product.pool, values, memory)
        for buffer, right in zip(buffers, rights, strict=True):
            data = memory.blocks[buffer]
            np.testing.assert_array_equal([data[: GUARD * item], data[-GUARD * item :]], [poison, poison])
            got = data.view(dtype)[GUARD:-GUARD].reshape(shape)
            # nv roundings of a sum below nv
            np.testing.assert_allclose(got, -(Minv @ right), rtol=0, atol=nv * nv * np.finfo(dtype).eps)


@pytest.mark.parametrize(("bits", "most"), [(32, 3_450), (64, 3_800)])
def test_what_a_warp_executes(bits: int, most: int) -> None:
    """Multiply-adds, loads and stores for one state of a floating Atlas; all else is a twentieth of that on sm_90."""
    kept = np.any(list(kernels(robot("atlas", True)).composed(FUNCTIONS["difd"], "split").kept.values()), axis=0)
    text = Product(kept, 2, bits).text()
    before, loop, after = (len(re.findall(r"\b(fma|ld|st)\.", part)) for part in re.split(r".*ROWS0:?;?", text))
    (turns,) = re.findall(r"mov.u32 %left, (\d+);", text)
    assert before + int(turns) * loop + after <= most


@pytest.mark.parametrize(("nv", "tails"), [(30, 0), (32, 0), (33, 33), (64, 0)])
def test_only_a_last_part_of_a_warp_is_guarded(nv: int, tails: int) -> None:
    """A row that fits into a warp has room behind it; of longer ones each ends with a guarded store."""
    text = Product(np.ones((nv, nv), bool), 1, 32, dataclasses.replace(TARGET, shared=1 << 20, pool=1 << 20)).text()
    assert text.count("@%tail st.shared") == tails
