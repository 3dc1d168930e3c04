"""A function of several launches in a header: its scratch, its calls in order, and the buffers of all functions."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.backends.common.facts import Facts
from condyle.backends.cuda.cpp.plan import Exported, Plan, buffers, plan, write_calls, write_data, write_launch
from condyle.backends.cuda.cpp.project import header, write_inner
from condyle.backends.cuda.launches import Composed
from condyle.errors import UnsupportedError
from condyle.ir.program import Array, Output, Program
from condyle.specification import Call, Function, MinusProduct
from condyle.text import Emitter

Q, MATRICES = Array("q", (1,)), tuple(Array(name, (2, 2)) for name in "xyz")
LEFT = Program("left", (Q,), (Array("M", (2, 2)),), (("input", 0, 0),), (Output(0, 3, 0),))
RIGHT = Program(
    "right", (Q,), (*MATRICES, Array("s", (3,))), (("input", 0, 0),), tuple(Output(k, k, 0) for k in range(4))
)
FUNCTIONS = {program.name: Function(program.name, program.name, "", (), ()) for program in (LEFT, RIGHT)}
STEPS = (
    Call(FUNCTIONS["left"], ("left_side",)),
    Call(FUNCTIONS["right"], ("x", "y", "z", "s")),
    *(MinusProduct("left_side", name, name.upper()) for name in "xyz"),
)
OUTPUTS = (*(Array(name, (2, 2)) for name in "XYZ"), Array("s", (3,)))
PROGRAMS = {FUNCTIONS["left"]: LEFT, FUNCTIONS["right"]: RIGHT}


@pytest.fixture(scope="module")
def header_plan() -> Plan:
    own = Function("own", "own_method", "", (), (), composition=STEPS)
    kept = {name: np.ones((2, 2), bool) for name in "xyz"}
    return plan([Composed(own, (Q,), OUTPUTS, STEPS, kept)], PROGRAMS)


def whole(program: Program, has_steps: bool = False) -> Exported:
    """A function that is one kernel; has_steps: it could be several."""
    one = FUNCTIONS[program.name]
    function = Function(one.name, one.name, "", (), (), composition=STEPS if has_steps else ())
    call = Call(one, tuple(array.name for array in program.arrays))
    return plan([Composed(function, program.inputs, program.arrays, (call,))], {one: program}).functions[0]


def written(write: object, *arguments: object) -> str:
    e = Emitter()
    write(e, *arguments)  # type: ignore[operator]
    return e.text()


def test_launches_are_in_order_and_end_with_an_error(header_plan: Plan) -> None:
    """Two products in a launch: the last of three is computed twice."""
    assert (
        written(write_launch, header_plan.functions[0])
        == """\
/* `scratch` has n * OWN_SCRATCH numbers in device memory. */
inline constexpr size_t OWN_SCRATCH = 16;
/* Arrays in device memory, outputs without gaps between rows. Asynchronous. */
template <typename T>
cudaError_t own_launch(size_t n, Rows<T> q, T *X, T *Y, T *Z, T *s, T *scratch, cudaStream_t stream = 0)
{
    T *const own_left_side = scratch + 0 * n;
    T *const own_x = scratch + 4 * n;
    T *const own_y = scratch + 8 * n;
    T *const own_z = scratch + 12 * n;
    cudaError_t status = launch<T>(left_kernel<T>, warps_of(n), LEFT_POOL, stream, n, q, own_left_side);
    if (status == cudaSuccess) {
        status = launch<T>(right_kernel<T>, warps_of(n), RIGHT_POOL, stream, n, q, own_x, own_y, own_z, s);
    }
    if (status == cudaSuccess) {
        status = launch<T>(product_kernel<T, 2>, n, 0, stream, n, Rows<T>{own_left_side, 4}, own_x, own_y, X, Y);
    }
    if (status == cudaSuccess) {
        status = launch<T>(product_kernel<T, 2>, n, 0, stream, n, Rows<T>{own_left_side, 4}, own_z, own_z, Z, Z);
    }
    return status;
}

"""
    )


def test_a_thread_has_scratch_of_its_own_where_no_product_goes(header_plan: Plan) -> None:
    answers = ", ".join(f"Direct<T>{{{name}, {name}_stride}}" for name in "XYZs")
    text = written(write_inner, header_plan.functions[0])
    assert (
        text[text.index("{") :]
        == f"""\
{{
    T own_left_side[4];
    left_body<T>(Direct<const T>{{q, q_stride}}, Direct<T>{{own_left_side, 1}});
    right_body<T>(Direct<const T>{{q, q_stride}}, {answers});
    product_inner<T, 2>(Direct<const T>{{own_left_side, 1}}, Direct<T>{{X, X_stride}});
    product_inner<T, 2>(Direct<const T>{{own_left_side, 1}}, Direct<T>{{Y, Y_stride}});
    product_inner<T, 2>(Direct<const T>{{own_left_side, 1}}, Direct<T>{{Z, Z_stride}});
}}

template <typename T>
__device__ __forceinline__ void own_inner(const T *q, T *X, T *Y, T *Z, T *s)
{{
    own_inner<T>(q, X, Y, Z, s, 1, 1, 1, 1, 1);
}}

