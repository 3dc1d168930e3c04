"""Plans of optimal control as a function of arrays, with its vjp: what libraries of derivatives call."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from condyle.compile.options import bound_arguments
from condyle.errors import ShapeError, UnsupportedError
from condyle.interop.gradients import ambient_gradient, is_plain, layout_of, tangent_gradient
from condyle.jobs.optimal_control.solver import Plan, Solver
from condyle.specification.ports import ACTIVE

Shape = tuple[int, ...]


class Answers(NamedTuple):
    """q (..., N + 1, nq), v (..., N + 1, nv), u (..., N, nu), cost (...); solved (...): 1, or 0 where it failed."""

    q: Any
    v: Any
    u: Any
    cost: Any
    solved: Any


class Plans:
    """A solver as a function of arrays, which all have the same batch dimensions: see `forward` and `backward`.

    takes: shapes of q, v and inputs, by name. kept: of what `backward` needs of a plan. gives: of answers.
    """

    def __init__(self, solver: Solver, is_tangent: bool) -> None:
        if solver.dynamics.on_device:
            raise UnsupportedError('wrap(solver): plans are made on the processor: compile(target="cpu")')
        self.solver, problem, job = solver, solver.problem, solver.job
        robot, N = problem.robot, problem.knots
        self.layout = layout_of(robot)
        self.is_tangent = is_tangent or is_plain(self.layout)
        self.takes: dict[str, Shape] = {"q": (robot.nq,), "v": (robot.nv,)}
        for name in problem.names:
            item = job.rows[name]
            self.takes[name] = (*((item.rows,) if item.rows > 1 or name == ACTIVE.name else ()), *item.shape)
        self.kept: dict[str, Shape] = {
            name: (rows, size) if name in job.tables else (size,) for name, rows, size in job.variables()
        }
        self.gives: tuple[Shape, ...] = ((N + 1, robot.nq), (N + 1, robot.nv), (N, job.running.nu), (), ())

    def arguments(self, q: Any, v: Any, inputs: Mapping[str, Any]) -> list[Any]:
        """In the order of `takes`; TypeError where one is missing or unknown."""
        bound_arguments("solve", self.solver.problem.signature, (), dict(inputs))
        return [q, v, *(inputs[name] for name in self.solver.problem.names)]

    def batch(self, shapes: Sequence[Shape]) -> Shape:
        """The batch dimensions of all arguments together; ShapeError."""
        own: list[Shape] = []
        for (name, dims), shape in zip(self.takes.items(), shapes, strict=True):
            split = len(shape) - len(dims)
            if split < 0 or tuple(shape[split:]) != dims:
                expected = ", ".join(["...", *map(str, dims)])
                raise ShapeError(f"solve: {name} has shape {tuple(shape)}, expected ({expected})")
            own.append(tuple(shape[:split]))
        try:
            return np.broadcast_shapes(*own)
        except ValueError:
            listed = ", ".join(f"{name} {batch}" for name, batch in zip(self.takes, own, strict=True))
            raise ShapeError(f"solve: batch dimensions do not broadcast: {listed}") from None

    def forward(self, options: Mapping[str, Any], *arrays: Any) -> list[NDArray[Any]]:
        """Answers, and then what is kept."""
        named: dict[str, Any] = dict(zip(self.takes, map(np.asarray, arrays), strict=True))
        plan = self.solver.solve(**named, **options)
        answers = plan.q, plan.v, plan.u, plan.cost, np.asarray(plan.solved, self.solver.dtype)
        return [*map(np.asarray, answers), *(getattr(plan.answers, name) for name in self.kept)]

    def backward(self, *values: Any) -> list[NDArray[Any]]:
        """Gradients by each argument. values: arguments, what is kept, and cotangents of q, v, u, cost."""
        every, n = [np.asarray(x) for x in values], len(self.takes)
        arrays, kept, bars = dict(zip(self.takes, every[:n], strict=True)), every[n:-4], every[-4:]
        plan = Plan(self.solver, namedtuple("Kept", self.kept)(*kept), arrays)  # type: ignore[misc]
        q_bar = bars[0][..., : self.solver.problem.robot.nv]
        if not self.is_tangent:
            q_bar = tangent_gradient(np, self.layout, plan.q, bars[0])
        found = self.solver.vjp(plan, q_bar=q_bar, v_bar=bars[1], u_bar=bars[2], cost_bar=bars[3])._asdict()
        if self.is_tangent:
            behind = arrays["q"].shape[-1] - found["q"].shape[-1]
            found["q"] = np.pad(found["q"], [(0, 0)] * (found["q"].ndim - 1) + [(0, behind)])
        else:
            found["q"] = ambient_gradient(np, self.layout, arrays["q"], found["q"])
        return [found[name] if name in found else np.zeros_like(x) for name, x in arrays.items()]
