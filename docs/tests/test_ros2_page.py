"""The node of docs/how-to/ros2.md compiles against stand-ins for ROS's headers, and answers as the library."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np

import condyle
from tests.programs import needs

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "ros2.md"
JOINT_STATE = """
#include <string>
#include <vector>
namespace sensor_msgs::msg {
struct JointState {
    struct Header {} header;
    std::vector<std::string> name;
    std::vector<double> position, effort;
};
}
"""
RCLCPP = """
#include <cstdio>
#include <functional>
#include <memory>
namespace rclcpp {
template <class M> struct Publisher {
    using SharedPtr = std::shared_ptr<Publisher>;
    void publish(const M &m) { for (double t : m.effort) std::printf("%.17g ", t); }
};
template <class M> struct Subscription { using SharedPtr = std::shared_ptr<Subscription>; };
struct Node {
    explicit Node(const char *) {}
    std::function<void()> fire;
    template <class M> std::shared_ptr<Publisher<M>> create_publisher(const char *, int)
    {
        return std::make_shared<Publisher<M>>();
    }
    template <class M, class F> std::shared_ptr<Subscription<M>> create_subscription(const char *, int, F answer)
    {
        M m;
        for (int k = 7; k > 0; k--) {
            m.name.push_back("iiwa_joint_" + std::to_string(k));
            m.position.push_back(k / 10.0);
        }
        fire = [answer, m] { answer(m); };
        return std::make_shared<Subscription<M>>();
    }
};
inline void init(int, char **) {}
inline void shutdown() {}
template <class P> void spin(P node) { node->fire(); }
}
"""


@needs("cc", "g++")
def test_the_node_compiles_and_answers(tmp_path: Path) -> None:
    robot = condyle.load("iiwa14")
    condyle.export(robot, "c", tmp_path / "c", functions=["id"])
    found = re.search(r"^```cpp\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found
    for name, text in (
        ("gravity.cpp", found[1]),
        ("rclcpp/rclcpp.hpp", RCLCPP),
        ("sensor_msgs/msg/joint_state.hpp", JOINT_STATE),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    sources = [path.name for path in (tmp_path / "c").glob("*.c") if path.name != "test.c"]
    subprocess.run(["cc", "-O1", "-c", *sources], cwd=tmp_path / "c", check=True)
    objects = [str(path) for path in (tmp_path / "c").glob("*.o")]
    flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-I.", "-Ic"]
    subprocess.run(["g++", *flags, "gravity.cpp", *objects, "-lm", "-o", "node"], cwd=tmp_path, check=True)
    said = subprocess.run([tmp_path / "node"], capture_output=True, text=True, check=True).stdout
    q = np.arange(1, 8) / 10
    wanted = robot.compile(target="numpy").inverse_dynamics(q, 0 * q, 0 * q)
    np.testing.assert_allclose([float(word) for word in said.split()], wanted, atol=1e-12)
