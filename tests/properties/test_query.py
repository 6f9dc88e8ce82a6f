"""A parsed question is always in bounds, whatever was sent."""

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from returns.result import Failure, Success

from rag_mcp.pure.classify import ALLOWED_DOC_CLASSES
from rag_mcp.pure.errors import InvalidDocClass, InvalidQuery
from rag_mcp.pure.limits import DEFAULT_K, MAX_K, MAX_QUERY
from rag_mcp.pure.query import Query, clamp_k, parse_query


class Hostile:
    """Compares and converts to nothing without raising."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("asked to compare")

    def __hash__(self) -> int:
        raise RuntimeError("asked to hash")

    def __int__(self) -> int:
        raise OverflowError("asked to convert")

    __float__ = __index__ = __bool__ = __str__ = __int__  # type: ignore[assignment]


anything: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.complex_numbers(),
    st.decimals(),
    st.fractions(),
    st.text(st.characters()),
    st.binary(),
    st.lists(st.integers()),
    st.dictionaries(st.text(), st.integers()),
    st.sampled_from(ALLOWED_DOC_CLASSES),
    st.builds(Hostile),
    st.builds(object),
)


@example(text="x", k=10**400, doc_class=None)
@example(text="x", k="9" * 5_000, doc_class=[])
@given(anything, anything, anything)
def test_whatever_is_sent_is_a_question_in_bounds_or_a_reason(text: Any, k: Any, doc_class: Any) -> None:
    match parse_query(text, k, doc_class):
        case Success(Query(asked, number, kind)):
            assert isinstance(asked, str) and asked == text and asked.strip() and len(asked) <= MAX_QUERY
            assert type(number) is int and 1 <= number <= MAX_K
            assert kind is None if doc_class is None else kind in ALLOWED_DOC_CLASSES and kind == doc_class
        case Failure(InvalidQuery(message)):
            assert "query" in message
        case Failure(InvalidDocClass(message)):
            assert all(name in message for name in ALLOWED_DOC_CLASSES)
        case other:
            raise AssertionError(other)


K = [
    (1, 1), (5, 5), (20, 20), (0, 1), (-3, 1), (-1, 1), (21, 20), (1000, 20), (1_000_000_000, 20), (10**400, 20),
    (-(10**400), 1), (5.0, 5), (5.7, 5), (7.9, 7), (0.5, 1), (-0.0, 1), (20.9, 20), (1e300, 20),
    ("5", 5), (" 7 ", 7), ("5.7", 5), ("0", 1), ("1e3", 20),
    (math.inf, 20), (-math.inf, 1), ("inf", 20), ("1e999", 20), ("-1e999", 1),
    (math.nan, DEFAULT_K), ("nan", DEFAULT_K),
    (True, DEFAULT_K), (False, DEFAULT_K), (None, DEFAULT_K), ([], DEFAULT_K), ([3], DEFAULT_K),
    ({}, DEFAULT_K), ("", DEFAULT_K), ("five", DEFAULT_K), (b"5", DEFAULT_K), (5j, DEFAULT_K), (Hostile(), DEFAULT_K),
    (Fraction(7, 2), DEFAULT_K),
]  # fmt: skip


@pytest.mark.parametrize("given_k, read", K, ids=[f"{type(k).__name__} {repr(k)[:12]}" for k, _ in K[:-2]] + ["h", "f"])
def test_k_is_read_by_one_rule_and_never_refused(given_k: object, read: int) -> None:
    assert clamp_k(given_k) == read
    assert type(clamp_k(given_k)) is int


@given(st.integers())
def test_a_number_in_bounds_is_left_alone_and_clamping_is_monotonic(k: int) -> None:
    assert clamp_k(k) == max(1, min(MAX_K, k))
    assert clamp_k(k) <= clamp_k(k + 1)
    assert clamp_k(clamp_k(k)) == clamp_k(k)


@pytest.mark.parametrize("text", ["", "  \n\t", None, 5, b"keys", ["keys"], "\udcff keys", "x" * (MAX_QUERY + 1)])
def test_what_is_no_question_is_refused_before_the_class_is_looked_at(text: object) -> None:
    assert isinstance(parse_query(text, 5, "no such class").failure(), InvalidQuery)


def test_a_question_of_just_the_limit_is_taken_and_one_more_names_the_limit() -> None:
    assert parse_query("x" * MAX_QUERY) == Success(Query("x" * MAX_QUERY))
    assert str(MAX_QUERY) in parse_query("x" * (MAX_QUERY + 1)).failure().message


@pytest.mark.parametrize("doc_class", ["Note", "NOTE", " note", "", "handoffs", 0, False, [], ["note"], {}, Hostile()])
def test_a_class_is_one_of_two_words_exactly(doc_class: object) -> None:
    assert isinstance(parse_query("keys", 5, doc_class).failure(), InvalidDocClass)


@pytest.mark.parametrize("doc_class", [None, *ALLOWED_DOC_CLASSES])
def test_each_class_and_none_is_taken(doc_class: str | None) -> None:
    assert parse_query("keys", 5, doc_class) == Success(Query("keys", 5, doc_class))
