"""Functions that users write: traced once, then functions as the library's own."""

from condyle.user.function import CompiledFunction, UserFunction
from condyle.user.ports import Size

__all__ = ["CompiledFunction", "Size", "UserFunction"]
