"""Operation counts: none grows, and all are below those of Pinocchio's generated code."""

from __future__ import annotations

import warnings

import pytest

import condyle
from condyle import ModelWarning, Robot
from condyle.compile.options import tip_frame
from tests.processor import slow
from tests.twins.example_robots import path_of

# Products and sums of each function before contraction, as measured: better algorithms lower them, nothing raises them
MEASURED = {
    "iiwa14": {
        "id": 457,
        "fd": 892,
        "m": 255,
        "minv": 559,
        "did": 2092,
        "dfd": 3953,
        "difd": 3278,
        "fk": 117,
        "fv": 82,
        "fa": 189,
        "jac": 143,
        "djac": 334,
        "integrate": 7,
        "difference": 7,
        "com": 53,
        "jcom": 162,
        "h": 443,
        "dh": 702,
        "cmm": 470,
        "ke": 205,
        "pe": 36,
        "g": 65,
        "nle": 432,
        "cor": 976,
        "reg": 1599,
        "step": 920,
        "dstep": 4229,
    },
    "hyq": {
        "id": 776,
        "fd": 1004,
        "m": 219,
        "minv": 320,
        "did": 1883,
        "dfd": 3020,
        "difd": 2272,
        "fk": 34,
        "fv": 16,
        "fa": 48,
        "jac": 11,
        "djac": 20,
        "integrate": 12,
        "difference": 12,
        "com": 117,
        "jcom": 256,
        "h": 744,
        "dh": 1228,
        "cmm": 767,
        "ke": 352,
        "pe": 73,
        "g": 140,
        "nle": 672,
        "cor": 922,
        "reg": 678,
        "step": 1052,
        "dstep": 3451,
    },
    "atlas": {
        "id": 3340,
        "fd": 8316,
        "m": 3624,
        "minv": 6329,
        "did": 20624,
        "dfd": 36638,
        "difd": 34946,
        "fk": 144,
        "fv": 94,
        "fa": 197,
        "jac": 146,
        "djac": 294,
        "integrate": 30,
        "difference": 30,
        "com": 365,
        "jcom": 1314,
        "h": 2543,
        "dh": 3817,
        "cmm": 3591,
        "ke": 1572,
        "pe": 318,
        "g": 651,
        "nle": 3264,
        "cor": 11472,
        "reg": 12007,
        "step": 8436,
        "dstep": 38852,
    },
}
# What the best generator known needs; products and sums, but instructions after contraction for minv.
TO_BEAT = {
    "panda": {"id": 624, "fd": 1198, "did": 3060, "dfd": 5144, "minv": 475},
    "hyq": {"id": 776, "fd": 1028, "did": 1996, "dfd": 3409, "minv": 260},
    "talos_reduced": {"id": 3072, "fd": 6701, "did": 17002, "dfd": 32581, "minv": 3220},
}


def arithmetic(robot: Robot) -> dict[str, int]:
    """Multiplications and additions of each function, with one frame at a tip; for HyQ that of a lower leg, since its
    feet are rotated against it."""
    frame = "rh_lowerleg" if "rh_lowerleg" in robot.frames else tip_frame(robot.frames)
    rows = condyle.operation_counts(robot, frames=(frame,))
    return {str(row["function"]): int(row["mul"]) + int(row["add"]) for row in rows}


@pytest.mark.parametrize("name", [slow(name) if name == "atlas" else name for name in MEASURED])
def test_bundled_robots_need_no_more_than_they_did(name: str) -> None:
    found = arithmetic(condyle.load(name))
    assert found.keys() == MEASURED[name].keys()
    assert {function: n for function, n in found.items() if n > MEASURED[name][function]} == {}


@pytest.mark.twins_data
@pytest.mark.parametrize("name", [slow(name) if name == "talos_reduced" else name for name in TO_BEAT])
def test_published_robots_need_no_more_than_the_best_known(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        robot = condyle.load(path_of(name))
        if name == "panda":
            robot = robot.lock({"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0})
    rows = {row["function"]: row for row in condyle.operation_counts(robot)}
    found = {function: rows[function]["mul"] + rows[function]["add"] for function in TO_BEAT[name]}
    found["minv"] = rows["minv"]["instructions"]
    assert {function: n for function, n in found.items() if n > TO_BEAT[name][function]} == {}


def test_the_route_that_runs_is_the_cheapest() -> None:
    robot = condyle.chain(3)
    best = arithmetic(robot)
    for function, route in (("fd", "aba"), ("m", "mminvgen"), ("did", "columns")):
        named = {row["function"]: row for row in condyle.operation_counts(robot, {function: route})}
        assert named[function]["route"] == route
        assert named[function]["mul"] + named[function]["add"] >= best[function]


def test_zeros_and_ones_of_the_robot_cost_nothing() -> None:
    """One body on a joint through its centre of mass: tau = I a, and not one addition."""
    builder = condyle.Builder("wheel")
    builder.body("axle").body("rim", mass=1.0, inertia=((0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.2)))
    builder.joint("spin", parent="axle", child="rim", type="continuous", axis=(0, 0, 1))
    rows = {row["function"]: row for row in condyle.operation_counts(builder.build())}
    assert (rows["id"]["mul"], rows["id"]["add"], rows["id"]["sincos"]) == (1, 0, 0)
    assert (rows["m"]["mul"], rows["m"]["add"]) == (0, 0)
