"""Magnitude bounds of the values of a staged trace, by norms of vectors, link by link.

A rotation keeps the norm of a vector; interval arithmetic on its components would lose this. For link i with parent p,
r = |origin|, the joint's rates (s, t) = |S v| and (s', t') = |S a|, linear and angular, U = dw + w^2:

    w_i <= w_p + t            a_i <= a_p + U_p r + s' + (2 w_p + t) s
    dw_i <= dw_p + t' + w_p t     u_i <= u_p + w_p r + s
    force_i <= m a + U h + sum f_c      torque_i <= h a + I dw + dI w^2 / 2 + sum (t_c + r_c f_c)

over the children c: h = |m c|, I the spectral norm of the rotational inertia, dI the largest minus the smallest of its
eigenvalues (|w x I w| <= dI w^2 / 2). Momenta and composite inertias are summed in the same way, P, Q + r P and M,
H + r M, I + 2 r H + r^2 M; columns of the derivatives and of M are products of these, transformed to parents as forces
are. Every norm is multiplied by GAIN, which allows for the rounding of one step; the hardware's planner checks that
rounding stays below it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias, cast

from condyle.algorithms import crba, rnea, rnea_derivatives
from condyle.algorithms import rnea as rotors
from condyle.algorithms.joint import Inertia, Wrench
from condyle.algorithms.rnea import Motion
from condyle.algorithms.rnea_derivatives import Carried, Column, Momentum, State
from condyle.errors import BuildError
from condyle.fpga.staged import Staged, StepCall
from condyle.trace.loops import Lengths, Load, Mass, Moving, Pair, second_moments, turning_moments

SLACK = 2.0**-7
GAIN = 1.0 + SLACK
"""The rounding error of one step in hardware must be below SLACK times its bound."""


def upper_bounds(
    staged: Staged, parents: Sequence[int], gravity: float, edges: Mapping[tuple[str, int], float]
) -> dict[int, float]:
    """The bound of every node that is a result of a step. edges: bounds of the inputs, by name and entry.

    BuildError for a step that neither `BOUNDS` nor `UNBOUNDED` has: it would lose the bounds of what follows.
    """
    found = MagnitudeBounds(staged, parents, Moving(0.0, 0.0, gravity, 0.0, 0.0), edges)
    for step in staged.steps:
        found.take(step)
    return found.upper


Rule: TypeAlias = "Callable[[MagnitudeBounds, StepCall], None]"
BOUNDS: dict[Callable[..., object], Rule] = {}
"""{step: the rule that bounds its results}."""

UNBOUNDED: Collection[Callable[..., object]] = (crba.own_inertia, crba.rotors, rnea_derivatives.motion_of, rotors.rates)
"""Steps whose results are constants, or have bounds already."""


def bounds_of(*steps: Callable[..., object]) -> Callable[[Rule], Rule]:
    """Makes a method the rule of these steps."""

    def register(rule: Rule) -> Rule:
        BOUNDS.update(dict.fromkeys(steps, rule))
        return rule

    return register


class MagnitudeBounds(Lengths):
    """Bounds the steps of a trace in order. The tables are by joint, with norms as `lengths` has them."""

    def __init__(
        self, staged: Staged, parents: Sequence[int], world: Moving, edges: Mapping[tuple[str, int], float]
    ) -> None:
        super().__init__(staged.program, edges)
        self.world = world
        self.parents = parents
        self.children = [[c for c, p in enumerate(parents) if p == i] for i in range(len(parents))]
        self.origin: dict[int, float] = {}
        self.moving: dict[int, Moving] = {}
        self.before: dict[int, Moving] = {}
        self.force_alone: dict[int, Pair] = {}
        self.force: dict[int, Pair] = {}
        self.mass: dict[int, Mass] = {}
        self.momentum_own: dict[int, Pair] = {}
        self.momentum: dict[int, Pair] = {}
        self.columns: dict[int, list[tuple[Pair, Pair, Pair]]] = {}
        self.carry = Load((0.0, 0.0), 0.0, (0.0, 0.0), (0.0, 0.0))

    def take(self, step: StepCall) -> None:
        if step.step in BOUNDS:
            if step.number not in self.origin:
                self.origin[step.number] = self.length(step.joint.origin)
            BOUNDS[step.step](self, step)
        elif step.step not in UNBOUNDED:
            name = f"{step.step.__module__}.{step.step.__qualname__}"
            raise BuildError(f"trace/magnitudes.py has no bound of what {name} makes, and does not list it: it must")

    @bounds_of(rnea.motion, rnea_derivatives.state)
    def _motion(self, step: StepCall) -> None:
        _, v, a = cast("tuple[object, Sequence[object], Sequence[object]]", step.arguments)
        parent = self.parents[step.number]
        p, r = self.moving[parent] if parent >= 0 else self.world, self.origin[step.number]
        (slide, turn), (slide2, turn2) = self.rate(step.joint, v), self.rate(step.joint, a)
        b = _moving(p.w, p.dw, p.a + p.U * r, p.u + p.w * r)
        a_now = b.a + slide2 + (2.0 * b.w + turn) * slide
        m = _moving(b.w + turn, b.dw + turn2 + b.w * turn, a_now, b.u + slide)
        self.moving[step.number], self.before[step.number] = m, b
        motion = step.result.motion if isinstance(step.result, State) else cast(Motion, step.result)
        for bound, value in ((m.w, motion.w), (m.dw, motion.dw), (m.a, motion.a), (m.U, motion.U)):
            self.bound(bound, value)
        if isinstance(step.result, State):
            self.bound(m.u, step.result.u)
            for bound, value in zip((b.w, b.u, b.dw, b.a), step.result.before, strict=True):
                self.bound(bound, value)

    @bounds_of(rnea.newton_euler)
    def _newton_euler(self, step: StepCall) -> None:
        m, i = self.moving[step.number], step.joint.inertia
        low, *_, high = turning_moments(i)
        first, turn = self.length(i.first), max(abs(low), abs(high))
        torque = first * m.a + turn * m.dw + 0.5 * (high - low) * m.w**2
        torque += 4.0 * SLACK * max(map(abs, second_moments(i))) * m.U  # U's entries round apart
        self.force_alone[step.number] = _raised((self.size(i.mass) * m.a + m.U * first, torque))
        self.bound_pair(self.force_alone[step.number], cast(Wrench, step.result))

    @bounds_of(rnea.less_external)
    def _less_external(self, step: StepCall) -> None:
        force, torque = cast("tuple[Wrench, Wrench]", step.arguments)[1]
        self.force_alone[step.number] = _raised(
            _sum(self.force_alone[step.number], (self.length(force), self.length(torque)))
        )
        self.bound_pair(self.force_alone[step.number], cast(Wrench, step.result))

    def _up(self, i: int, force: Pair) -> Pair:
        return force[0], force[1] + self.origin[i] * force[0]

    @bounds_of(rnea.to_parent)
    def _to_parent(self, step: StepCall) -> None:
        self._total(self.force_alone, self.force, step)

    def _total(self, alone: dict[int, Pair], totals: dict[int, Pair], step: StepCall) -> None:
        """Bounds the sum over all links that a joint carries, and its transform to the parent."""
        parts = [_raised(self._up(c, totals[c])) for c in self.children[step.number]]
        totals[step.number] = _raised(_sum(alone[step.number], *parts))
        total, up = cast("tuple[Wrench, Wrench]", step.result)
        self.bound_pair(totals[step.number], total)
        self.bound_pair(_raised(self._up(step.number, totals[step.number])), up)

    @bounds_of(rnea.torques)
    def _torques(self, step: StepCall) -> None:
        _, rates = cast("tuple[object, Sequence[object]]", step.arguments)
        for dof, rate, value in zip(step.joint.dofs, rates, cast("Sequence[object]", step.result), strict=True):
            rotor = self.size(dof.armature) * self.size(rate)
            self.bound(GAIN * (self.along(dof, self.force[step.number]) + rotor), value)

    @bounds_of(crba.inertia_to_parent)
    def _inertia(self, step: StepCall) -> None:
        i = step.joint.inertia
        eigenvalues, turns = second_moments(i), turning_moments(i)
        total = Mass(self.size(i.mass), self.length(i.first), max(map(abs, eigenvalues)), max(map(abs, turns)))
        for c in self.children[step.number]:
            m, r = self.mass[c], self.origin[c]
            second, turn = (x + 2.0 * m.first * r + m.mass * r * r for x in (m.second, m.turn))
            up = (m.mass, m.first + m.mass * r, second, turn)
            total = Mass(*(a + GAIN * b for a, b in zip(total, up, strict=True)))
        m = Mass(*(GAIN * x for x in total))
        self.mass[step.number] = m = m._replace(turn=m.turn + 4.0 * SLACK * m.second)  # entries round apart
        r = self.origin[step.number]
        kept, up = cast("tuple[Inertia, Inertia]", step.result)
        self._bound_inertia(m, kept)
        moved = (m.mass, m.first + m.mass * r, m.second + 2.0 * m.first * r + m.mass * r * r, m.turn)
        self._bound_inertia(Mass(*(GAIN * x for x in moved)), up)

    def _bound_inertia(self, bound: Mass, value: Inertia) -> None:
        for one, part in zip(bound[:3], value, strict=True):
            self.bound(one, part)

    @bounds_of(rnea_derivatives.own_momentum)
    def _own_momentum(self, step: StepCall) -> None:
        m, i = self.moving[step.number], step.joint.inertia
        first, second = self.length(i.first), max(map(abs, second_moments(i)))
        p = 2.0 * (self.size(i.mass) * m.u + first * m.w)
        self.momentum_own[step.number] = _raised((p, 2.0 * (m.u * first + m.w * second)))
        self.bound_pair(self.momentum_own[step.number], cast(Momentum, step.result))

    @bounds_of(rnea_derivatives.momentum_to_parent)
    def _momentum(self, step: StepCall) -> None:
        self._total(self.momentum_own, self.momentum, step)

    @bounds_of(rnea_derivatives.columns)
    def _columns(self, step: StepCall) -> None:
        m, b = self.moving[step.number], self.before[step.number]
        spin = m.U if step.joint.axial else b.U
        self.columns[step.number] = []
        for dof, value in zip(step.joint.dofs, cast("Sequence[Column]", step.result), strict=True):
            line, turn = self.length(dof.linear), self.length(dof.angular)
            rate = (b.u * turn + b.w * line, b.w * turn)
            rate2 = (b.a * turn + 2.0 * b.u * rate[1] + spin * line, spin * turn)
            both = (rate[0] + m.u * turn + m.w * line, rate[1] + m.w * turn)
            found = (_raised(rate), _raised(rate2), _raised(both))
            self.columns[step.number].append(found)
            for bound, part in zip(found, value, strict=True):
                self.bound_pair(bound, part)

    def _times(self, mass: Mass, motion: Pair) -> Pair:
        """I S."""
        line, turn = motion
        return mass.mass * line + mass.first * turn, mass.first * line + mass.turn * turn

    @bounds_of(rnea_derivatives.start)
    def _start(self, step: StepCall) -> None:
        k = cast(int, step.arguments[0])
        dof, (rate, rate2, both) = step.joint.dofs[k], self.columns[step.number][k]
        line, turn = self.length(dof.linear), self.length(dof.angular)
        mass, (p, moment), (f, t) = self.mass[step.number], self.momentum[step.number], self.force[step.number]
        moment *= 1.0 + 4.0 * SLACK  # its entries round apart
        by_q = _sum((rate[1] * p, rate[1] * moment), self._times(mass, rate2), (turn * f, turn * t + line * f))
        by_v = _sum((turn * p, turn * moment), self._times(mass, both))
        self._load(Load(self._times(mass, (line, turn)), p * line + moment * turn, by_q, by_v), step)

    @bounds_of(rnea_derivatives.rise)
    def _rise(self, step: StepCall) -> None:
        i, c = step.number, self.carry
        self._load(Load(self._up(i, c.inertia), c.coriolis, self._up(i, c.by_q), self._up(i, c.by_v)), step)

    def _load(self, load: Load, step: StepCall) -> None:
        """Sets the record that is carried from now on."""
        c = Load(_raised(load.inertia), GAIN * load.coriolis, _raised(load.by_q), _raised(load.by_v))
        self.carry, value = c, cast(Carried, step.result)
        self.bound(c.coriolis, value.coriolis)
        for bound, part in ((c.inertia, value.inertia), (c.by_q, value.by_q), (c.by_v, value.by_v)):
            self.bound_pair(bound, part)

    @bounds_of(rnea_derivatives.meet)
    def _meet(self, step: StepCall) -> None:
        self._met(step, [0.0] * len(step.joint.dofs))

    @bounds_of(rnea_derivatives.meet_rotors)
    def _meet_rotors(self, step: StepCall) -> None:
        """At the joint itself, with armature times derivatives of w x v added: see `rnea`."""
        own, dofs = step.joint.dofs[cast(int, step.arguments[0])], step.joint.dofs
        slide, turn = self.rate(step.joint, cast("Sequence[object]", step.arguments[-1]))
        rotor = self.size(own.armature) * self.length(own.linear)
        self._met(step, [rotor * (slide * self.length(dof.angular) + turn * self.length(dof.linear)) for dof in dofs])

    def _met(self, step: StepCall, rotors: Sequence[float]) -> None:
        c = self.carry
        result = cast("Sequence[Sequence[object]]", step.result)
        columns = zip(step.joint.dofs, self.columns[step.number], result, rotors, strict=True)
        for dof, (rate, rate2, both), values, rotor in columns:
            below = (
                c.coriolis * rate[1] + c.inertia[0] * rate2[0] + c.inertia[1] * rate2[1],
                c.coriolis * self.length(dof.angular) + c.inertia[0] * both[0] + c.inertia[1] * both[1] + rotor,
                self.along(dof, c.by_q),
                self.along(dof, c.by_v),
            )
            for bound, value in zip(below, values, strict=True):
                self.bound(GAIN * bound, value)

    @bounds_of(crba.unit_force)
    def _unit_force(self, step: StepCall) -> None:
        dof = step.joint.dofs[cast(int, step.arguments[0])]
        motion = self.length(dof.linear), self.length(dof.angular)
        self._column(self._times(self.mass[step.number], motion), step)

    @bounds_of(crba.force_up)
    def _force_up(self, step: StepCall) -> None:
        self._column(self._up(step.number, self.carry.inertia), step)

    def _column(self, force: Pair, step: StepCall) -> None:
        self.carry = self.carry._replace(inertia=_raised(force))
        self.bound_pair(self.carry.inertia, cast(Wrench, step.result))

    @bounds_of(crba.mass_entries)
    def _mass_entries(self, step: StepCall) -> None:
        for dof, values in zip(step.joint.dofs, cast("Sequence[Sequence[object]]", step.result), strict=True):
            self.bound(GAIN * self.along(dof, self.carry.inertia), values)


def _moving(w: float, dw: float, a: float, u: float) -> Moving:
    w, dw = GAIN * w, GAIN * dw
    return Moving(w, dw, GAIN * a, GAIN * u, GAIN * (dw + w * w))


def _raised(pair: Pair) -> Pair:
    return GAIN * pair[0], GAIN * pair[1]


def _sum(*pairs: Pair) -> Pair:
    return sum(a for a, _ in pairs), sum(b for _, b in pairs)
