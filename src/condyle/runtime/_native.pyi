from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from condyle.runtime.packed import Layout

@final
class Entry:
    lanes: int
    sizes: tuple[int, ...]
    def __new__(
        cls,
        address: int,
        work_bytes: int,
        lanes: int,
        format: str,
        in_sizes: tuple[int, ...],
        out_sizes: tuple[int, ...],
        grain: int,
        context: int = 0,
        packed: int = 0,
        stream: int = 0,
        checks: bool = False,
        usual: int = 0,
        /,
    ) -> Entry: ...
    def run(
        self, n: int, inputs: Sequence[NDArray[np.generic]], outputs: Sequence[NDArray[np.generic]], threads: int, /
    ) -> None: ...

@final
class Scheduled:
    address: int
    context: int
    work_bytes: int
    def __new__(cls, words: bytes, entries: tuple[Entry, ...], format: str, /) -> Scheduled: ...

class PackedBase:
    def __new__(cls, blocks: NDArray[np.floating], layout: Layout, batch: tuple[int, ...], /) -> Self: ...
    @property
    def blocks(self) -> NDArray[np.floating]: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def batch(self) -> tuple[int, ...]: ...

@final
class Function:
    def __new__(
        cls,
        slow: Callable[..., object],
        names: tuple[str, ...],
        takes_f_ext: bool,
        inputs: tuple[tuple[int, ...], ...],
        outputs: tuple[tuple[int, ...], ...],
        dtype: np.dtype[np.floating],
        result: type[tuple[object, ...]] | None,
        threads: int,
        shares: bool = True,
        positional: int = ...,
        fractions: int = 0,
        positives: int = 0,
        configurations: int = 0,
        quaternions: tuple[int, ...] = (),
        /,
    ) -> Function: ...
    def __call__(self, *args: object, **keywords: object) -> object: ...
    def set_packed(self, f_ext: bool, entry: Entry, type: type[PackedBase], layouts: tuple[Layout, ...], /) -> None: ...
    def set_entry(self, f_ext: bool, entry: Entry, single: Entry | None = None, /) -> None: ...

def borrow(array: object, stream: int, /) -> tuple[int, Any, int | None, object]: ...
def describe(
    arrays: tuple[object, ...], type: type[object], /
) -> tuple[list[int], list[Any], list[int | None], list[int | None], list[int]]: ...
def lend(owner: object, address: int, shape: tuple[int, ...], bits: int, device: int, versioned: bool, /) -> object: ...
def launch(
    driver: Callable[..., object],
    function: object,
    grid: int,
    block: int,
    shared_bytes: int,
    stream: int,
    values: tuple[int | tuple[int, int], ...],
    addresses: list[int],
    /,
) -> object: ...
def empty(shape: tuple[int, ...], dtype: np.dtype[np.floating], /) -> NDArray[np.floating]: ...
def workers(limit: int, /) -> int: ...
def explain_unknown(function: Callable[[str], str], /) -> None: ...
def export(number: int, entry: Entry, single: Entry | None, /) -> None: ...
def export_tape(
    number: int,
    forward: Entry | None,
    forward_single: Entry | None,
    backward: Entry,
    single: Entry | None,
    steps: int,
    carried: tuple[tuple[int, int], ...],
    /,
) -> None: ...
def export_launches(
    number: int,
    context: int,
    device: int,
    format: str,
    scratch: bool,
    inputs: int,
    counts: tuple[int, ...],
    launches: tuple[tuple[int, int, int, int, tuple[tuple[int, int], ...]], ...],
    /,
) -> None: ...
def open_gpu_driver(path: str, /) -> None: ...
def xla_gpu_handler() -> object: ...
def xla_handler() -> object: ...
