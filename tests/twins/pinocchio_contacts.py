"""Contacts in Pinocchio: its constraint dynamics, derivatives and impulses of a `Twin`, one state at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from condyle import Contact
from tests.twins.pinocchio_twin import Twin, se3

Array = np.ndarray
CONTACT_KINDS = {"point": pin.ContactType.CONTACT_3D, "plane": pin.ContactType.CONTACT_6D}


class ContactTwin:
    """The twin of a robot held by these contacts, all of them on. Rows of forces as ours, without those of no kind."""

    def __init__(self, twin: Twin, contacts: Sequence[Contact]) -> None:
        self.twin = twin
        self.models = pin.StdVec_RigidConstraintModel()
        self.datas = pin.StdVec_RigidConstraintData()
        for one in contacts:
            self.models.append(self._model(one))
        for model in self.models:
            self.datas.append(model.createData())
        pin.initConstraintDynamics(twin.model, twin.data, self.models, self.datas)
        self.given = twin.model, twin.data

    def _model(self, one: Contact) -> pin.RigidConstraintModel:
        own, place = self._side(one.frame)
        other, anchor = (0, pin.SE3.Identity()) if one.other is None else self._side(one.other)
        at = place * se3(one.placed), other, anchor * se3(one.anchored)
        model = pin.RigidConstraintModel(CONTACT_KINDS[one.kind], self.twin.model, own, *at, pin.LOCAL)
        model.m_baumgarte_parameters.Kp, model.m_baumgarte_parameters.Kd = one.gains
        return model

    def _side(self, frame: str) -> tuple[int, pin.SE3]:
        body, placement = self.twin.robot.frames[frame]
        id, place = self.twin.bodies[body]
        return id, place * se3(placement)

    def cfd(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array]:
        theirs = self.twin.q(q), self.twin.G @ v, self.twin.G @ tau
        a = pin.constraintDynamics(*self.given, *theirs, self.models, self.datas)
        return self.twin.G.T @ a, np.array(self.twin.data.lambda_c)

    def dcfd(self, q: Array, v: Array, tau: Array) -> tuple[Array, ...]:
        self.cfd(q, v, tau)
        found = pin.computeConstraintDynamicsDerivatives(*self.given, self.models, self.datas)
        return tuple(x @ self.twin.G for x in (*(self.twin.G.T @ x for x in found[:3]), *found[3:]))

    def impact(self, q: Array, v: Array, restitution: float) -> tuple[Array, Array]:
        theirs = self.twin.q(q), self.twin.G @ v
        after = pin.impulseDynamics(*self.given, *theirs, self.models, self.datas, restitution)
        return self.twin.G.T @ after, np.array(self.twin.data.impulse_c)