"""
    )


def test_one_kernel_needs_no_scratch() -> None:
    assert "scratch" not in written(write_launch, whole(LEFT))
    text = written(write_launch, whole(LEFT, has_steps=True))
    assert "inline constexpr size_t LEFT_SCRATCH = 0;" in text and "{\n    (void)scratch;\n" in text
    one = whole(LEFT, has_steps=True)
    assert one.composed and not one.split and one.scratch == 0


def test_calls_copy_what_they_need(header_plan: Plan) -> None:
    text = written(write_calls, header_plan.functions[0])
    assert called_in(text) == [
        "own_launch<T>(n, {data->d_q, 1}, data->d_X, data->d_Y, data->d_Z, data->d_s, data->d_scratch, stream)",
        "upload(data->d_q, data->h_q, n * 1, stream)",
        "own_method_compute_only(data, n, stream)",
        *(
            f"download(data->h_{name}, data->d_{name}, n * {n}, stream)"
            for name, n in zip("XYZs", (4, 4, 4, 3), strict=True)
        ),
        "cudaStreamSynchronize(stream)",
    ]
    assert text.count("if (n > data->capacity) {\n        return cudaErrorInvalidValue;") == 2
    assert "d_scratch" not in written(write_calls, whole(LEFT))


def called_in(text: str) -> list[str]:
    """The calls of a text, line by line, without what is done with their results."""
    lines = [line.strip().removesuffix(";") for line in text.splitlines() if "(" in line and line.startswith("    ")]
    lines = [line.removeprefix("return ").removeprefix("cudaError_t ").removeprefix("status = ") for line in lines]
    return [line for line in lines if not line.startswith("if")]


def test_buffers_are_for_all_functions(header_plan: Plan) -> None:
    """The largest of those with one name; each is carved in host and device memory, the scratch only there."""
    longer = Program("left", (Array("q", (7,)),), (Array("X", (2,)),), (("input", 0, 0),), (Output(0, 0, 0),))
    both = Plan((), (*header_plan.functions, whole(longer)))
    assert buffers(both) == {"q": 7, "X": 4, "Y": 4, "Z": 4, "s": 3}
    text = written(write_data, both)
    for name, size in (("q", 7), ("X", 4), ("s", 3)):
        assert f"    T *h_{name}, *d_{name};  // {size}\n" in text
        assert (
            f"    data->h_{name} = host->take({size} * data->capacity);\n    data->d_{name} = device->take({size} *"
            in text
        )
    assert "T *d_scratch;  // 16" in text and "data->d_scratch = device->take(16 * data->capacity);" in text
    assert "if (capacity > (size_t(-1) / sizeof(T) - 256 * 6) / 38) {" in text


def test_a_header_has_the_product_only_where_it_is_launched(header_plan: Plan) -> None:
    facts = Facts(1, 2, "print", "1.2", "arm")
    text = header(header_plan, facts, {}, 3)
    assert "product_inner(" in text and header_plan.product
    lone = Plan(header_plan.kernels[:1], (whole(LEFT),))
    assert "product_inner(" not in header(lone, facts, {}) and not lone.product
    for line in (
        "/* arm.cuh: rigid-body dynamics of one robot on NVIDIA GPUs, sm_80 or later. C++17.",
        " * robot print, nq = 1, nv = 2, float or double",
        " * Condyle 1.2, ABI 2",
        " * own: own_method",
        "inline constexpr int ABI = 2, NQ = 1, NV = 2, N_BODIES = 3;",
        'inline constexpr const char *FINGERPRINT = "print";',
        'inline constexpr const char *VERSION = "1.2";',
        "namespace arm {",
        "}  // namespace arm",
        "#ifndef CONDYLE_ARM_CUH",
        "#define CONDYLE_ARM_CUH",
    ):
        assert f"\n{line}\n" in f"\n{text}", line
    assert "N_BODIES = 0;" in header(lone, facts, {})
    unknown = header(lone, Facts(1, 2, name="arm"), {})
    assert " * robot -, nq = 1" in unknown and " * Condyle -, ABI" in unknown


def test_names_that_bodies_have_are_replaced() -> None:
    """What a body calls, its numbers, and entries of another array: x12 is entry 12 of x."""
    for names, is_replaced in (
        (("t", "y"), True), (("t3", "y"), True), (("sin_q", "y"), True), (("op", "y"), True), (("sqrt", "y"), True),
        (("In0", "y"), True), (("x", "x12"), True), (("x1", "x"), True),
        (("tau", "y"), False), (("sinus", "y"), False), (("x", "x_1"), False), (("q1", "x"), False),
    ):  # fmt: skip
        one = Program(
            "left", (Array(names[0], (1,)),), (Array(names[1], (1,)),), (("input", 0, 0),), (Output(0, 0, 0),)
        )
        (kernel,) = plan([], {FUNCTIONS["left"]: one}).kernels
        wanted = (("in0_",), ("out0_",)) if is_replaced else ((names[0],), (names[1],))
        assert (kernel.inputs, kernel.outputs) == wanted, names


@pytest.mark.parametrize("name", ["while", "a" * 128, "Big"])
def test_kernels_have_names_of_the_language(name: str) -> None:
    with pytest.raises(UnsupportedError, match="cannot name generated code"):
        plan([], {Function(name, name, "", (), ()): LEFT})
