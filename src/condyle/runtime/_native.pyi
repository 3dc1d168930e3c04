from collections.abc import Sequence
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
    def direct(
        self,
        inputs: tuple[object, ...],
        outputs: tuple[object, ...],
        dims: tuple[tuple[int, ...], ...],
        threads: int,
        /,
    ) -> bool: ...
