"""What XLA calls: structures of its header, numbers and arrays that do not fit, several devices."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

jax = pytest.importorskip("jax")

from condyle.functions import FUNCTIONS  # noqa: E402
from condyle.interop.jax import wrap  # noqa: E402
from condyle.interop.jax.calls import Engine  # noqa: E402
from condyle.interop.jax.processor import _registered, number  # noqa: E402
from tests.interop.test_jax import double_precision, fixed  # noqa: E402
from tests.zoo import tool_arm  # noqa: E402

__all__ = ["double_precision", "fixed"]


def test_a_program_of_another_process_is_refused():
    """XLA's program names the function by a number: one that is not loaded is an error, not a jump into the dark."""
    call = jax.ffi.ffi_call("condyle_call", jax.ShapeDtypeStruct((3,), np.float64))
    with pytest.raises(Exception, match="this process has not loaded the function"):
        jax.block_until_ready(jax.jit(lambda x: call(x, number=np.int64(1), threads=np.int64(1)))(np.zeros(3)))


def test_a_jax_without_the_name_that_sharding_needs_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax._src.dispatch", ModuleType("jax._src.dispatch"))
    assert not _registered()


def tip(offset):
    return wrap(tool_arm(offset).compile(frames=("tool",)))


@pytest.mark.slow
def test_a_number_is_of_one_function_for_ever():
    """The same function has the same number, another one never has it, also after the first one is gone."""
    numbers = {}
    for offset in (0.3, 0.3 + 1e-9, 0.3, 0.3 + 1e-9):
        engine = tip(offset)._maker.engine
        numbers.setdefault(offset, set()).add(number(engine, FUNCTIONS["fk"]))
        del engine
        gc.collect()
    assert [len(each) for each in numbers.values()] == [1, 1] and len(set().union(*numbers.values())) == 2


def test_a_kept_program_of_another_robot_is_refused_and_says_what_differs():
    """A program of XLA carries the identity of its function: numbers that are not here, as of another process."""
    far = tip(0.3)
    assert far.frame_placements(np.zeros((1, 1))).translation.shape == (1, 1, 3)  # which loads it
    call = jax.ffi.ffi_call("condyle_call", jax.ShapeDtypeStruct((3,), np.float64))
    options = {"number": np.int64(2), "threads": np.int64(1)}
    for kept, said in ((tip(0.4), "differs in robot.frames"), (wrap(tool_arm().compile()), "differs in frames")):
        key = kept._maker.engine.key
        run = jax.jit(lambda x, key=key: call(x, **options, identity=key))
        with pytest.raises(Exception, match=f"has not loaded the function: the nearest that is loaded {said}. Trace"):
            jax.block_until_ready(run(np.zeros(3)))
    text = jax.jit(lambda q: far.frame_placements(q).translation).lower(np.zeros((1, 1))).as_text()
    assert f'identity = "{far._maker.engine.key}"' in text


def test_arrays_that_do_not_fit_are_refused_by_the_handler(fixed):
    called = number(Engine(fixed.dyn, None, "", True), FUNCTIONS["fd"])
    call = jax.ffi.ffi_call("condyle_call", jax.ShapeDtypeStruct((4, 3), np.float64))
    f = jax.jit(lambda *x: call(*x, number=np.int64(called), threads=np.int64(1)))
    row = np.zeros((4, 3))
    assert f(row, row, row[0]).shape == (4, 3)
    for given in ((row, row), (row, row, row[:3]), (row, row, row[:, :2]), (row, row, row.astype(np.float32))):
        with pytest.raises(Exception, match="the arrays do not fit the function"):
            jax.block_until_ready(f(*given))


STRUCTURES = """
#include <stddef.h>
#include "xla/ffi/api/c_api.h"
#define Entry void
%s
#define SAME(own, field, theirs, other) _Static_assert(offsetof(own, field) == offsetof(theirs, other), #field)
SAME(FfiFrame, api, XLA_FFI_CallFrame, api); SAME(FfiFrame, inputs, XLA_FFI_CallFrame, args);
SAME(FfiFrame, outputs, XLA_FFI_CallFrame, rets); SAME(FfiFrame, attributes, XLA_FFI_CallFrame, attrs);
SAME(FfiBuffer, dtype, XLA_FFI_Buffer, dtype); SAME(FfiBuffer, dims, XLA_FFI_Buffer, dims);
SAME(FfiBuffers, buffers, XLA_FFI_Args, args); SAME(FfiBuffers, count, XLA_FFI_Rets, size);
SAME(FfiAttributes, names, XLA_FFI_Attrs, names); SAME(FfiAttributes, values, XLA_FFI_Attrs, attrs);
SAME(FfiApi, new_error, XLA_FFI_Api, XLA_FFI_Error_Create);
SAME(FfiApi, get_stream, XLA_FFI_Api, XLA_FFI_Stream_Get);
SAME(FfiStreamArguments, context, XLA_FFI_Stream_Get_Args, ctx);
SAME(FfiStreamArguments, stream, XLA_FFI_Stream_Get_Args, stream);
SAME(FfiFrame, context, XLA_FFI_CallFrame, ctx); SAME(FfiScalar, value, XLA_FFI_Scalar, value);
SAME(FfiErrorArguments, code, XLA_FFI_Error_Create_Args, errc); SAME(FfiText, length, XLA_FFI_ByteSpan, len);
SAME(FfiMetadata, metadata, XLA_FFI_Metadata_Extension, metadata);
_Static_assert(FFI_F32 == XLA_FFI_DataType_F32 && FFI_F64 == XLA_FFI_DataType_F64, "");
_Static_assert(FFI_S64 == XLA_FFI_DataType_S64 && FFI_U8 == XLA_FFI_DataType_U8, "");
_Static_assert(FFI_CAPTURED == XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE, "");
_Static_assert(FFI_SCALAR == XLA_FFI_AttrType_SCALAR && FFI_STRING == XLA_FFI_AttrType_STRING, "");
_Static_assert(FFI_METADATA == XLA_FFI_Extension_Metadata, "");
_Static_assert(FFI_MAJOR == XLA_FFI_API_MAJOR && FFI_MINOR <= XLA_FFI_API_MINOR, "");
"""


