"""Random numbers: known answers, the same bits on every target, distributions, and what other numbers do."""

from __future__ import annotations

import subprocess
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import random
from condyle.backends.common.forms import alone
from condyle.backends.cpu.assemble import assemble
from condyle.backends.cpu.operations import SLOT
from condyle.backends.cpu.target import AVX2, AVX512, Isa
from condyle.ir.program import Array, Output, Program
from condyle.operations import DRAWN, OPERATIONS, WORDS, threefry
from condyle.passes.elementary.expand import RANDOM, expand, word
from condyle.passes.elementary.values import Code
from tests.backends.cpu.machine import execute
from tests.backends.targets import RUNNERS, SINGLE
from tests.programs import needs

# Counter, key, words of threefry4x32 with 20 rounds: tests/kat_vectors of github.com/DEShawResearch/random123.
KNOWN = """
00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 9c6ca96a e17eae66 fc10ecd4 5256a7d8
ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff 2a881696 57012287 f6c7446e a16a6732
243f6a88 85a308d3 13198a2e 03707344 a4093822 299f31d0 082efa98 ec4e6c89 59cd1dbb b8879579 86b5d00c ac8b6d84
"""
VECTORS = np.array([[int(word, 16) for word in line.split()] for line in KNOWN.split("\n") if line], np.uint32)
DTYPES = ("float64", "float32")


def rounds(bits: int) -> Program:
    """Threefry of a counter and a key that are given as bits."""
    code = Code(bits, {})
    given = [code.node(("input", 0, k)) for k in range(8)]
    made = threefry(given[4:], given[:4], code.op, lambda x: word(code, x))
    outputs = tuple(Output(0, k, x.index) for k, x in enumerate(made))
    return Program("rounds", (Array("x", (8,)),), (Array("y", (4,)),), tuple(code.nodes), outputs)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("target", [name for name in RUNNERS if name not in SINGLE])
def test_known_answers(target: str, dtype: str) -> None:
    bits = f"u{np.dtype(dtype).itemsize}"
    got = RUNNERS[target](rounds(8 * np.dtype(dtype).itemsize), [VECTORS[:, :8].astype(bits).view(dtype)])
    assert (got.view(bits).astype(np.uint32) == VECTORS[:, 8:]).all()


