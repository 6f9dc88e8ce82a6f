"""How a value shows itself: one method for all of them.

attrs would write and compile one for each class, a third of what a class costs; every command makes some hundred.
"""

from typing import TYPE_CHECKING, cast

from attrs import fields

if TYPE_CHECKING:
    from attrs import AttrsInstance


class Shown:
    """The base of every attrs class here, which then says `repr=False`. A field that says so is left out."""

    __slots__ = ()

    def __repr__(self) -> str:
        parts = fields(cast("type[AttrsInstance]", type(self)))
        told = (f"{each.name}={getattr(self, each.name)!r}" for each in parts if each.repr)
        return f"{type(self).__qualname__}({', '.join(told)})"
