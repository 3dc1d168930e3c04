"""A tour of Condyle that runs: python docs/tour.py."""

from __future__ import annotations

import numpy as np

import condyle


def main() -> None:
    # A robot is data: joints, bodies, frames. It never changes.
    robot = condyle.load("iiwa14")
    print(f"{robot.name}: {robot.nv} degrees of freedom, {sum(body.mass for body in robot.bodies):.3g} kg moving")

    # Compiling returns at once; a function is generated and compiled at its first use, then kept in the cache.
    dyn = robot.compile()
    print(dyn.explain(256))

    # One state or many: any leading dimensions.
    q, v = robot.random_state(256, 0)
    a = np.zeros_like(v)
    tau = dyn.inverse_dynamics(q, v, a)
    print("tau of the first state:", np.round(tau[0], 3))
    assert np.allclose(dyn.inverse_dynamics(q[0], v[0], a[0]), tau[0], rtol=0, atol=1e-9)

    # Forward dynamics undoes inverse dynamics.
    assert np.allclose(dyn.forward_dynamics(q, v, tau), a, rtol=0, atol=1e-6)

    # The equation of motion is linear in a, with the mass matrix as its slope.
    M = dyn.mass_matrix(q)
    push = np.ones_like(v)
    change = dyn.inverse_dynamics(q, v, push) - tau
    assert np.allclose(change, np.einsum("nij,nj->ni", M, push), rtol=0, atol=1e-9)

    # Derivatives come as named tuples of matrices: row = output, column = direction.
    slopes = dyn.forward_dynamics_derivatives(q, v, tau)
    assert np.allclose(slopes.da_dtau @ M, np.eye(robot.nv), rtol=0, atol=1e-6)

    # Answers in place: nothing is allocated in a control loop.
    out = np.empty_like(tau)
    dyn.inverse_dynamics(q, v, a, out=out)
    assert np.array_equal(out, tau)

    # A floating base has a quaternion in q; integrate walks along v and keeps it of unit length.
    quadruped = condyle.load("hyq", floating_base=True)
    q, v = quadruped.random_state(4, 0)
    later = quadruped.integrate(q, 0.01 * v)
    print("length of the quaternions:", np.linalg.norm(later[:, 3:7], axis=1))

    # A mistake is named, with the cure.
    try:
        dyn.mass_matrix(np.zeros(6))
    except condyle.ShapeError as error:
        print("refused:", error)


if __name__ == "__main__":
    main()
