"""Laws of vectors: what is sound passes, every damage to it is named, and names stand for numbers."""

from math import hypot
from struct import pack

import pytest
from faulty import not_a_number, not_unit_length, one_too_few, wrong_dimension, zeros
from hypothesis import given
from hypothesis import strategies as st
from returns.result import Failure, Success

from rag_mcp.pure.vectors import TOLERANCE, check, dot, numbers, rid

FINGERPRINT = "f" * 32
finite = st.floats(-1, 1, width=32)


def unit(values: list[float]) -> bytes:
    norm = hypot(*values)
    return pack(f"<{len(values)}f", *(value / norm for value in values))


def units(dim: int) -> st.SearchStrategy[bytes]:
    lists = st.lists(finite, min_size=dim, max_size=dim)
    return lists.filter(lambda values: hypot(*values) > 1e-3).map(unit)


def why(vectors: list[bytes], count: int, dim: int) -> str:
    return check(vectors, count, dim).failure()


batches = st.lists(units(5), min_size=1, max_size=6)


@given(batches)
def test_sound_vectors_pass(vectors):
    assert check(vectors, len(vectors), 5) == Success(None)


@given(batches)
def test_every_damage_to_the_last_vector_is_a_fault_that_names_it(vectors):
    count = len(vectors)
    told = {
        wrong_dimension: f"the embedder returned vector {count} of {count} with 4 dimensions, not 5",
        zeros: f"the embedder returned vector {count} of {count} as nothing but zeros",
        not_a_number: f"the embedder returned vector {count} of {count} with a number that is not finite",
        not_unit_length: f"the embedder returned vector {count} of {count} with norm 2, not 1",
    }
    for damage, sentence in told.items():
        assert why(list(damage(vectors)), count, 5) == sentence


@given(batches, st.integers(0, 8))
def test_any_other_count_is_a_fault(vectors, count):
    assert isinstance(check(vectors, count, 5), Success if count == len(vectors) else Failure)


def test_a_count_is_told_in_plain_words():
    vectors = [unit([1.0, 0.0])] * 8
    assert why(list(one_too_few(vectors)), 8, 2) == "the embedder returned 7 vectors for 8 texts"
    assert why(vectors[:2], 1, 2) == "the embedder returned 2 vectors for 1 text"


@given(batches, st.data())
def test_one_bad_number_anywhere_is_found(vectors, data):
    place, at = data.draw(st.integers(0, len(vectors) - 1)), data.draw(st.integers(0, 4))
    bad = data.draw(st.sampled_from([float("nan"), float("inf"), float("-inf")]))
    values = list(numbers(vectors[place]))
    values[at] = bad
    vectors[place] = pack("<5f", *values)
    assert "not finite" in why(vectors, len(vectors), 5)


@given(units(4), st.floats(0.5, 2))
def test_a_norm_off_by_more_than_the_tolerance_is_a_fault(vector, factor):
    scaled = pack("<4f", *(value * factor for value in numbers(vector)))
    if abs(factor - 1) > 1.01 * TOLERANCE:
        assert "norm" in why([scaled], 1, 4)
    if abs(factor - 1) < 0.99 * TOLERANCE:
        assert check([scaled], 1, 4) == Success(None)


def test_bytes_that_are_no_numbers_are_a_fault():
    assert "7 bytes" in why([b"1234567"], 1, 2)


@given(units(4), units(4))
def test_names_are_equal_exactly_when_the_numbers_are(a, b):
    assert (rid(FINGERPRINT, a) == rid(FINGERPRINT, b)) == (numbers(a) == numbers(b))
    assert len(rid(FINGERPRINT, a)) == 32
    assert rid(FINGERPRINT, a) != rid("e" * 32, a)


@given(st.lists(st.sampled_from([0.0, -0.0, 1.0]), min_size=3, max_size=3))
def test_the_sign_of_a_zero_does_not_name_another_vector(values):
    plain = [abs(value) for value in values]
    assert rid(FINGERPRINT, pack("<3f", *values)) == rid(FINGERPRINT, pack("<3f", *plain))


@given(units(6), units(6))
def test_the_dot_product_of_units_is_a_cosine(a, b):
    assert dot(a, b) == pytest.approx(dot(b, a), abs=1e-9)
    assert dot(a, a) == pytest.approx(1, abs=1e-5)
    assert abs(dot(a, b)) <= 1 + 1e-5
    opposite = pack("<6f", *(-value for value in numbers(b)))
    assert dot(a, opposite) == pytest.approx(-dot(a, b), abs=1e-9)


def test_vectors_of_two_lengths_have_no_dot_product():
    with pytest.raises(ValueError, match="8 and 12 bytes"):
        dot(unit([1.0, 0.0]), unit([1.0, 0.0, 0.0]))