def words(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Keys and counters, (n, 8): the least and the largest, others, and such that do not count as they are; and what
    these count as."""
    x = np.random.default_rng(3).integers(0, WORDS, (n, 8)).astype(np.float64)
    x[0], x[1] = 0, WORDS - 1
    counted = x.copy()
    x[2:7, 1] = -1, WORDS + 6, 2.5, -0.75, -(2.0**30) - 128
    counted[2:7, 1] = WORDS - 1, 6, 2, WORDS - 1, WORDS - 128
    x[7:10, 4] = np.nan, np.inf, -np.inf
    return x, counted


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("target", RUNNERS)
def test_every_target_has_the_same_numbers(target: str, dtype: str) -> None:
    """To the last bit, in both types. Whole numbers count modulo 2**23, fractions are rounded, NaN gives NaN."""
    x, counted = words(100)
    block = list(counted.astype(np.uint32).T)
    made = threefry(block[:4], block[4:], on_integers, np.uint32)
    want = np.stack(made, -1) % WORDS * 2.0**-23
    want[7:10] = np.nan
    for k, op in enumerate(RANDOM):
        if target in SINGLE:
            got = RUNNERS[target](alone(op), [x[:, i : i + 1].astype(dtype) for i in range(8)])[:, 0]
        else:
            got = RUNNERS[target](FOUR, [x.astype(dtype)])[:, k]
        np.testing.assert_array_equal(got, want[:, k])


def on_integers(op: str, x: np.ndarray, y: Any = 0) -> np.ndarray:
    if op.startswith("rotl"):
        places = int(op.removeprefix("rotl"))
        return x << np.uint32(places) | x >> np.uint32(32 - places)
    return x + y if op == "iadd" else x ^ y


FOUR = Program(
    "four",
    (Array("x", (8,)),),
    (Array("y", (4,)),),
    (*(("input", 0, k) for k in range(8)), *((op, *range(8)) for op in RANDOM)),
    tuple(Output(0, k, 8 + k) for k in range(4)),
)
"""The numbers of one block."""


@pytest.mark.parametrize("isa", [AVX2, AVX512], ids=lambda isa: isa.name)
def test_machine_code_of_either_set(isa: Isa) -> None:
    """Executed instruction by instruction in Python, so AVX-512 is checked where the processor has none."""
    x, _ = words(12)
    made = assemble(FOUR, isa, 64)
    constants = np.frombuffer(made.constants, np.float64)[:: 1 if isa.broadcast else isa.lanes(64)]
    (kernel,) = made.kernels
    stores = [i.b - SLOT for i in kernel.code if i.op == "store"]
    for row in x:
        got = execute(kernel.code, isa.registers, dict(enumerate(row)), [float(c) for c in constants])
        want = [OPERATIONS[op].meaning(*row) for op in RANDOM]
        np.testing.assert_array_equal(sorted(got[slot] for slot in stores[-4:]), np.sort(want))


def test_the_numbers_of_a_block_share_its_rounds() -> None:
    single, together = (len(expand(program, 32)) for program in (alone("random3"), FOUR))
    assert together < single + 20
    assert {name for name, row in OPERATIONS.items() if row.source == DRAWN} == set(RANDOM)


def drawn(key: Any, counter: Any) -> dict[str, Any]:
    return {
        "even": random.uniform(key, counter, (2, 3)),
        "bell": random.normal([key[0], key[1], 7], [counter[0], 5], 5),
        "single": random.uniform(key[:1], [counter[1] + 1.0]),
    }


@pytest.mark.parametrize("dtype", DTYPES)
def test_symbols_are_what_numbers_are(dtype: str) -> None:
    """Normal numbers differ by rounding: of the angle, up to 2 pi, and of the radius, up to 5.65."""
    x, _ = words(4096)
    key, counter = np.delete(x, range(2, 10), 0)[:, :4], np.delete(x, range(2, 10), 0)[:, 4:6] // 2
    function = condyle.function(drawn, inputs={"key": 4, "counter": 2}).compile(dtype=dtype)
    even, bell, single = function(key.astype(dtype), counter.astype(dtype))
    np.testing.assert_array_equal(even, random.uniform(key, counter, (2, 3)))
    np.testing.assert_array_equal(single, random.uniform(key[:, :1], counter[:, 1:] + 1))
    want = random.normal([key[:, 0], key[:, 1], 7], [counter[:, 0], 5], 5)
    assert np.abs(bell - want).max() <= 32 * np.finfo(dtype).eps


def test_words_that_are_known_when_it_is_compiled() -> None:
    """A key or a counter of numbers, or symbols that are numbers after all."""

    def known(x: Any) -> Any:
        three = np.zeros_like(x) + 3.0
        return np.stack([random.uniform([1, 2], x), random.uniform(three, [x[0]]), random.uniform(three, [5])])

    got = condyle.function(known, inputs={"x": 1}).compile(dtype="float32")(np.array([4.0], np.float32))
    want = random.uniform([1, 2], [4]), random.uniform([3], [4]), random.uniform([3], [5])
    np.testing.assert_array_equal(got, want)


def test_derivatives_are_zero() -> None:
    function = condyle.function(drawn, inputs={"key": 4, "counter": 2})
    made = function.compile(target="numpy")
    key, counter = np.array([1.0, 2, 3, 4]), np.array([5.0, 6])
    for slope in made.jacobian()(key, counter):
        assert not np.any(slope)


def test_shapes_and_leading_dimensions_of_numbers() -> None:
    """A state at a time, or all at once; a longer draw begins with a shorter one."""
    robots = np.arange(5)
    at_once = random.uniform([3, 4, robots[:, None]], [np.arange(2)], (3, 2))
    assert (
        at_once.shape == (5, 2, 3, 2)
        and random.uniform([1], [2]).shape == ()
        and random.normal([1], [2], 0).shape == (0,)
    )
    for robot in robots:
        for step in range(2):
            np.testing.assert_array_equal(at_once[robot, step], random.uniform([3, 4, robot], [step], (3, 2)))
    for kind in (random.uniform, random.normal):
        long = kind([1, 2], [3], 11)
        for n in range(12):
            np.testing.assert_array_equal(kind([1, 2], [3], n), long[:n])
    np.testing.assert_array_equal(
        random.uniform(np.array([1, 2]), np.array([3]), 4), random.uniform((1, 2, 0, 0), [3, 0, 0], 4)
    )


def test_numbers_that_are_no_words_are_refused() -> None:
    name = r"condyle\.random\.uniform"
    for wrong, said in ((-1, "-1"), (1 << 23, "8388608"), (0.5, "0.5"), (np.nan, "nan"), (np.inf, "inf")):
        for key, counter, what in (([wrong], [0], "key"), ([0], [wrong], "counter")):
            with pytest.raises(ValueError, match=rf"{name}: {what} has {said}.*whole numbers from 0 to 8388607"):
                random.uniform(key, counter)
    for key, counter, what in (([0] * 5, [0], "key"), ([0], [0] * 4, "counter"), ([], [0], "key"), (3, [0], "key")):
        with pytest.raises(ValueError, match=rf"{name}: {what} has .* words, got shape"):
            random.uniform(key, counter)
    with pytest.raises(ValueError, match="negative dimensions"):
        random.normal([0], [0], -1)
    for key, message in (
        ([-1.0], "key has -1"),
        (np.ones((2, 2)), r"no dimension but that of words, got shape \(2, 2\)"),
    ):
        with pytest.raises(ValueError, match=message):
            condyle.function(lambda x, key=key: random.normal(key, [x[0]], 3), inputs={"x": 1})


def test_seeds_of_any_size() -> None:
    seeds = [0, 1, -1, 2**23, 2**31, 2**64, -(2**100), *range(2, 300)]
    pairs = [random.seed_words(seed) for seed in seeds]
    assert len(set(pairs)) == len(seeds) and all(0 <= word < WORDS for pair in pairs for word in pair)
    assert random.seed_words(np.int64(7)) == random.seed_words(7)
    with pytest.raises(TypeError, match="integer"):
        random.seed_words(0.5)  # type: ignore[arg-type]


N = 1 << 17
"""Numbers of a stream. Bounds are five standard deviations of what is estimated; numbers are always the same."""


def streams() -> list[tuple[list[Any], list[Any]]]:
    """Keys and counters of neighbouring streams: seeds, robots, episodes, steps, purposes."""
    low, high = random.seed_words(0)
    base = [low, high, 0, 0], [0, 0]
    near = [([low + 1, high, 0, 0], [0, 0]), ([low, high, 1, 0], [0, 0]), ([low, high, 0, 1], [0, 0])]
    return [base, *near, ([low, high, 0, 0], [1, 0]), ([low, high, 0, 0], [0, 1])]


def test_uniform_numbers_are_distributed_evenly() -> None:
    drawn = [random.uniform(key, counter, N) for key, counter in streams()]
    drawn += [random.uniform([1, 2, np.arange(N)], [3]), random.uniform([1, 2], [np.arange(N), 4])]
    bins = 256
    for x in drawn:
        assert x.min() >= 0.0 and x.max() < 1.0
        assert abs(x.mean() - 0.5) < 5 / np.sqrt(12 * N) and abs(x.var() - 1 / 12) < 5 / np.sqrt(180 * N)
        for part in (x, x * bins % 1.0):  # of the upper and the middle bits
            counts = np.bincount((part * bins).astype(int), minlength=bins)
            chi = float(((counts - N / bins) ** 2).sum() * bins / N)
            assert abs(chi - (bins - 1)) < 5 * np.sqrt(2 * (bins - 1))
    apart(drawn)


def apart(drawn: list[np.ndarray]) -> None:
    """No stream is correlated with another one, nor with itself some numbers later."""
    unit = np.array([(x - x.mean()) / x.std() for x in drawn])
    between = unit @ unit.T / N - np.eye(len(unit))
    assert np.abs(between).max() < 5 / np.sqrt(N)
    for later in (1, 2, 3, 4, 8, 64):
        assert np.abs((unit[:, later:] * unit[:, :-later]).mean(axis=1)).max() < 5 / np.sqrt(N - later)


def test_normal_numbers_are_distributed_normally() -> None:
    drawn = [random.normal(key, counter, N) for key, counter in streams()]
    edges = [NormalDist().inv_cdf(k / 64) for k in range(1, 64)]
    for x in drawn:
        assert np.abs(x).max() <= 5.65
        for power, moment, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
            assert abs((x**power).mean() - moment) < 5 * np.sqrt(variance / N)
        chi = float(((np.bincount(np.digitize(x, edges)) - N / 64) ** 2).sum() * 64 / N)
        assert abs(chi - 63) < 5 * np.sqrt(126)
    apart(drawn)


def test_the_largest_normal_numbers_are_finite() -> None:
    """1 - u is 2**-23 at least, so there is no logarithm of zero."""
    assert np.sqrt(-2.0 * np.log(2.0**-23)) <= 5.65


@needs("cc")
def test_casadi_has_the_same_numbers() -> None:
    pytest.importorskip("casadi")
    from condyle.interop.casadi import wrap

    key, counter = np.array([1.0, 2.0, 3.0, 4.0]), np.array([5.0, 6.0])
    even, bell, _ = wrap(condyle.function(drawn, inputs={"key": 4, "counter": 2}).compile())(key, counter)
    np.testing.assert_array_equal(np.array(even), random.uniform(key, counter, (2, 3)))
    assert np.abs(np.array(bell).ravel() - random.normal([1, 2, 7], [5, 5], 5)).max() < 1e-14


@needs("cc")
def test_an_exported_function_passes_its_own_test(tmp_path: Path) -> None:
    condyle.function(drawn, inputs={"key": 4, "counter": 2}).export(
        "c", tmp_path, derivatives=("vjp",), dtype="float32"
    )
    sources = sorted(str(path) for path in tmp_path.glob("*.c"))
    subprocess.run(
        ["cc", "-O1", "-Wall", "-Wextra", "-Werror", *sources, "-lm", "-o", str(tmp_path / "check")], check=True
    )
    subprocess.run([str(tmp_path / "check")], check=True)


@pytest.mark.parametrize("seed", [0, 1, -1, 2**64, -(2**100)])
def test_words_of_a_seed_are_those_of_numpys_sequence(seed: int) -> None:
    """The lowest 23 bits of two words, of the sign and the magnitude."""
    state = np.random.SeedSequence([int(seed < 0), abs(seed)]).generate_state(2)
    assert random.seed_words(seed) == tuple(int(word) & 0x7FFFFF for word in state)
