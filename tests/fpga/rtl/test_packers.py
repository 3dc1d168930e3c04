"""The packers for hosts alone: words of every width, packets' ends, rounding, angles that are turned into the box."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle import fpga
from condyle.fpga.rtl.boundary import Boundary, angles, describe, emit_host
from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.evaluate import evaluate
from condyle.fpga.rtl.vectors import unpack
from tests.processor import slow
from tests.programs import needs

from .conftest import accelerator, ball_and_plane
from .test_boundary import ARM
from .test_host import host_program

EDGES = """
#include <stdio.h>
#include <stdlib.h>
#include "rig_host.h"
int main(void) {
    for (size_t k = 0; k < sizeof rig_functions / sizeof *rig_functions; ++k) {
        const rig_function *of = &rig_functions[k];
        double *in = malloc(of->input_size * sizeof *in), *out = malloc(of->output_size * sizeof *out);
        unsigned char *task = malloc(of->task_bytes), *result = malloc(of->result_bytes);
        rig_head head;
        for (uint32_t i = 0; i < of->input_size; ++i) if (scanf("%la", &in[i]) != 1) return 1;
        for (uint32_t i = 0; i < of->result_bytes; ++i) if (scanf("%hhu", &result[i]) != 1) return 1;
        rig_pack(of, 0x1ABCDu, in, task);
        if (rig_unpack(result, of->result_bytes, out, &head) != of->result_bytes) return 2;
        for (uint32_t i = 0; i < of->task_bytes; ++i) printf("%d ", task[i]);
        for (uint32_t i = 0; i < of->output_size; ++i) printf("%a ", out[i]);
        free(in), free(out), free(task), free(result);
    }
    return 0;
}
"""


@needs("cc")
@pytest.mark.parametrize(
    ("word", "boundary"),
    [("9", Boundary(32)), ("27x18", Boundary(64)), slow("32", Boundary(32)), ("27x18", Boundary(32, float32=True))],
    ids=str,
)
def test_words_of_every_width_stay_inside_their_packet(tmp_path, word: str, boundary: Boundary) -> None:
    """C with its buffers as long as the packets, watched by the sanitizers, is Python, for random words."""
    rng, plan = np.random.default_rng(2), accelerator(ARM, "id", "dfd", "difd", word=word).plan
    stream = describe(plan, boundary, "rig", "none")
    (tmp_path / "rig_stream.json").write_text(json.dumps(stream))
    (tmp_path / "rig_host.h").write_text(emit_host(stream))
    (tmp_path / "edges.c").write_text(EDGES)
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-Wpedantic", "-fno-sanitize-recover=all"]
    command = ["cc", *flags, "-fsanitize=address,undefined", "edges.c", "-o", "edges"]
    subprocess.run(command, cwd=tmp_path, check=True)
    host, given, expected = host_program().Host(tmp_path / "rig_stream.json"), [], []
    for name, row in host.functions.items():
        inputs = {key: rng.standard_normal(size) * 8.0 for key, size in row["inputs"].items()}
        result = rng.integers(0, 256, row["result"]["bytes"], dtype=np.uint8)
        result[:2], result[7::4] = (row["code"], 0), 0x40  # as a single-precision number no NaN
        given += [*(x.hex() for x in np.concatenate(list(inputs.values())).tolist()), *map(str, result.tolist())]
        _, outputs = host.unpack(result)
        expected += host.pack(name, 0xABCD, **inputs)[0].tolist() + np.concatenate(list(outputs.values())).tolist()
    ran = subprocess.run(["./edges"], cwd=tmp_path, input=" ".join(given), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert [float.fromhex(x) if "x" in x else int(x) for x in ran.stdout.split()] == expected


@pytest.mark.parametrize("name", ["ur5e", "ball_and_plane"])
def test_angles_are_turned_into_the_box_and_nothing_else_is(tmp_path, name: str) -> None:
    """q within +-2 pi, and far beyond, gives the words of q within +-pi; quaternions and lengths stay."""
    robot = ball_and_plane() if name == "ball_and_plane" else condyle.load(name)
    acc = accelerator(robot, "id")
    path = tmp_path / "rig_stream.json"
    path.write_text(json.dumps(describe(acc.plan, Boundary(64), "rig", "none")))
    host, n, rng = host_program().Host(path), 50, np.random.default_rng(3)
    turning = [4, 7] if name == "ball_and_plane" else list(range(6))
    assert host.known["angles"] == {f"q_{k}": np.pi for k in turning}
    states = fpga.sampled(robot, n, 5, acc.plan.box)
    states["q"][0] = 0.0
    near = host.pack("id", range(n), **states)
    turns = rng.integers(-1, 2, (n, len(turning)))
    turns[1] = 1000
    states["q"][:, turning] += 2 * np.pi * turns
    far = host.pack("id", range(n), **states)
    fields, numbers = Boundary(64).task(acc.plan, "id"), [int.from_bytes(x.tobytes(), "little") for x in (*near, *far)]
    words = unpack(fields, numbers)
    assert not evaluate(acc.plan, "id", words).over.any()
    for word, values in words.items():  # a turn rounds q by 1e-16 of itself, so a word may differ by a unit
        assert np.abs(values[:n] - values[n:]).max() <= (word.name == "q" and word.index in turning)
    lengths = [k for k in range(robot.nq) if k not in turning]
    states["q"][:, lengths] = 50.0
    beyond = unpack(fields, [int.from_bytes(x.tobytes(), "little") for x in host.pack("id", range(n), **states)])
    assert evaluate(acc.plan, "id", beyond).over.all() == bool(lengths)


def test_an_angle_of_less_than_a_turn_or_of_a_geared_joint_is_not_turned() -> None:
    """A follower with half the angle of its master makes another pose after a turn of the master."""
    plan = accelerator(ARM, "id").plan
    assert list(angles(plan)) == [Word("q", 0), Word("q", 1)]
    assert list(angles(replace(plan, limits={**plan.limits, Word("q", 1): 3.0}))) == [Word("q", 0)]
    assert list(angles(accelerator(ARM, "id", "rk4").plan)) == [Word("q", 1)]  # a step alone reads the first
    builder = condyle.Builder("geared").body("base", mass=1.0, inertia=0.1 * np.eye(3))
    for name in ("one", "two"):
        builder.body(name, mass=1.0, com=(0.1, 0.0, 0.0), inertia=0.1 * np.eye(3))
    turned = {"type": "revolute", "axis": (0.0, 1.0, 0.0), "xyz": (0.3, 0.0, 0.0)}
    builder.joint("master", parent="base", child="one", **turned)
    builder.joint("follower", parent="one", child="two", **turned, mimic=("master", 0.5, 0.1))
    assert not angles(accelerator(builder.build(), "id").plan)


def test_the_packer_rounds_and_clamps_as_formats_do() -> None:
    host, rng = host_program(), np.random.default_rng(0)
    acc = accelerator(ARM, ii=2)
    format = next(iter(acc.plan.formats.values()))
    x = np.concatenate([rng.standard_normal(1000) * 20, (np.arange(-8, 8) + 0.5) * 2.0**-format.frac, [1e30, -1e30]])
    assert np.array_equal(host.integers(x, format.width, format.frac), format.from_real(x))
    assert host.integers(np.array([np.nan]), 27, 20) == -(1 << 26)
