"""Contact forces without the mass matrix: unit forces of contacts, propagated to the root by articulated bodies.

The articulated-body algorithm's y = Sᵀ p of such a force at a joint is an entry of L^-T Jᵀ. With its D in place of that
of the factors, all else is as in `contact_forces`. The cost of a row is proportional to the depth of its contact, not
to its square, so long chains are faster. The idea is that of the PV solver and constrainedABA (Popov and Vereshchagin
1978; Sathya, Carpentier 2024).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from condyle.algorithms.aba import Elimination, accelerate, eliminations, still_forces
from condyle.algorithms.contact_forces import Constrained
from condyle.algorithms.contacts import Held, Row
from condyle.algorithms.drives import driven, with_added_rotors
from condyle.algorithms.joint import NO_FORCE, Joint, Wrench, along
from condyle.algorithms.matrix import plus
from condyle.algorithms.rnea import left_of
from condyle.algorithms.sweeps import Field
from condyle.scalar import Scalar, number
from condyle.spatial import twist
from condyle.spatial import vector as vec


class ByElimination(Constrained):
    """A robot with contacts; no two of its joints share a coordinate."""

    @cached_property
    def eliminated(self) -> Field[tuple[Elimination, ...]]:
        return eliminations(with_added_rotors(self.tree))

    @cached_property
    def inverse_D(self) -> list[Scalar]:
        found = [number(0.0)] * self.tree.nv
        for link, own in zip(self.tree.tree.links, self.eliminated, strict=True):
            for coordinate, one in zip(link.v, own, strict=True):
                found[coordinate.entry] = one.inverse_D
        return found

    @cached_property
    def Y(self) -> list[Row]:
        flags = iter(self.active)
        return [
            self._passed(_push(one, row, next(flags)), {}) for one in self.contacts.held for row in one.contact.rows
        ]

    def half(self, x: Sequence[Scalar]) -> Mapping[int, Scalar]:
        return self._passed({}, dict(enumerate(self.tree.dofs(x))))

    @cached_property
    def net(self) -> Mapping[int, Scalar]:
        tree = driven(self.tree)
        forces = [Wrench(*twist.scale(-1.0, force)) for force in still_forces(tree, tree.input("v"))]
        torques = left_of(tree, tree.input("tau"), tree.input("v"))
        return self._passed(dict(enumerate(forces)), dict(enumerate(torques)))

    def rest(self, y: Sequence[Scalar]) -> list[Scalar]:
        u = [
            tuple(x * one.inverse_D for x, one in zip(own, eliminated, strict=True))
            for own, eliminated in zip(self.tree.dofs(y), self.eliminated, strict=True)
        ]
        return self.tree.gathered(self.tree.outward(accelerate, twist.ZERO, u, self.eliminated))

    def _passed(self, forces: Mapping[int, Wrench], torques: Mapping[int, Sequence[Scalar]]) -> Row:
        """y of every joint between the root and a force on a link (by link) or a joint torque (by joint)."""
        carried, found = dict(forces), dict[int, Scalar]()
        for i in reversed(range(len(self.tree.tree.links))):
            if i not in carried and i not in torques:
                continue
            link, joint = self.tree.tree.links[i], self.tree.joints[i]
            own = torques.get(i, [number(0.0)] * len(link.v))
            left, up = _through(joint, carried.get(i, NO_FORCE), self.eliminated[i], own)
            found.update(zip((coordinate.entry for coordinate in link.v), left, strict=True))
            if link.parent >= 0:
                carried[link.parent] = plus(carried[link.parent], up) if link.parent in carried else up
        return found


def _through(
    joint: Joint, force: Wrench, eliminated: Sequence[Elimination], tau: Sequence[Scalar]
) -> tuple[list[Scalar], Wrench]:
    """y = tau + Sᵀ p of each degree of freedom, last first, and the force on the parent, Xᵀ (p - U y / D)."""
    left: list[Scalar] = []
    for dof, elimination, torque in reversed(list(zip(joint.dofs, eliminated, tau, strict=True))):
        y = torque + along(dof, *force)
        left.insert(0, y)
        force = Wrench(*twist.add(force, twist.scale(-(y * elimination.inverse_D), elimination.U)))
    return left, Wrench(*joint.transform.force_to_parent(force))


def _push(held: Held, row: int, flag: Scalar) -> dict[int, Wrench]:
    """A unit force of one row of a contact, times its flag, on both its links."""
    entries = [flag if k == row else number(0.0) for k in range(6)]
    found: dict[int, Wrench] = {}
    for sign, side in held.sides:
        wrench = twist.scale(sign, side.frame.transform.force_to_parent((vec.three(entries), vec.three(entries, 3))))
        found[side.link] = Wrench(*wrench)
    return found
