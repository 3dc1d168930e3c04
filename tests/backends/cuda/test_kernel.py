"""Machine code and its choice, sizes of launches and transfers, and when a kernel is made: without a GPU."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from condyle.backends.cuda import kernel as kernels
from condyle.backends.cuda.kernel import At, Code, CudaFunction, CudaKernel, Loaded, Plan, Planned, Sizes, Usage
from condyle.backends.cuda.launches import MOST_THREADS, Part, Parts, Text
from condyle.backends.cuda.target import Form
from condyle.errors import BuildError, DeviceError
from condyle.ir.loops import TimeLoop
from condyle.ir.program import Array
from condyle.runtime.cuda.driver import Function, Gpu

TEXT = Text("kernel", "first", pool=100, states=32, order="rows", spilled=0)
BLOCK = replace(TEXT, block=64, tasks=3)
LOG = "Used 40 registers, used 1 barriers, 8 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads\n"
ARRAYS = {name: Array(name, (size,)) for name, size in (("q", 3), ("v", 1), ("tau", 2), ("own", 5), ("more", 4))}


def part(*texts: Text, **options: Any) -> Part:
    return Part(texts or (TEXT,), (ARRAYS["q"], ARRAYS["v"]), (ARRAYS["tau"],), **options)


def code(text: Text, stores: int, stack: int = 0, loads: int = 0) -> Code:
    return Code(text, text.ptx.encode(), Usage(32, stack, stores, loads))


def test_usage_is_what_the_log_says() -> None:
    found = kernels.usage(f"ptxas info: {LOG}")
    assert found == Usage(40, 8, 16, 24) and found.moved == 48
    for lacking in (LOG.replace("Used", "used"), LOG.replace("stack", "heap")):
        with pytest.raises(BuildError, match="says nothing of registers: "):
            kernels.usage(lacking)


@pytest.mark.parametrize(
    ("usages", "chosen"),
    [
        ([(0, 900, 900), (0, 0, 0)], 0),  # the first without spills, whatever else it moves
        ([(8, 0, 0), (0, 900, 900), (0, 0, 0)], 1),
        ([(30, 0, 0), (10, 5, 4), (10, 9, 9)], 1),
        ([(10, 25, 0), (10, 0, 24), (20, 10, 3)], 2),
    ],
)
def test_the_text_that_moves_the_fewest_bytes_is_taken(
    monkeypatch: pytest.MonkeyPatch, usages: list[tuple[int, int, int]], chosen: int
) -> None:
    """usages: bytes that are spilled, of the stack, and loaded again."""
    texts = [replace(TEXT, ptx=str(k)) for k in range(len(usages))]
    made = {text.ptx: code(text, *usage) for text, usage in zip(texts, usages, strict=True)}
    monkeypatch.setattr(kernels, "_fetched", lambda text, arch: made[text.ptx])
    assert kernels.assemble(part(*texts), "sm_90").text is texts[chosen]


def test_code_is_kept_by_all_that_it_depends_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[tuple[list[str], str]] = []

    def fetch(parts: list[str], said: str, make: Callable[[Path], None]) -> bytes:
        asked.append((parts, said))
        make(tmp_path / "code")
        return (tmp_path / "code").read_bytes()

    monkeypatch.setattr(kernels.cache, "fetch", fetch)
    monkeypatch.setattr(kernels, "link_version", lambda: (13, 2))
    monkeypatch.setattr(kernels, "link", lambda ptx, arch: (f"{arch}\n{ptx}\n".encode(), Usage(1, 2, 0, 4)))
    assert kernels.assemble(part(), "sm_80") == Code(TEXT, b"sm_80\nfirst\n", Usage(1, 2, 0, 4))
    assert asked == [(["cuda", "sm_80", "(13, 2)", "first"], "kernel sm_80")]


@pytest.mark.parametrize(
    ("arch", "version", "toolkit", "is_served"),
    [
        ("sm_90", (13, 2), 13, True),
        ("sm_90", (12, 9), 13, True),
        ("sm_90", (13, 0), 12, False),  # the driver would not take it
        ("sm_75", (13, 0), 13, False),
        ("sm_90", None, 13, False),
    ],
)
def test_the_driver_assembles_what_we_cannot(
    monkeypatch: pytest.MonkeyPatch, arch: str, version: tuple[int, int] | None, toolkit: int, is_served: bool
) -> None:
    def link_version() -> tuple[int, int]:
        if version is None:
            raise BuildError("no bindings")
        return version

    last = replace(TEXT, ptx="last")
    monkeypatch.setattr(kernels, "link_version", link_version)
    monkeypatch.setattr(kernels, "assemble", lambda part, arch: code(part.texts[0], 0))
    gpu = cast(Gpu, SimpleNamespace(arch=arch, toolkit=toolkit))
    want = (TEXT, b"first") if is_served else (last, b"last\0")
    assert kernels.image_of(part(TEXT, last), gpu) == want


@pytest.mark.parametrize(
    ("error", "lacking"), [(ImportError("no"), "cuda-bindings"), (RuntimeError("no library"), "nvidia-nvjitlink")]
)
def test_the_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, error: Exception, lacking: str) -> None:
    def version() -> None:
        raise error

    monkeypatch.setattr(kernels, "import_module", lambda name: SimpleNamespace(version=version))
    with pytest.raises(BuildError, match=f"installation lacks {lacking}: pip install 'condyle"):
        kernels.link_version()


class Linker:
    """nvJitLink, as far as it is called. broken: whether it takes no text."""

    nvJitLinkError = KeyError
    InputType = SimpleNamespace(PTX="PTX")

    def __init__(self, broken: bool = False, errors: bytes = b"") -> None:
        self.broken, self.errors, self.calls = broken, errors, list[object]()

    def create(self, count: int, options: list[str]) -> int:
        self.calls.append((count, options))
        return 7

    def add_data(self, handle: int, kind: str, data: bytes, size: int, name: str) -> None:
        self.calls.append((handle, kind, data, size, name))
        if self.broken:
            raise KeyError("wrong")

    def complete(self, handle: int) -> None:
        self.calls.append(f"complete {handle}")

    def destroy(self, handle: int) -> None:
        self.calls.append(f"destroy {handle}")

    def get_linked_cubin_size(self, handle: int) -> int:
        return 5

    def get_info_log_size(self, handle: int) -> int:
        return len(LOG)

    def get_error_log_size(self, handle: int) -> int:
        return len(self.errors)

    def get_linked_cubin(self, handle: int, room: bytearray) -> None:
        room[:] = b"cubin"

    def get_info_log(self, handle: int, room: bytearray) -> None:
        room[:] = LOG.encode()

    def get_error_log(self, handle: int, room: bytearray) -> None:
        assert room, "there is no log"
        room[:] = self.errors


@pytest.fixture
def linked(monkeypatch: pytest.MonkeyPatch) -> Callable[[Linker], Linker]:
    def use(linker: Linker) -> Linker:
        monkeypatch.setattr(kernels, "nvjitlink", lambda: cast(ModuleType, linker))
        return linker

    return use


def test_a_text_is_linked_and_the_linker_is_closed(linked: Callable[[Linker], Linker]) -> None:
    linker = linked(Linker())
    assert kernels.link("text", "sm_90") == (b"cubin", Usage(40, 8, 16, 24))
    options = (2, ["-arch=sm_90", "-verbose"])
    assert linker.calls == [options, (7, "PTX", b"text", 4, "condyle.ptx"), "complete 7", "destroy 7"]


@pytest.mark.parametrize(("log", "said"), [(b"line 1\n\0", "'wrong'\nline 1"), (b"", "'wrong'\n")])
def test_what_the_linker_says_comes_back(linked: Callable[[Linker], Linker], log: bytes, said: str) -> None:
    linker = linked(Linker(True, log))
    with pytest.raises(BuildError) as caught:
        kernels.link("text", "sm_90")
    assert str(caught.value) == f"nvJitLink makes no code for sm_90: {said}"
    assert linker.calls[-1] == "destroy 7"


def test_a_linker_is_not_opened_for_what_would_end_the_process(linked: Callable[[Linker], Linker]) -> None:
    linker = linked(Linker())
    with pytest.raises(BuildError, match=r"no code for sm_75; it does for sm_80, .*, sm_121$"):
        kernels.link("text", "sm_75")
    assert not linker.calls


def test_a_text_says_its_blocks() -> None:
    """Warps that are independent have states each; a block that shares its memory has one task of one state."""
    four = replace(TEXT, states=4)
    assert [TEXT.most, four.most, BLOCK.most] == [MOST_THREADS, MOST_THREADS // 8, MOST_THREADS // 192]
    assert [one.shared_bytes(96) for one in (TEXT, four, BLOCK)] == [300, 300, 100]
    assert [TEXT.blocks(n, 64) for n in (1, 64, 65, 128, 129)] == [1, 1, 2, 2, 3]
    assert [four.blocks(n, 64) for n in (1, 8, 9)] == [1, 1, 2]
    assert [replace(four, tasks=3).blocks(n, 64) for n in (1, 3)] == [1, 2]
    assert [BLOCK.blocks(n, 64) for n in (1, 5)] == [3, 15]


def loaded(text: Text = TEXT, warps: int = 4, constants: tuple[int, ...] = ()) -> Loaded:
    return Loaded(Function(9, "kernel", 128, 1000), text, warps, part(numbers=(5, 6)), constants)


def test_blocks_are_small_for_few_states() -> None:
    """With ten multiprocessors: blocks of 4, 2, 1 warps, each as long as all multiprocessors have one."""
    shapes = {n: loaded().shape(n, 10) for n in (1, 639, 640, 1279, 1280, 1281)}
    assert shapes == {1: (1, 32), 639: (20, 32), 640: (10, 64), 1279: (20, 64), 1280: (10, 128), 1281: (11, 128)}
    assert loaded(BLOCK).shape(2, 10) == (6, 64)


def test_parameters_are_in_the_order_of_the_kernel() -> None:
    """n, zero, address and stride of each input, outputs, constants, numbers."""
    places = {"q": 100, "v": 200, "tau": 300}
    assert loaded(constants=(400,)).values(8, places, {"q": 24, "v": 0}) == [8, 0, 100, 24, 200, 0, 300, 400, 5, 6]


def parts(*scratch: str, bits: int = 32) -> Parts:
    writes = (*(ARRAYS[name] for name in scratch), ARRAYS["tau"])
    launch = Part((TEXT, replace(TEXT, states=1)), (ARRAYS["q"], ARRAYS["v"]), writes)
    return Parts("id", bits, (ARRAYS["q"], ARRAYS["v"]), (ARRAYS["tau"],), (launch,))


def test_sizes_are_bytes_of_a_state() -> None:
    assert Sizes.from_parts(parts("own", "more")) == Sizes(16, 8, 36, MOST_THREADS // 32)
    assert Sizes.from_parts(parts("own", bits=64)) == Sizes(32, 16, 40, MOST_THREADS // 32)
    assert Sizes(16, 8, 36, 1).all == 60


def test_transfers_are_of_a_few_megabytes() -> None:
    """Of 128 bytes a state: 2 MiB are 16384 states, 32 MiB 262144; between them a quarter of the batch."""
    sizes = Sizes(100, 20, 8, 1 << 20)
    wanted = {1: 1, 16_384: 16_384, 16_385: 16_384, 65_536: 16_384, 65_537: 16_385, 1 << 20: 262_144, 9 << 20: 262_144}
    assert {n: sizes.transfer(n) for n in wanted} == wanted
    assert sizes.transfer(0) == 1  # a step of range
    assert replace(sizes, most=7).transfer(100) == 7
    assert replace(sizes, inputs=1 << 30).transfer(5) == 1
    assert [sizes.staged(n) for n in (0, 1, 16_384, 16_385)] == [0, 128, 2 << 20, 4 << 20]


def test_scratch_is_for_as_many_states_as_fit() -> None:
    sizes = Sizes(100, 20, 1 << 20, 1 << 20)
    assert [sizes.piece(n) for n in (0, 1, 256, 257)] == [1, 1, 256, 256]
    assert [replace(sizes, most=9).piece(n) for n in (9, 10)] == [9, 9]
    assert replace(sizes, scratch=0).piece(1 << 20) == 1 << 20
    assert replace(sizes, scratch=1 << 30).piece(5) == 1
    assert [sizes.resident(n) for n in (0, 1, 300)] == [0, 120 + (1 << 20), 36_000 + (256 << 20)]


def a_kernel(what: Parts) -> CudaKernel:
    stub = SimpleNamespace(
        parts=what,
        sizes=Sizes.from_parts(what),
        dtype=np.dtype(f"f{what.bits // 8}"),
        gpu=SimpleNamespace(multiprocessors=1),
        launches=[replace(loaded(), part=launch) for launch in what.launches],
    )
    return cast(CudaKernel, stub)


def test_launches_are_planned_by_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs and outputs move on from piece to piece; scratch, buffer 3, is used again, one array after the other."""
    monkeypatch.setattr(kernels, "SCRATCH_BYTES", 72)  # of two states
    what = parts("own", "more")
    first, second = kernels.planned(a_kernel(what), 3, (12, 0))
    stride = [At(-1, 12), At(-1, 0)]
    own, more = At(3, 0), At(3, 40)
    both = (9, 1, 32, 100)
    begin = [At(-1, 2), At(-1, 0), At(0, 0), stride[0], At(1, 0), stride[1]]
    assert first == Planned(*both, (*begin, own, more, At(2, 0)))
    begin = [At(-1, 1), At(-1, 0), At(0, 24), stride[0], At(1, 0), stride[1]]
    assert second == Planned(*both, (*begin, own, more, At(2, 16)))
    assert [kernels.scratch_bytes(a_kernel(what), n) for n in (0, 1, 2, 3)] == [0, 36, 72, 72]


