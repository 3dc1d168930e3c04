"""An arm with gears and servos beside MuJoCo, and a leg whose motors have a line of torque over speed and stops."""

from __future__ import annotations

import importlib.util

import numpy as np

import condyle

DT, STEPS = 2e-3, 500  # [s]
ur5e = condyle.load("ur5e")
joints = ur5e.joint_names

# each joint: a gear of 100 with a rotor behind it, a damped bearing, and a servo of bounded force
drive = condyle.Drive(gear=100.0, rotor_inertia=3e-5, damping=5.0)
arm = ur5e.with_drives(dict.fromkeys(joints, drive)).with_actuators(
    condyle.Actuator(name, {name: 1.0}, "position", 2000.0, (0.0, -2000.0, -100.0), force=(-150.0, 150.0))
    for name in joints
)
dyn = arm.compile(joint_forces=("damping",), actuators=True)
q, v = np.array([0.0, -1.2, 1.0, -0.5, 0.3, 0.0]), np.zeros(6)
target = q + 0.5 * np.sin(np.linspace(0.0, 2.0 * np.pi, STEPS))[:, None] * np.ones(6)
path = dyn.rollout(q, v, target, DT)  # 1 s in one call; u: the targets of the servos
print(f"the servos follow within {np.abs(path.q - target).max():.3f} rad")


def mjcf() -> str:
    """The same arm, each body in the one before."""
    text, servo = "", "<position joint='{}' kp='2000' kv='100' forcerange='-150 150'/>"
    for joint, body in zip(arm.joints, arm.bodies, strict=True):
        place, moments = joint.placement, body.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        numbers = place.translation, place.rotation.T[:2], joint.axis, body.com, moments  # axes x and y of the place
        p, r, a, c, i = (" ".join(f"{x:.17g}" for x in np.ravel(array)) for array in numbers)
        text += f"<body pos='{p}' xyaxes='{r}'><inertial pos='{c}' mass='{body.mass:.17g}' fullinertia='{i}'/>"
        text += f"<joint name='{joint.name}' axis='{a}' armature='{joint.armature[0]}' damping='{joint.damping[0]}'/>"
    text += "</body>" * len(joints) + "</worldbody><actuator>" + "".join(map(servo.format, joints))
    option = f"<option timestep='{DT}' integrator='implicitfast'/>"
    return f"<mujoco>{option}<worldbody>{text}</actuator></mujoco>"


if importlib.util.find_spec("mujoco"):
    import mujoco

    model = mujoco.MjModel.from_xml_string(mjcf())
    data = mujoco.MjData(model)
    data.qpos[:], worst = q, 0.0
    for k in range(STEPS):
        data.ctrl[:] = target[k]
        mujoco.mj_step(model, data)
        worst = max(worst, np.abs(data.qpos - path.q[k]).max())
    print(f"largest difference from MuJoCo in {STEPS} steps: {worst:.0e} rad")
    assert worst < 1e-9

# the same servos with their damping taken at the beginning of the step: the light wrist does not stand it
with np.errstate(all="ignore"):
    stiff = ur5e.with_actuators(arm.actuators)
    ends = [stiff.compile(actuators=True, implicit=way).rollout(q, v, target, DT) for way in (True, False)]
print("without rotors:", *(f"{np.abs(end.q - target).max():.3g} rad" for end in ends), "(implicit, explicit)")

# a leg: the torque of a motor is effort (u - v / velocity), clipped at the joint's effort, and limits have stops
hyq = condyle.load("hyq")
leg = hyq.lock({name: 1.0 for name in hyq.joint_names if not name.startswith("lf")})
leg = leg.with_actuators(
    condyle.Actuator(j.name, {j.name: 1.0}, "general", e, (0.0, 0.0, -e / s), control=(-1.0, 1.0))
    for j, e, s in zip(leg.joints, leg.effort, leg.velocity, strict=True)
)
dyn = leg.compile(joint_forces=("limits",), actuators=True)
q, v = np.array([0.0, 0.6, -2.0]), np.zeros(3)
path = dyn.rollout(q, v, np.tile([0.0, 0.0, 1.0], (300, 1)), 1e-3)  # the knee is stretched with all it has
torque = dyn.actuator_forces(path.q, path.v, np.array([0.0, 0.0, 1.0]))[:, 2]
k = int(np.argmax(path.v[:, 2]))
print(f"knee: {leg.effort[2]:.0f} N m at rest, {torque[k]:.0f} N m at its fastest, {path.v[k, 2]:.1f} rad/s")
print(f"its stop at {leg.upper[2]:.3f} rad holds it at {path.q[-1, 2]:.3f} rad")
assert path.v[k, 2] < 1.05 * leg.velocity[2] and abs(path.q[-1, 2] - leg.upper[2]) < 0.05
