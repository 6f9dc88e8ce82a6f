"""JSON both ways for what is stored or shown: strict, versioned, never coercing.

cattrs coerces by default ("no" becomes True); here a value of the wrong type, an unknown key or another version
is an error that says where it stands.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from cattrs import BaseValidationError, Converter, transform_error
from returns.result import Failure, Result, Success

from rag_mcp.pure.errors import BadPlan
from rag_mcp.pure.plans import Action, SavedPlan

PLAN_VERSION = 2
T = TypeVar("T")


@cache
def converter() -> Converter:
    """The one converter of the project."""
    made = Converter(forbid_extra_keys=True, prefer_attrib_converters=False)
    for kind in (str, int, float, bool):
        made.register_structure_hook(kind, _exactly)
    made.register_structure_hook(Action, _action)
    made.register_unstructure_hook(Action, _tagged)
    return made


def _exactly(value: Any, kind: type[T]) -> T:
    if type(value) is not kind:
        raise TypeError(f"expected {kind.__name__}, found {type(value).__name__}")
    return value


def _tagged(action: Any) -> dict[str, Any]:
    return {"do": type(action).__name__.lower(), **converter().unstructure(action)}


def _action(value: Any, _: Any) -> Any:
    kinds = {kind.__name__.lower(): kind for kind in Action.__args__}
    if not isinstance(value, Mapping) or value.get("do") not in kinds:
        raise ValueError(f"an action must be one of {', '.join(kinds)}")
    return converter().structure({k: v for k, v in value.items() if k != "do"}, kinds[value["do"]])


def dumps(value: Any, *, indent: int | None = None) -> str:
    """JSON of any value of the project, in ASCII, lone surrogates in paths included."""
    return json.dumps(converter().unstructure(value), ensure_ascii=True, indent=indent)


def plan_to_json(saved: SavedPlan) -> str:
    """A plan as a file holds it."""
    return dumps({"rag_mcp_plan": PLAN_VERSION, **converter().unstructure(saved)}, indent=1)


def plan_from_json(text: str) -> Result[SavedPlan, BadPlan]:
    """The plan in a file's text, or where it is not one."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Failure(BadPlan(f"it is not JSON: {error}"))
    if not isinstance(data, dict) or (version := data.pop("rag_mcp_plan", None)) is None:
        return Failure(BadPlan("it is not a plan of rag-mcp"))
    if version != PLAN_VERSION or type(version) is not int:
        return Failure(BadPlan(f"it is of version {version}, this program reads version {PLAN_VERSION}"))
    made = structured(data, SavedPlan)
    if isinstance(made, Failure):
        return Failure(BadPlan(made.failure()))
    saved = made.unwrap()
    if json.loads(dumps(saved)) != data:  # cattrs takes a string for a list of its letters
        return Failure(BadPlan("a part is missing, or a list is not one"))
    return Success(saved)


def structured(data: Any, kind: type[T]) -> Result[T, str]:
    """A value of the project from plain data, or what is wrong with it and where ("$" is the whole)."""
    try:
        return Success(converter().structure(data, kind))
    except (BaseValidationError, TypeError, ValueError) as error:
        return Failure("; ".join(transform_error(error)[:3]))