class Source:
    """What a function is made of: it notes what is asked."""

    def __init__(self) -> None:
        self.asked = list[object]()

    def form(self, n: int) -> Form:
        self.asked.append(n)
        return Form(32 if n < 3 else 1)

    def launches(self, form: Form) -> Parts:
        self.asked.append(str(form))
        return parts()

    def over_rows(self) -> Part:
        self.asked.append("rows")
        return part()

    def repeated(self, loop: TimeLoop) -> Source | None:
        return None if loop.together else Source()


GPU = cast(Gpu, SimpleNamespace(arch="sm_90", current=nullcontext))


def a_function(source: Source) -> CudaFunction:
    return CudaFunction(cast(kernels.Source, source), GPU, np.dtype("float32"))


def test_a_form_is_chosen_for_each_power_of_two_and_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "CudaKernel", lambda parts, gpu, dtype: object())
    source = Source()
    function = a_function(source)
    made = [function.kernel(n) for n in (1, 2, 3, 4, 5, 8, 9, 1)]
    assert source.asked == [1, "group32", 2, 3, "thread", 5, 9]
    group, thread = made[0], made[2]
    assert [kernel is group for kernel in made] == [True, True, *[False] * 5, True]
    assert [kernel is thread for kernel in made] == [False, False, *[True] * 5, False]


