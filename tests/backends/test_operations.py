"""Every operation on every float target: within 2 units in the last place, NumPy's special values, random Programs."""

from __future__ import annotations

import ctypes
import itertools
import random
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from condyle import scalar
from condyle.backends.c.source import source, support
from condyle.backends.common.facts import Facts
from condyle.backends.common.forms import EVERYTHING, FORMS, alone
from condyle.backends.cpu.assemble import assemble
from condyle.backends.cpu.operations import EXPANSIONS, ROWS, SLOT
from condyle.backends.cpu.target import AVX2, AVX512, Isa
from condyle.backends.cuda.cpp.plan import plan
from condyle.backends.cuda.cpp.project import header
from condyle.backends.cuda.launches import Composed, grouped, straight
from condyle.backends.cuda.target import WHOLE, Form, Size
from condyle.backends.cuda.thread_kernel import OPERATIONS as PTX
from condyle.compile.gpu import GpuFunction, GpuKernels
from condyle.errors import UnsupportedError
from condyle.fpga.rtl.datapath import Incoming, Word
from condyle.fpga.rtl.lower import OPERATIONS as FPGA
from condyle.fpga.rtl.lower import Source, lower
from condyle.fpga.rtl.target import Format, word_of
from condyle.functions import FUNCTIONS
from condyle.ir.count import count, work
from condyle.ir.interp import run
from condyle.ir.program import Array, Output, Program
from condyle.operations import AMOUNTS, MACHINE, OPERATIONS, TRACED, TRIGONOMETRIC
from condyle.passes.elementary.expand import ELEMENTARY, expand
from condyle.passes.elementary.values import COSINE, SINE
from condyle.specification import Call, Function
from tests.backends.cpu.machine import execute
from tests.backends.points import columns, exact, samples, ulps
from tests.backends.targets import FEW, RUNNERS, SINGLE
from tests.processor import slow
from tests.programs import needs, skip_without

NEW = [op for op, row in OPERATIONS.items() if op in ("min", "max", "select") or (row.c and op not in TRIGONOMETRIC)]
"""All but arithmetic; sine and cosine have tests of their own."""
DTYPES = ("float64", "float32")
MANY = 20_000


needs_long = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 60, reason="no format longer than float64 to compare with"
)


def side_by_side(operations: Iterable[str]) -> Program:
    """A Program of these operations, each on inputs of its own."""
    nodes: list[tuple[object, ...]] = []
    outputs: list[Output] = []
    inputs = 0
    for op in operations:
        arity = OPERATIONS[op].arity
        first = len(nodes)
        nodes += [("input", inputs + k, 0) for k in range(arity)]
        nodes.append((op, *range(first, first + arity)))
        outputs.append(Output(0, len(outputs), len(nodes) - 1))
        inputs += arity
    arrays = tuple(Array(f"x{k}", (1,)) for k in range(inputs))
    return Program("side", arrays, (Array("y", (len(outputs),)),), tuple(nodes), tuple(outputs))  # type: ignore[arg-type]


def answers(target: str, operands: Mapping[str, Sequence[np.ndarray]]) -> Iterator[tuple[str, np.ndarray]]:
    """Each operation's answers on its own operands, of one build where the target runs whole Programs."""
    if target in SINGLE:
        yield from ((op, RUNNERS[target](alone(op), columns(some))[:, 0]) for op, some in operands.items())
        return
    some = next(iter(operands.values()))[0]
    every = {op: [np.ones_like(some)] * OPERATIONS[op].arity for op in NEW} if target == "c" else {}  # gcc runs once
    every |= operands
    found = RUNNERS[target](side_by_side(every), columns([x for given in every.values() for x in given])).T
    yield from ((op, got) for op, got in zip(every, found, strict=True) if op in operands)


@needs_long
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("target", RUNNERS)
def test_within_two_units_in_the_last_place(target: str, dtype: str) -> None:
    operands = {op: samples(op, dtype, FEW.get(target, MANY)) for op in NEW}
    for op, got in answers(target, operands):
        error = ulps(got, exact(op, operands[op]))
        worst = int(np.argmax(error))
        allowed = 1.6 if op in ELEMENTARY and target != "numpy" else 2.0 if op in ELEMENTARY else 0.5
        assert error[worst] <= allowed, (op, [float(x[worst]) for x in operands[op]])


