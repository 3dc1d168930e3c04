"""Functions with CasADi's interface: of a robot, and of a user.

Where q has unit quaternions, F is f(q) with every quaternion divided by its length, recorded as a user's function is.
So derivatives by the nq entries are those along the manifold ("ambient"), exact in first and second order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from condyle.backends.casadi.source import Family, text_of
from condyle.compile.compiler import Compiler
from condyle.derivatives import hessian, jacobian, vjp
from condyle.errors import UnsupportedError
from condyle.functions.open_rollouts import OpenRollout
from condyle.functions.quantities import Q, V
from condyle.model.robot import Robot
from condyle.specification import Bound, Derivative, Function, Repeat
from condyle.user.function import UserFunction
from condyle.user.traced import renamed

HEAD = (
    "Written by Condyle: functions with CasADi's external interface. Build: cc -shared -fPIC -O1 -lm",
    "F, jac_F, adj1_F and jac_adj1_F: values, Jacobian, gradient, and the Hessian of adj_F times F.",
)

CURVED = "quaternions or planar joints"
"""What makes a configuration no plain vector."""


def source_of(
    robot: Robot, compiler: Compiler, functions: Sequence[Function | OpenRollout], bound: Bound, called_so: str = ""
) -> str:
    """The C text of some functions, called PREFIX_NAME; called_so: what one is called instead.

    UnsupportedError for derivatives and rollouts.
    """
    families = [_family_of(robot, compiler, function, bound, called_so or function.name) for function in functions]
    return _text(compiler, families)


def source_of_user(function: UserFunction, robot: Robot, compiler: Compiler, name: str, bound: Bound) -> str:
    """The C text of a user's function, called PREFIX_NAME."""
    own = function.specification
    if all(port.name != Q.name for port in own.inputs):
        return _text(compiler, [_plain(compiler, own, name)])
    return _text(compiler, [_on_manifold(robot, compiler, own, function.at_state, name, bound)])


def _text(compiler: Compiler, families: Sequence[Family]) -> str:
    facts = compiler.facts
    lines = (*HEAD, f"Condyle {facts.version}, robot {facts.fingerprint}.")
    return text_of([one for family in families for one in family.externals()], lines)


def _family_of(robot: Robot, compiler: Compiler, function: Function | OpenRollout, bound: Bound, name: str) -> Family:
    if isinstance(function, OpenRollout) or isinstance(function.origin, (Derivative, Repeat)):
        raise UnsupportedError(
            f"target 'casadi': {function.name!r}: name the function itself, its derivatives come with it; a rollout is "
            "F.mapaccum(T) of 'step', or of a function of yours"
        )
    if _is_flat(robot):
        return _plain(compiler, function, name)
    configurations = [port.name for port in function.inputs if "nq" in port.dims]
    if not configurations:
        return _plain(compiler, function, name)
    if configurations != [Q.name]:
        raise UnsupportedError(
            f"target 'casadi': {function.name!r} of a robot with {CURVED}: it takes two configurations"
        )
    if function.method.startswith("user_"):
        raise UnsupportedError(
            f"target 'casadi': {function.name!r}, a function of yours of a robot with {CURVED}, cannot be exported; "
            "condyle.interop.casadi.wrap(f.compile()) serves it"
        )
    return _on_manifold(robot, compiler, function, _library(function, bound), name, bound)


def _is_flat(robot: Robot) -> bool:
    """Whether q is a plain vector, so that its entries are its tangent ones."""
    return all(joint.kind.is_flat for joint in robot.joints)


def _plain(compiler: Compiler, function: Function, name: str) -> Family:
    derived = [compiler.straight(derive(function)) for derive in (jacobian, vjp, hessian)]
    inputs, outputs = ([port.name for port in ports] for ports in (function.inputs, function.outputs))
    symbol = f"{compiler.facts.name}_{name}"
    return Family(symbol, tuple(inputs), _apart(inputs, outputs), compiler.straight(function), *derived)