def test_rows_of_problems_have_one_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "loaded", lambda part, gpu: loaded())
    source = Source()
    function = a_function(source)
    assert function.over_rows() is function.over_rows()
    assert source.asked == ["rows"]


def test_a_loop_is_a_function_of_its_own_where_there_is_one() -> None:
    function = a_function(Source())
    assert isinstance(function.repeated(TimeLoop(2, (), ())), CudaFunction)
    assert function.repeated(TimeLoop(2, (), (), together=True)) is None


def test_plans_are_kept_for_256_layouts() -> None:
    function = a_function(Source())
    plan = Plan((), (), (), None)
    for key in range(256):
        assert function.keep(key, plan) is plan
    assert len(function.plans) == 256
    function.keep("next", plan)
    assert list(function.plans) == ["next"]


def test_a_kernel_says_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "loaded", lambda part, gpu, target: loaded())
    one = parts()
    two = replace(one, launches=one.launches * 2)
    said = [CudaKernel(what, GPU, np.dtype("float32")).description for what in (one, two)]
    assert said == ["CUDA, sm_90, one kernel", "CUDA, sm_90, 2 kernels"]


def small_gpu(monkeypatch: pytest.MonkeyPatch, most_threads: int, shared_bytes: int = 99 * 1024) -> Gpu:
    """A GPU that takes blocks of so many threads of any kernel, and notes the shared memory that is asked for."""
    monkeypatch.setattr(kernels, "image_of", lambda part, gpu: (part.texts[0], b"image"))

    def function(image: bytes, name: str, shared: int) -> Function:
        return Function(shared, name, most_threads, shared)

    return cast(Gpu, SimpleNamespace(arch="sm_90", shared_bytes=shared_bytes, function=function))


def test_blocks_shrink_until_the_gpu_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [kernels.loaded(part(), small_gpu(monkeypatch, most)).warps for most in (128, 127, 64, 63, 32)] == [
        4, 2, 2, 1, 1,
    ]  # fmt: skip
    assert kernels.loaded(part(), small_gpu(monkeypatch, 128)).function.handle == 400
    block = kernels.loaded(part(BLOCK), small_gpu(monkeypatch, 64))
    assert block.function.handle == 100 and block.constants == ()


def test_what_does_not_fit_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, least in ((TEXT, "one warp"), (BLOCK, "a block of 64 threads")):
        with pytest.raises(DeviceError, match=rf"kernel does not fit on this GPU \(sm_90\), not even {least}:"):
            kernels.loaded(part(text), small_gpu(monkeypatch, 31))
    assert kernels.loaded(part(), small_gpu(monkeypatch, 128, 100)).warps == 1
    with pytest.raises(DeviceError, match="kernel needs 100 bytes of shared memory, sm_90 has 99"):
        kernels.loaded(part(), small_gpu(monkeypatch, 128, 99))