SPECIAL = (0.0, 1.0, 0.5, 2.0, 1e-320, 1e-30, 3e38, 1.7e308, np.inf, np.nan)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("arity", [1, 2, 3])
@pytest.mark.parametrize("target", RUNNERS)
def test_special_values_are_numpys(target: str, arity: int, dtype: str) -> None:
    """Zeros with their signs, subnormal numbers, infinities, NaN, in every combination."""
    with np.errstate(all="ignore"):
        values = np.array([s * x for x in SPECIAL for s in (1.0, -1.0)]).astype(dtype)
    operands = [np.array(part, dtype) for part in zip(*itertools.product(values, repeat=arity), strict=True)]
    if target == "cpu-alone":
        operands = [x[:: 1 + len(operands[0]) // 400] for x in operands]
    of_arity = [op for op in NEW if OPERATIONS[op].arity == arity]
    assert of_arity
    for op, got in answers(target, dict.fromkeys(of_arity, operands)):
        check_special(op, operands, got)


def check_special(op: str, operands: Sequence[np.ndarray], got: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        want = OPERATIONS[op].meaning(*operands)
    special = ~np.isfinite(want) | (want == 0) | np.isin(np.abs(want), [1.0])
    np.testing.assert_array_equal(got[special], want[special], err_msg=op)
    assert (ulps(got, want) <= 2).all(), op
    signed = (
        (want == 0)
        if op not in ("min", "max")
        else (want == 0) & (operands[0] == operands[1]) & (np.signbit(operands[0]) == np.signbit(operands[-1]))
    )
    assert (np.signbit(got) == np.signbit(want))[signed].all(), op


@pytest.mark.parametrize(
    ("dtype", "x", "limit"), [("float64", 709.782712893384, 1.797e308), ("float32", 88.722835, 3.4e38)]
)
@pytest.mark.parametrize("target", RUNNERS)
def test_exp_overflows_and_underflows_where_it_has_to(target: str, dtype: str, x: float, limit: float) -> None:
    kind = np.finfo(dtype)
    low = np.log(float(kind.smallest_subnormal))
    points = np.array([x, np.nextafter(np.dtype(dtype).type(x), np.inf) + kind.eps * 512, low + 0.1, low - 0.9], dtype)
    top, over, least, none = RUNNERS[target](alone("exp"), [points[:, None]])[:, 0]
    assert limit < top < np.inf and over == np.inf and least == kind.smallest_subnormal and none == 0


def arbitrary(seed: int, operations: int = 120) -> Program:
    """A random Program of all that symbols make, of bounded values, so that differences in rounding stay small."""
    rng = random.Random(seed)
    nodes: list[tuple[object, ...]] = [("input", 0, k) for k in range(6)]
    nodes += [("const", value) for value in (1.0, 0.25, -0.75)]
    one, quarter = 6, 7
    names = [name for name, row in OPERATIONS.items() if row.source == TRACED]
    while len(nodes) < operations:
        pick = [rng.randrange(max(0, len(nodes) - 40), len(nodes)) for _ in range(3)]
        op = rng.choice(names)
        if op in ("rcp", "sqrt", "log"):
            nodes.append(("fma", pick[0], pick[0], one))
            pick[0] = len(nodes) - 1
        if op in ("min", "max", "select", "abs") or op in TRIGONOMETRIC:
            nodes.append(("mul", pick[0], quarter))
            pick[0] = len(nodes) - 1
        if op == "select":  # far from where it changes
            nodes += [("abs", pick[0]), ("add", len(nodes), quarter)]
            pick[0] = len(nodes) - 1
        if op == "atan2":
            nodes += [("abs", pick[1]), ("add", len(nodes), one)]
            pick[1] = len(nodes) - 1
        nodes.append((op, *pick[: OPERATIONS[op].arity]))
        nodes.append(("tanh", len(nodes) - 1))
    outputs = tuple(Output(0, k, len(nodes) - 1 - 2 * k) for k in range(30))
    return Program("mixed", (Array("x", (6,)),), (Array("y", (30,)),), tuple(nodes), outputs)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", [0, 1, slow(2), slow(3)])
@pytest.mark.parametrize("target", [name for name in RUNNERS if name != "numpy" and name not in SINGLE])
def test_random_programs_mean_the_same(target: str, seed: int, dtype: str) -> None:
    """Agreement with the interpreter, of values of size 1: the tolerance of the other operations."""
    program = arbitrary(seed)
    x = np.random.default_rng(seed).uniform(-1.5, 1.5, (64, 6)).astype(dtype)
    (want,) = run(program, [x], np.dtype(dtype).type)
    got = RUNNERS[target](program, [x])
    assert np.abs(got - want).max() <= (1e-11 if dtype == "float64" else 5e-3)


def test_the_table_counts_what_an_expansion_takes() -> None:
    for op in ELEMENTARY:
        program, row = expand(alone(op), 64), OPERATIONS[op]
        assert (row.mul, row.add, row.div) == count(program)[:3]
        assert row.size == work(program)


@pytest.mark.parametrize("bits", [64, 32])
def test_expansion_leaves_other_programs_alone_and_shares_what_is_equal(bits: int) -> None:
    plain = alone("sin")
    assert expand(plain, bits) is plain
    nodes = (("input", 0, 0), ("exp", 0), ("tanh", 0))
    both = Program("p", (Array("x", (1,)),), (Array("y", (2,)),), nodes, (Output(0, 0, 1), Output(0, 1, 2)))
    made = expand(both, bits)
    assert len(set(map(repr, made.nodes))) == len(made.nodes)
    assert not {node[0] for node in made.nodes} & set(ELEMENTARY)


def test_every_target_has_a_row_for_every_operation() -> None:
    """A new operation is a row in `operations.py`, and one in each of these, or one in ELEMENTARY."""
    inline = {op for op in OPERATIONS if op not in ELEMENTARY}
    assert inline - TRIGONOMETRIC == (set(ROWS) | set(EXPANSIONS)) & inline
    assert inline - TRIGONOMETRIC == set(PTX)
    assert set(OPERATIONS) - TRIGONOMETRIC == set(FORMS)
    assert EVERYTHING == ("numpy", "cpu", "c", "cuda")
    machine = {row.name for row in OPERATIONS.values() if row.source == MACHINE}
    assert machine == {"div", "and", "or", "xor", "shl", "shr", "iadd", *(f"rotl{places}" for places in AMOUNTS)}


@pytest.mark.parametrize("bits", [64, 32])
def test_the_c_file_has_the_sine_polynomials_of_all_targets(bits: int) -> None:
    """It is compiled when Condyle is installed, before any Python runs."""
    text = support("sincos.h").partition("cd_sine(")[2].partition("cd_sincos(")[0]
    found = [float.fromhex(word) for word in re.findall(r"-?0x1\.[0-9a-f]+p[-+]\d+", text)]
    both = {part: SINE[part] + COSINE[part] for part in (64, 32)}
    assert found == [*SINE[64], *SINE[32], *COSINE[64], *COSINE[32]]
    kind = np.dtype(f"f{bits // 8}")
    assert all(kind.type(value) == value for value in both[bits])


@pytest.mark.parametrize("op", [*NEW, "random0"])
def test_hardware_and_groups_of_lanes_refuse_by_name(op: str) -> None:
    program = alone(op)
    message = f"has no operation '{op}'; it has .*targets numpy, cpu, c, cuda have every one"
    assert op not in FPGA
    last = len(program) - 1
    given = {k: Incoming(Word("x", k), Format(27, 20), 0.0) for k in range(last)}
    one = Source(program, [""] * len(program), [1.0] * len(program))
    with pytest.raises(UnsupportedError, match=f"target fpga {message}"):
        lower("p", one, word_of("32"), given, [("y", [(Word("y", 0), last)])])
    if op == "sqrt":
        assert grouped(program, 8, 64).texts
        return
    with pytest.raises(UnsupportedError, match=f"target cuda with 8 lanes a state {message}"):
        grouped(program, 8, 64)
    stub = SimpleNamespace(size=lambda *_: Size(program), usual=lambda *_: WHOLE, iterates=lambda *_: False)
    kernels = cast(GpuKernels, stub)
    assert GpuFunction(kernels, FUNCTIONS["id"], "float64", 132).form(1) == Form(1)


@needs("ptxas")
@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("op", [*NEW, "random0"])
def test_nvidias_assembler_takes_the_text(op: str, bits: int, tmp_path: Path) -> None:
    text = tmp_path / "one.ptx"
    text.write_text(straight(alone(op), bits).texts[0].ptx)
    subprocess.run(["ptxas", "-arch=sm_80", str(text), "-o", str(tmp_path / "one.cubin")], check=True)


@pytest.mark.parametrize("bits", [64, 32])
def test_plain_c_without_vectors(bits: int, tmp_path: Path) -> None:
    """ISO C with one state a step, no multiply-adds: the same functions, compiled by any compiler."""
    skip_without("gcc")
    program = together()
    text = tmp_path / "all.c"
    text.write_text("#define CD_SCALAR 1\n" + source(program, Facts(1, 1), bits).main)
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fPIC", "-shared"]
    subprocess.run(["gcc", *flags, str(text), "-o", str(tmp_path / "all.so"), "-lm"], check=True)
    library = ctypes.CDLL(str(tmp_path / "all.so"))
    kind = np.dtype(f"f{bits // 8}")
    x = np.random.default_rng(1).uniform(0.1, 3.0, (50, 3)).astype(kind)
    y = np.empty((50, program.arrays[0].size), kind)
    name = next(line.split("(")[0].split()[-1] for line in text.read_text().splitlines() if "_all(size_t n" in line)
    function = getattr(library, name)
    assert function(ctypes.c_size_t(50), x.ctypes.data_as(ctypes.c_void_p), y.ctypes.data_as(ctypes.c_void_p)) == 0
    (want,) = run(program, [x], kind.type)
    assert ulps(y.ravel(), want.ravel()).max() <= 3


def together() -> Program:
    """All new operations at once."""
    nodes: list[tuple[object, ...]] = [("input", 0, k) for k in range(3)]
    nodes += [(op, *range(OPERATIONS[op].arity)) for op in NEW]
    outputs = tuple(Output(0, k, 3 + k) for k in range(len(NEW)))
    return Program("all", (Array("x", (3,)),), (Array("y", (len(NEW),)),), tuple(nodes), outputs)  # type: ignore[arg-type]


def whole(program: Program) -> Composed:
    """A function that is one call of itself."""
    function = Function(program.name, program.name, "", (), ())
    call = Call(function, tuple(array.name for array in program.arrays))
    return Composed(function, program.inputs, program.arrays, (call,))


@needs("nvcc")
def test_cuda_cpp_compiles(tmp_path: Path) -> None:
    text = tmp_path / "all.cu"
    made = whole(together())
    text.write_text(header(plan([made], {made.function: together()}), Facts(1, 1, "f", "v", "robot"), {}))
    subprocess.run(["nvcc", "-std=c++17", "-arch=sm_80", "-Werror", "all-warnings", "-c", str(text), "-o",
                    str(tmp_path / "all.o")], check=True)  # fmt: skip


@pytest.mark.parametrize("isa", [AVX2, AVX512], ids=lambda isa: isa.name)
@pytest.mark.parametrize("op", NEW)
def test_machine_code_of_either_set_computes_it(isa: Isa, op: str) -> None:
    """Executed instruction by instruction in Python, so AVX-512 is checked where the processor has none."""
    made = assemble(alone(op), isa, 64)
    constants = np.frombuffer(made.constants, np.float64)[:: 1 if isa.broadcast else isa.lanes(64)]
    operands = samples(op, "float64", 60)
    (kernel,) = made.kernels
    assert kernel.code[-1].op == "store"
    with np.errstate(all="ignore"):
        want = OPERATIONS[op].meaning(*operands)
        for k in range(len(want)):
            memory = {j: float(x[k]) for j, x in enumerate(operands)}
            got = execute(kernel.code, isa.registers, memory, [float(c) for c in constants])
            assert ulps(np.array([got[kernel.code[-1].b - SLOT]]), want[k : k + 1])[0] <= 2


def test_functions_of_numbers_arrays_and_symbols_alike() -> None:
    assert scalar.minimum(1.0, 2.0) == 1.0 and isinstance(scalar.minimum(1.0, 2.0), float)
    assert scalar.select(-0.0, 1.0, 2.0) == 1.0 and scalar.select(float("nan"), 1.0, 2.0) == 2.0
    x = np.array([-1.0, 0.5], np.float32)
    for function in (scalar.exp, scalar.tanh, scalar.absolute):
        assert np.asarray(function(scalar.number(x))).dtype == np.float32
    chosen = np.asarray(scalar.select(scalar.number(x), 1.0, scalar.number(x)))
    assert chosen.dtype == np.float32 and chosen.tolist() == [-1.0, 1.0]