def _apart(inputs: Sequence[str], outputs: Sequence[str]) -> tuple[str, ...]:
    """Names of answers that no input has."""
    return tuple(f"{name}_next" if name in inputs else name for name in outputs)


def _library(function: Function, bound: Bound) -> Callable[..., Any]:
    """A function of the library, asked at a state: its answers by name."""
    base = function.plain

    def asked(state: Any, **inputs: Any) -> dict[str, Any]:
        if "frames" in base.options:
            each = [_at_frame(state.frame(frame), base, inputs) for frame in bound.frames]
            return {port.name: np.stack([one[k] for one in each]) for k, port in enumerate(base.outputs)}
        found = getattr(state, base.method)(**inputs)
        parts = found if len(base.outputs) > 1 else (found,)
        return {port.name: part for port, part in zip(base.outputs, parts, strict=True)}

    return asked


def _at_frame(frame: Any, base: Function, inputs: dict[str, Any]) -> list[Any]:
    """The answers at one frame, as `FrameState` calls them."""
    from condyle.user.state import attributes

    found = [getattr(frame, name) for name in attributes(base)]
    return [part(**inputs) if callable(part) else part for part in found]


def _on_manifold(
    robot: Robot, compiler: Compiler, function: Function, f: Callable[..., Any], name: str, bound: Bound
) -> Family:
    """f at q with quaternions of length one; its q is a plain input, so that derivatives have nq entries."""
    held = [port.name for port in function.inputs if port.name in (Q.name, V.name)]

    def on_manifold(state: Any, **inputs: Any) -> dict[str, Any]:
        q, v = unit(robot, inputs.pop("at_q")), inputs.pop("at_v", np.zeros(robot.nv))
        found: Any = f(state.moved_to(q, v), **inputs)
        parts: list[Any] = [*found.values()] if isinstance(found, dict) else [found]
        return {f"y{k}": part for k, part in enumerate(parts)}

    # numbers: a size that is called nq would be a configuration's, with tangents
    numbered = [tuple(int(dim) if dim.isdigit() else dim for dim in port.dims) for port in function.inputs]
    dims = [robot.nq if p.name == Q.name else own for p, own in zip(function.inputs, numbered, strict=True)]
    called_so = [f"at_{p.name}" if p.name in held else p.name for p in function.inputs]
    inputs = dict(zip(called_so, dims, strict=True))
    options = bound._replace(frames=())
    made = UserFunction(on_manifold, inputs, None, robot, True, options, robot_unbuilt, robot_unbuilt)
    frames = tuple(made.specification_frames)
    compiler = compiler if not frames else compiler_with(compiler, robot, bound._replace(frames=frames))
    family = _plain(compiler, renamed(made.specification, "function"), name)
    names = [port.name for port in function.inputs]
    return replace(family, inputs=tuple(names), outputs=_apart(names, [port.name for port in function.outputs]))


def robot_unbuilt(*_: Any, **__: Any) -> Any:
    """What is only written is not built."""
    raise AssertionError("not built")


def compiler_with(compiler: Compiler, robot: Robot, bound: Bound) -> Compiler:
    """The same with other frames."""
    from condyle.model.tree import tree_of

    return Compiler(tree_of(robot, bound), compiler.facts, compiler.routes, robot=robot)


def unit(robot: Robot, q: Any) -> Any:
    """q with quaternions of length one: the last four entries of joints that have an entry more than they move."""
    parts: list[Any] = []
    for joint in robot.joints:
        part = q[joint.q_index : joint.q_index + joint.nq]
        if joint.mimic is None and joint.nq == joint.nv + 1:
            turned = part[joint.nq - 4 :]
            parts += [part[: joint.nq - 4], turned * (1.0 / np.sqrt(turned @ turned))]
        elif joint.mimic is None:
            parts.append(part)
    return np.concatenate([part for part in parts if part.shape[0]])
