"""Whether a version is one of those that a requirement allows.

    ">=1.26,<3"      every part must hold; numbers are compared one by one, missing ones count as 0
    "~=2.3"          at least that, and the same but for the last number

A part after the numbers (rc1, .post1, +local) is not compared, so a release candidate counts as its release.
"""

import re
from collections.abc import Callable
from itertools import zip_longest
from operator import eq, ge, gt, le, lt, ne

_PART = re.compile(r"\s*(==|>=|<=|!=|~=|>|<)\s*v?(\d+(?:\.\d+)*)(\.\*)?[^,]*")
_NUMBERS = re.compile(r"v?(\d+(?:\.\d+)*)")
_COMPARED: dict[str, Callable[[int, int], bool]] = {"==": eq, "!=": ne, ">=": ge, "<=": le, ">": gt, "<": lt}


def satisfies(version: str, wanted: str) -> bool | None:
    """Whether it is allowed; None where either cannot be read."""
    numbers = _NUMBERS.match(version)
    parts = [_PART.fullmatch(part) for part in wanted.split(",") if part.strip()]
    if numbers is None:
        return None
    held: list[bool] = []
    for part in parts:
        if part is None:
            return None
        held.append(_holds(_split(numbers[1]), part[1], _split(part[2]), alike=bool(part[3])))
    return all(held)


def _holds(version: list[int], operator: str, bound: list[int], *, alike: bool) -> bool:
    if operator == "~=":
        return _order(version, bound) >= 0 and version[: len(bound) - 1] == bound[:-1]
    if alike:  # ==2.* and !=2.*
        version = [*version, *[0] * len(bound)][: len(bound)]
    return _COMPARED[operator](_order(version, bound), 0)


def _order(one: list[int], other: list[int]) -> int:
    """Negative, zero or positive."""
    return next((a - b for a, b in zip_longest(one, other, fillvalue=0) if a != b), 0)


def _split(numbers: str) -> list[int]:
    return [int(number) for number in numbers.split(".")]
