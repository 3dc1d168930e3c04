"""Functions that users write: traced once, then functions as the library's own."""

from condyle.user.function import CompiledFunction, UserFunction

__all__ = ["CompiledFunction", "UserFunction"]
