from typing import final

def supported() -> dict[str, int]: ...

@final
class Plan:
    context: int
    work_bytes: int
    lanes: int
    def __new__(
        cls, isa: str, bits: int, code: bytes, constants: bytes, slots: bytes, values: bytes, numbers: bytes, /
    ) -> Plan: ...
    def entry(self, way: int, /) -> int: ...
    def checked(self, places: tuple[tuple[int, int], ...], /) -> Plan: ...

@final
class Single:
    entry: int
    columns: int
    context: int
    work_bytes: int
    def __new__(cls, isa: str, bits: int, code: bytes, constants: bytes, numbers: bytes, /) -> Single: ...

@final
class Repeat:
    context: int
    work_bytes: int
    lanes: int
    def __new__(cls, body: Plan | Single, numbers: bytes, /) -> Repeat: ...
    def entry(self, way: int, /) -> int: ...
