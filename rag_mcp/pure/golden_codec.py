"""Golden cases and baselines, from plain data and back: strict, and every refusal says which case and what.

A file of cases is a table `case` of tables (TOML), or one case a line (JSONL); keys are the fields of `golden.Case`. A
baseline is the JSON of a run, one version; the same run gives the same bytes.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from returns.result import Failure, Result, Success

from rag_mcp.pure.codec import converter, dumps, structured
from rag_mcp.pure.golden import Case, flaw, twins
from rag_mcp.pure.judging import Run

BASELINE_VERSION = 1
VERSION_KEY = "rag_mcp_baseline"
Numbered = tuple[str, Any]
"""Where an item stands in its file ("line 3", "case 2"), and the item."""


def cases_of_toml(data: Mapping[str, Any], lines: Sequence[int]) -> Result[tuple[Case, ...], str]:
    """The cases of a parsed TOML file. `lines` are those of its `[[case]]` headers, as far as they are known."""
    if extra := sorted(data.keys() - {"case"}):
        return Failure(f"it may hold tables [[case]] only, not {', '.join(map(repr, extra))}")
    found = data.get("case", [])
    if not isinstance(found, list):
        return Failure("write [[case]], with two brackets on each side, in front of each case")
    known = len(lines) == len(found)
    return _cases([(f"case {n + 1}" + (f", line {lines[n]}" if known else ""), item) for n, item in enumerate(found)])


def cases_of_jsonl(text: str) -> Result[tuple[Case, ...], str]:
    """The cases of a JSONL text; blank lines are passed over."""
    items: list[Numbered] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            items.append((f"line {number}", json.loads(line)))
        except (ValueError, RecursionError) as error:
            return Failure(f"line {number} is not JSON: {error}")
    return _cases(items)


def _cases(items: Sequence[Numbered]) -> Result[tuple[Case, ...], str]:
    cases: list[Case] = []
    for where, item in items:
        made = _case(item)
        if isinstance(made, Failure):
            return Failure(f"{where}: {made.failure()}")
        cases.append(made.unwrap())
    if not cases:
        return Failure("it holds no case")
    if pair := twins(cases):
        first, second = (items[place][0] for place in pair)
        return Failure(f"{second}: its id {cases[pair[1]].name!r} is that of {first}; give one of them another id")
    return Success(tuple(cases))


def _case(item: Any) -> Result[Case, str]:
    if not isinstance(item, Mapping):
        return Failure("a case is a table of keys and values")
    loose = next(_not_lists(item), None)
    if loose:
        return Failure(f"{loose} must be a list, in brackets")
    made = structured(item, Case).bind(lambda case: Failure(why) if (why := flaw(case)) else Success(case))
    return made.alt(lambda why: why.replace(" @ $.", ": ").replace(" @ $", ""))


def _not_lists(item: Mapping[str, Any]) -> Iterator[str]:
    """The keys whose value would be taken for a list of its letters or keys."""
    return (key for key in ("expect", "tags") if key in item and not isinstance(item[key], list))


def baseline_to_json(run: Run) -> str:
    """A run as a baseline holds it. The means are there for people: they are made of the cases."""
    plain = converter().unstructure(run)
    return dumps({VERSION_KEY: BASELINE_VERSION, "means": dict(run.means), **plain}, indent=1) + "\n"


def baseline_from_json(text: str) -> Result[Run, str]:
    """The run in a baseline's text, or why there is none."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Failure(f"it is not JSON: {error}")
    if not isinstance(data, dict) or VERSION_KEY not in data:
        return Failure("it is not a baseline of rag-mcp")
    version = data.pop(VERSION_KEY)
    if type(version) is not int or version != BASELINE_VERSION:
        return Failure(f"it is of version {version}, this program reads version {BASELINE_VERSION}; record it anew")
    told = data.pop("means", None)
    made = structured(data, Run)
    if isinstance(made, Failure):
        return made
    run = made.unwrap()
    if json.loads(dumps(run)) != data or told != dict(run.means):
        return Failure("a part is missing, a list is not one, or its means are not those of its cases")
    return Success(run)
