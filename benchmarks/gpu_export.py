"""What nvcc makes of exported kernels, without a GPU: registers, stack and spills of a thread, seconds it computes.

    python -m benchmarks.gpu_export

Needs nvcc. Writes results/gpu_export.json. Atlas's derivatives of forward dynamics are launches of its other kernels.
"""

from __future__ import annotations

import re
import resource
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import results
from condyle import api
from condyle.backends.cuda.cpp.plan import plan
from condyle.backends.cuda.cpp.project import header
from condyle.backends.cuda.target import ARCHITECTURES
from condyle.functions import DEFAULT, FUNCTIONS

CASES = [*(("iiwa14", 32, arch) for arch in ARCHITECTURES), ("iiwa14", 64, "sm_90"), ("atlas", 32, "sm_90")]
KERNEL = re.compile(
    r"Compiling entry function '\w*?\d([a-z]+)_kernelI.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
    r"(\d+) bytes spill loads.*?Used (\d+) registers",
    re.DOTALL,
)


def main() -> None:
    found: dict[str, Any] = {**results.certificate(), "nvcc": version(), "builds": [], "kernels": []}
    for name, bits, arch in CASES:
        seconds, rows = build(name, bits, arch)
        case = {"robot": name, "bits": bits, "arch": arch}
        found["builds"].append({**case, "processor_s": seconds})
        found["kernels"] += [{**case, **row} for row in rows]
        print(*case.values(), seconds, flush=True)
    path = results.FOLDER / "gpu_export.json"
    results.write(path, found)
    print(f"wrote {path.relative_to(results.ROOT)}")


def version() -> str:
    said = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"V(\d+\.\d+\.\d+)", said)[0]


def build(name: str, bits: int, arch: str) -> tuple[float, list[dict[str, Any]]]:
    """Seconds, and one row a kernel."""
    compiler = api.compiler_of(api.load(name), name=name)
    planned = plan(*compiler.gpu_kernels.exported([FUNCTIONS[name] for name in DEFAULT]))
    real = "float" if bits == 32 else "double"
    used = ", ".join(f"(void *){name}::{kernel.name}_kernel<{real}>" for kernel in planned.kernels)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernels.cu")
        source.write_text(f"{header(planned, compiler.facts, {})}\nvoid *kernels[] = {{{used}}};\n")
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        command = ["nvcc", "-std=c++17", f"-arch={arch}", "-Xptxas=-v", "-c", str(source), "-o", f"{folder}/kernels.o"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    columns = ("stack_bytes", "spill_store_bytes", "spill_load_bytes", "registers")
    rows = {
        found[0]: dict(zip(columns, map(int, found[1:]), strict=True))
        for found in KERNEL.findall(said.replace("ptxas info    : ", ""))
    }
    return round(seconds, 1), [{"function": kernel.name, **rows[kernel.name]} for kernel in planned.kernels]


if __name__ == "__main__":
    main()
