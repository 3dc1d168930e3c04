"""An installed export is a package that a second project finds, by CMake and by pkg-config, wherever it is moved to."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import condyle
from condyle.backends.c.target import TARGET
from condyle.backends.cuda.cpp.project import ABI
from tests.backends.cuda.exported import SHIM
from tests.programs import call, needs

pytestmark = needs("cmake")
needs_gpp = needs("g++")
needs_nvcc = needs("nvcc")
needs_pkg_config = needs("pkg-config")
ARM = condyle.chain(2)
# a force along the first joint's lever changes its torque; both calls are linked
MAIN = """
#include <arm.h>
int main()
{
    double q[ARM_NQ] = {0}, v[ARM_NV] = {0}, a[ARM_NV] = {0}, f_ext[ARM_N_BODIES][6] = {{0}};
    double held[ARM_NV], pushed[ARM_NV];
    f_ext[0][5] = 1;
    if (arm_id(1, q, v, a, held) || arm_id_f_ext(1, q, v, a, &f_ext[0][0], pushed)) {
        return 1;
    }
    return held[0] - pushed[0] > 1 - 1e-12 && held[0] - pushed[0] < 1 + 1e-12 ? 0 : 2;
}
"""


def lists(version: int, source: str, before: str = "") -> str:
    found = before or f"find_package(arm {version} CONFIG REQUIRED)"
    return (
        "cmake_minimum_required(VERSION 3.18)\nproject(second CXX)\n" if source.endswith("cpp") else
        "cmake_minimum_required(VERSION 3.18)\nproject(second C)\n"
    ) + f"{found}\nadd_executable(app {source})\ntarget_link_libraries(app PRIVATE arm::arm)\n"  # fmt: skip


def configured(folder: Path, build: Path, *options: str) -> list[str]:
    return ["cmake", "-S", str(folder), "-B", str(build), *options]


def run(project: Path, *options: str) -> None:
    """Configured, built, and called."""
    call(configured(project, project / "build", *options), project)
    call(["cmake", "--build", str(project / "build")], project)
    call([str(project / "build" / "app")], project)


def installed(export: Path, work: Path, *options: str) -> Path:
    """Built, installed, and moved."""
    options = ("-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_INSTALL_LIBDIR=lib", *options)
    call(configured(export, work / "build", *options), work)
    call(["cmake", "--build", str(work / "build")], work)
    call(["cmake", "--install", str(work / "build"), "--prefix", str(work / "first")], work)
    (work / "first").rename(work / "place")
    return work / "place"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("package")
    condyle.export(ARM, "c", work / "export", ("id",), name="arm")
    return installed(work / "export", work)


def second(folder: Path, text: str, source: str = "main.c", main: str = MAIN) -> Path:
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(text)
    (folder / source).write_text(main)
    return folder


def test_find_package(place: Path, tmp_path: Path) -> None:
    for version in (TARGET.abi, TARGET.abi - 1):
        project = second(tmp_path / f"second{version}", lists(version, "main.c"))
        command = configured(project, project / "build", f"-DCMAKE_PREFIX_PATH={place}")
        if version != TARGET.abi:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode != 0
            assert f"version: {TARGET.abi}" in done.stderr
            continue
        run(project, f"-DCMAKE_PREFIX_PATH={place}")


@needs_pkg_config
def test_pkg_config(place: Path, tmp_path: Path) -> None:
    asked = ["pkg-config", "--cflags", "--libs", "arm"]
    found = {**os.environ, "PKG_CONFIG_PATH": str(place / "lib" / "pkgconfig")}
    flags = subprocess.run(asked, env=found, capture_output=True, text=True, check=True).stdout.split()
    (tmp_path / "main.c").write_text(MAIN)
    call(["cc", "main.c", *flags, "-o", "app"], tmp_path)
    call([str(tmp_path / "app")], tmp_path)


@pytest.mark.slow
def test_a_folder_of_another_project(tmp_path: Path) -> None:
    """add_subdirectory gives the same target, and neither builds the test nor registers it."""
    project = second(tmp_path / "second", lists(0, "main.c", "add_subdirectory(arm)\nenable_testing()"))
    condyle.export(ARM, "c", project / "arm", ("id",), name="arm")
    run(project)
    assert not list((project / "build").rglob("*_test"))


CUDA_MAIN = """
#include <arm.cuh>
#include <shim.cpp>
int main()
{
    double q[arm::NQ] = {}, v[arm::NV] = {}, a[arm::NV] = {}, f_ext[arm::N_BODIES * 6] = {}, held[arm::NV], far[64];
    f_ext[5] = 1;
    arm::id_inner<double>(q, v, a, held);
    arm::id_f_ext_inner<double>(q, v, a, f_ext, far, 1, 1, 1, 1, 32);  // tau alone lies far apart
    return held[0] - far[0] > 1 - 1e-12 && held[0] - far[0] < 1 + 1e-12 && far[32] == held[1] ? 0 : 2;
}
"""


@needs_gpp
@pytest.mark.slow
def test_the_cuda_header_is_a_package_too(tmp_path: Path) -> None:
    condyle.export(ARM, "cuda", tmp_path / "export", ("id",), name="arm")
    place = installed(tmp_path / "export", tmp_path, "-DCMAKE_CUDA_COMPILER=")
    text = lists(ABI, "main.cpp") + f"target_include_directories(app PRIVATE {SHIM})\n"
    text += "target_compile_definitions(app PRIVATE SHIM_ROBOT=arm)\n"
    project = second(tmp_path / "second", text, "main.cpp", CUDA_MAIN)
    run(project, f"-DCMAKE_PREFIX_PATH={place}")


CUDA_PROJECT = f"""
cmake_minimum_required(VERSION 3.18)
project(second CUDA)
find_package(arm {ABI} CONFIG REQUIRED)
add_executable(app main.cu)
target_link_libraries(app PRIVATE arm::arm)
"""
CUDA_ROLLOUT = """
#include <arm.cuh>
int main()
{
    arm::Rows<float> q{nullptr, 2}, tau{nullptr, 20}, dt{nullptr, 0};
    return arm::rollout_launch<float>(0, 10, 0, q, q, tau, dt, nullptr, nullptr) == cudaSuccess ? 0 : 1;
}
"""


@needs_nvcc
@pytest.mark.slow
def test_a_project_in_cuda_alone_finds_the_header(tmp_path: Path) -> None:
    """Its sources become C++17, whatever it asks for; a launch of no states needs no GPU."""
    condyle.export(ARM, "cuda", tmp_path / "export", ("rollout",), name="arm")
    place = installed(tmp_path / "export", tmp_path, "-DCMAKE_CUDA_COMPILER=")
    project = second(tmp_path / "second", CUDA_PROJECT, "main.cu", CUDA_ROLLOUT)
    standard = "-DCMAKE_CUDA_STANDARD=14", "-DCMAKE_CUDA_ARCHITECTURES=80"
    run(project, f"-DCMAKE_PREFIX_PATH={place}", *standard)
