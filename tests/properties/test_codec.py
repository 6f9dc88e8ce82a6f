"""What is written reads back equal; what is not just that is refused, and says where."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties.worlds import World, damaged
from returns.result import Failure, Success

from rag_mcp.pure.codec import PLAN_VERSION, dumps, plan_from_json, plan_to_json
from rag_mcp.pure.errors import BadPlan, PruneRefused
from rag_mcp.pure.identity import Choices, Chunking, Labelling
from rag_mcp.pure.plans import FilePlan, Hold, Keep, Plan, Prune, Reason, Reembed, Regroup, SavedPlan, Write
from rag_mcp.pure.values import Excluded

texts = st.text(st.characters(), max_size=8)
"""Lone surrogates included: an undecodable file name holds them."""

counts = st.integers(0, 2**62)
keys = st.lists(texts, max_size=3).map(tuple)
actions = st.one_of(
    st.builds(Write, keys, keys),
    st.builds(Reembed, counts, keys),
    st.builds(Prune, counts),
    st.builds(Keep, counts),
    st.builds(Hold, counts, keys),
)
files = st.builds(FilePlan, texts, st.sampled_from(Reason), actions, st.none() | texts, texts)
plans = st.builds(
    Plan,
    texts,
    counts,
    texts,
    counts,
    texts,
    st.lists(files, max_size=3).map(tuple),
    st.lists(st.builds(Excluded, texts, texts), max_size=2).map(tuple),
    st.lists(st.tuples(texts, texts), max_size=2).map(tuple),
    keys,
    st.none() | texts,
    st.booleans(),
    keys,
    st.booleans(),
    st.none() | st.builds(PruneRefused, counts, counts, counts),
    st.booleans(),
    st.none() | st.builds(Regroup, texts, counts, counts),
)
labellings = st.builds(Labelling, texts, keys)
chunkings = st.builds(Chunking, st.none() | counts, st.sampled_from((0.25, 0.4)), counts, counts)
choices = st.builds(Choices, chunkings, labellings)
saved_plans = st.builds(SavedPlan, texts, texts, keys, st.none() | counts, choices, st.booleans(), plans)

SAVED = SavedPlan(
    store="/store",
    collection="knowledge",
    excludes=("drafts/*",),
    allow_prune=None,
    choices=Choices(),
    dedupe_snapshots=True,
    plan=Plan(
        root="/corpus",
        generation=3,
        embedder="mini",
        dim=4,
        run="r",
        files=(
            FilePlan("a.md", Reason.NEW, Write(("k1", "k2"), ("k2",)), "d1"),
            FilePlan("b.md", Reason.UNREADABLE, Hold(2), None, "Permission denied"),
        ),
        gaps=(("notes", "Permission denied"),),
        refusal=PruneRefused(60, 120, 50),
    ),
)


@given(saved_plans)
def test_a_saved_plan_reads_back_equal(saved: SavedPlan) -> None:
    text = plan_to_json(saved)
    assert text.isascii()
    assert plan_from_json(text) == Success(saved)


@given(damaged())
def test_a_plan_of_a_damaged_world_reads_back_equal(pair: tuple[World, World]) -> None:
    saved = SavedPlan("/store", "knowledge", (), None, Choices(), True, pair[1].plan())
    assert plan_from_json(plan_to_json(saved)) == Success(saved)


@given(plans)
def test_any_value_is_dumped_as_ascii_json(plan: Plan) -> None:
    text = dumps(plan)
    assert text.isascii()
    assert json.loads(text)["generation"] == plan.generation


def why(text: str) -> str:
    match plan_from_json(text):
        case Failure(BadPlan(reason)):
            return str(reason)
        case other:
            raise AssertionError(f"it was taken: {other}")


Spoil = Callable[[Any], object]
SPOILT: dict[str, tuple[Spoil, str]] = {
    "a word for a bool": (lambda d: d["plan"].update(full="no"), "$.plan.full"),
    "a number for a bool": (lambda d: d["plan"].update(full=0), "$.plan.full"),
    "a bool for a number": (lambda d: d["plan"].update(generation=True), "$.plan.generation"),
    "a float for a number": (lambda d: d["plan"].update(generation=3.0), "$.plan.generation"),
    "digits for a number": (lambda d: d["plan"].update(dim="4"), "$.plan.dim"),
    "a number for a text": (lambda d: d["plan"].update(root=5), "$.plan.root"),
    "null for a text": (lambda d: d.update(store=None), "$.store"),
    "an extra key": (lambda d: d["plan"].update(colour="red"), "colour"),
    "an extra key in an action": (lambda d: d["plan"]["files"][0]["action"].update(rows=1), "rows"),
    "an extra key at the top": (lambda d: d.update(colour="red"), "colour"),
    "a missing part": (lambda d: d["plan"].pop("files"), "$.plan.files"),
    "a missing part that has a default": (lambda d: d["plan"].pop("refusal"), "missing"),
    "an unknown action": (lambda d: d["plan"]["files"][0]["action"].update(do="burn"), "$.plan.files[0].action"),
    "an action that is a list": (lambda d: d["plan"]["files"][0].update(action=[]), "$.plan.files[0].action"),
    "an action named by a list": (lambda d: d["plan"]["files"][0]["action"].update(do=["write"]), "files[0].action"),
    "an unknown reason": (lambda d: d["plan"]["files"][1].update(reason="why not"), "$.plan.files[1].reason"),
    "a reason that is a list": (lambda d: d["plan"]["files"][1].update(reason=[]), "$.plan.files[1].reason"),
    "a text for a list": (lambda d: d.update(excludes="abc"), "a list is not one"),
    "an object for a list": (lambda d: d["plan"]["files"][0]["action"].update(keys={"k1": 1}), "a list is not one"),
    "a pair of three": (lambda d: d["plan"].update(gaps=[["a", "b", "c"]]), "$.plan.gaps[0]"),
    "a number among texts": (lambda d: d.update(excludes=["a", 5]), "$.excludes[1]"),
    "no plan": (lambda d: d.update(plan=None), "$.plan"),
    "another version": (lambda d: d.update(rag_mcp_plan=PLAN_VERSION + 1), f"of version {PLAN_VERSION + 1}"),
    "a version that only equals": (lambda d: d.update(rag_mcp_plan=True), "of version True"),
    "no version": (lambda d: d.pop("rag_mcp_plan"), "not a plan"),
}


@pytest.mark.parametrize("spoil, where", SPOILT.values(), ids=list(SPOILT))
def test_a_plan_with_anything_amiss_is_refused_and_says_where(spoil: Spoil, where: str) -> None:
    data = json.loads(plan_to_json(SAVED))
    spoil(data)
    assert where in why(json.dumps(data))


@pytest.mark.parametrize("text", ["", "{", "null", "[]", '"plan"', "5", "{}", "[" * 200_000, "1" * 5_000])
def test_what_is_no_plan_is_refused(text: str) -> None:
    assert why(text)


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | texts, lambda x: st.lists(x) | st.dictionaries(texts, x))
)
def test_no_json_at_all_raises(value: Any) -> None:
    assert why(json.dumps(value))
    assert why(json.dumps({"rag_mcp_plan": PLAN_VERSION, **(value if isinstance(value, dict) else {"plan": value})}))
