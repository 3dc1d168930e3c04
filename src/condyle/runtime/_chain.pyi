from typing import final

@final
class Chain:
    entry: int
    context: int
    work_bytes: int
    lanes: int
    def __new__(
        cls,
        isa: str,
        bits: int,
        code: bytes,
        constants: bytes,
        table: bytes,
        starts: bytes,
        words: bytes,
        work: int,
        /,
    ) -> Chain: ...