def test_structures_are_those_of_the_header_of_xla(tmp_path):
    text = (Path(__file__).resolve().parents[2] / "src/condyle/runtime/native/ffi.h").read_text()
    own, rest = text.split("/* The functions that XLA's programs may call")
    assert rest
    (tmp_path / "same.c").write_text(STRUCTURES % own)
    command = ["cc", "-std=c11", "-fsyntax-only", f"-I{jax.ffi.include_dir()}", str(tmp_path / "same.c")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


SHARDED = """
import jax, numpy as np
from jax.sharding import Mesh, PartitionSpec as P
jax.config.update("jax_enable_x64", True)
import condyle
from condyle.interop.jax import wrap
robot = condyle.chain(3, 0)
dyn = robot.compile(threads=1)
q, v = robot.random_state(8, 0)
mesh = Mesh(np.array(jax.devices()), ("states",))
assert mesh.size == 4
far = wrap(dyn)
f = jax.jit(jax.shard_map(far.forward_dynamics, mesh=mesh, in_specs=P("states"), out_specs=P("states")))
assert np.array_equal(f(q, v, v), dyn.forward_dynamics(q, v, v))
assert "all-gather" not in f.lower(q, v, v).compile().as_text()
g = jax.jit(jax.grad(lambda q: f(q, v, v).sum()))(q)
assert np.allclose(g, dyn.vjp("fd")(q, v, v, np.ones_like(v)).q)
"""


PLAIN_JIT = """
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
jax.config.update("jax_enable_x64", True)
import condyle
from condyle.interop.jax import wrap
robot = condyle.chain(3, 0)
dyn = robot.compile(threads=1)
far, (q, v), ones = wrap(dyn), robot.random_state(8, 0), np.ones((8, 3))
mesh = Mesh(np.array(jax.devices()), ("states",))
assert mesh.size == 2
Q, V = (jax.device_put(x, NamedSharding(mesh, P("states"))) for x in (q, v))

def check(f, want, *given):
    f = jax.jit(f)
    assert not STAYS or "all-gather" not in f.lower(*given).compile().as_text()
    for x, y in zip(jax.tree.leaves(f(*given)), want, strict=True):
        if STAYS:
            assert x.sharding.is_fully_replicated or x.sharding.spec[0] == "states", x.sharding
            assert x.shape != (8, 3) or not x.sharding.is_fully_replicated
        assert np.allclose(x, y, rtol=1e-12, atol=1e-12)

fd, tau = far.forward_dynamics, np.ones((8, 4, 3))
check(fd, [dyn.forward_dynamics(q, v, v)], Q, V, V)
check(fd, [dyn.forward_dynamics(q, v, v[0])], Q, V, v[0])
check(lambda q, v: fd(*(x.reshape(4, 2, 3) for x in (q, v, v))), [dyn.forward_dynamics(q, v, v).reshape(4, 2, 3)], Q, V)
check(far.forward_dynamics_derivatives, dyn.forward_dynamics_derivatives(q, v, v), Q, V, V)
want = dyn.vjp("fd")(q, v, v[0], ones)
check(jax.grad(lambda q, t: fd(q, V, t).sum(), (0, 1)), [want.q, want.tau], Q, v[0])
check(lambda *x: far.rollout(*x, 0.01), dyn.rollout(q, v, tau, 0.01), Q, V, tau)
end = dyn.vjp("rollout")(q, v, tau, 0.01, 0 * ones, ones, last=True)
check(jax.grad(lambda *x: far.rollout(*x, tau, 0.01, last=True).v.sum(), (0, 1)), end[:2], Q, V)
check(lambda q: jax.jvp(lambda q: fd(q, V, V), (q,), (q,))[1], [dyn.jvp("fd")(q, v, v, q, 0 * v, 0 * v)], Q)
"""


WITHOUT_THE_NAME = """
import sys, types
import jax
own = sys.modules["jax._src.dispatch"]

class Without(types.ModuleType):
    def __getattr__(self, name):
        if name == "prim_requires_devices_during_lowering":
            raise AttributeError(name)
        return getattr(own, name)

sys.modules["jax._src.dispatch"] = Without("jax._src.dispatch")
from condyle.interop.jax import processor as jax_shards
sys.modules["jax._src.dispatch"] = own
assert not jax_shards.REGISTERED
STAYS = False
"""
"""Then the answers are the same, and may be gathered."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "devices"),
    [(SHARDED, 4), ("STAYS = True" + PLAIN_JIT, 2), (WITHOUT_THE_NAME + PLAIN_JIT, 2)],
    ids=["shard_map", "jit", "without the private name"],
)
def test_several_devices(program, devices):
    """No array is gathered on one device."""
    flags = f"--xla_force_host_platform_device_count={devices}"
    there = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, env=there)
    assert done.returncode == 0, done.stderr[-2000:]
