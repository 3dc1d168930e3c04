"""The bindings of the driver take what they are given: with a library in place of the driver that notes a launch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from condyle.runtime.toolchain import find_compiler

LIBRARY = """
#include <stdint.h>
#include <string.h>
uint64_t seen[16];
static int nothing(void) { return 0; }
static int launch(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                  unsigned shared, void *stream, void **parameters, void **extra)
{
    uint64_t found[] = {(uint64_t)function, gx, gy, gz, bx, by, bz, shared, (uint64_t)stream, (uint64_t)extra};
    memcpy(seen, found, sizeof found);
    seen[10] = *(uint32_t *)parameters[0];
    seen[11] = *(uint32_t *)parameters[1];
    seen[12] = *(uint64_t *)parameters[2];
    return 0;
}
int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status)
{
    *function = strcmp(name, "cuLaunchKernel") ? strcmp(name, "cuGetProcAddress") ? (void *)nothing
                : (void *)cuGetProcAddress_v2 : (void *)launch;
    return 0;
}
int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)
{
    return cuGetProcAddress_v2(name, function, version, flags, 0);
}
"""
LAUNCH = """
import ctypes
from types import SimpleNamespace
from cuda.bindings import driver as api
from condyle.runtime.cuda.driver import Driver, Function, Gpu

gpu = object.__new__(Gpu)
gpu.driver, gpu.arch = Driver(api), "sm_90"
gpu.launch(Function(api.CUfunction(7), "kernel", 1024, 1 << 16), 3, 64, 512, 5, (9, 0, (1 << 40) + 8))
print(*(ctypes.c_uint64 * 13).in_dll(ctypes.CDLL("libcuda.so.1"), "seen"))
"""


def test_a_launch(tmp_path: Path) -> None:
    """Parameters are given as an address of addresses; those of 32 bits are read from the lower half of theirs."""
    pytest.importorskip("cuda.bindings.driver", reason="pip install 'condyle[cuda]'")
    (tmp_path / "driver.c").write_text(LIBRARY)
    library = str(tmp_path / "libcuda.so.1")
    subprocess.run([find_compiler().path, "-shared", "-fPIC", "-o", library, str(tmp_path / "driver.c")], check=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    said = subprocess.run(
        [sys.executable, "-c", LAUNCH], env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert list(map(int, said.split())) == [7, 3, 1, 1, 64, 1, 1, 512, 5, 0, 9, 0, (1 << 40) + 8]
