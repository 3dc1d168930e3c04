from collections.abc import Callable, Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

@final
class Entry:
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
        /,
    ) -> Entry: ...
    def run(
        self, n: int, inputs: Sequence[NDArray[np.generic]], outputs: Sequence[NDArray[np.generic]], threads: int, /
    ) -> None: ...

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
        /,
    ) -> Function: ...
    def __call__(self, *args: object, **keywords: object) -> object: ...
    def set_entry(self, f_ext: bool, entry: Entry, single: Entry | None = None, /) -> None: ...

def empty(shape: tuple[int, ...], dtype: np.dtype[np.floating], /) -> NDArray[np.floating]: ...
def workers(limit: int, /) -> int: ...
