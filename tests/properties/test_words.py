"""What a text is filed under and what a question looks for meet in SQLite, and no question raises."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_mcp.adapters.record.schema import KEYWORDS
from rag_mcp.pure.words import TERMS, expression, filed, looked_for


def ranked(texts: list[str], question: str) -> list[str]:
    """The texts that a question finds, best first."""
    db = sqlite3.connect(":memory:")
    db.executescript(KEYWORDS)
    for number, text in enumerate(texts):
        db.execute("insert into keywords(rowid, title, headings, body) values (?, '', '', ?)", (number, filed(text)))
    terms = looked_for(question)
    if not terms:
        return []
    any_of_them = expression(terms, terms)
    found = db.execute("select rowid from keywords where keywords match ? order by rank, rowid", (any_of_them,))
    rows = [texts[number] for (number,) in found]
    db.close()
    return rows


FOUND = [
    ("DEC-0054", ["DEC-0055 was dropped", "see DEC-0054 for why", "0054 and DEC apart: a 0054, the DEC"], 1),
    ("version 2026.4.10", ["version 2026.4.9", "version 2026.4.10", "version 10.4.2026"], 1),
    ("C++", ["written in C", "written in C++ mostly", "written in C#"], 1),
    ("C#", ["written in C", "written in C++ mostly", "written in C#"], 2),
    ("ERR_CONN_REFUSED", ["the connection was refused", "it says ERR_CONN_REFUSED"], 1),
    ("foo.bar()", ["call bar", "call foo.bar() now", "foo then baz"], 1),
    ("how do I rotate keys", ["rotating a key is easy", "the of and", "wheels"], 0),
    ("état", ["status", "l\u2019etat c\u2019est moi"], 1),
    ("etat", ["status", "l\u2019e\u0301tat"], 1),
    ("密钥", ["如何轮换密钥", "密封的钥匙"], 0),
    ("钥", ["如何轮换密", "钥匙"], 1),
    ("ค้นหา", ["ภาษาไทย", "การค้นหา"], 1),
    ('"red blue"', ["blue red", "red blue"], 1),
    ("the who", ["who is the band", "nobody here"], 0),
]  # fmt: skip


@pytest.mark.parametrize(("question", "texts", "first"), FOUND, ids=[question for question, _, _ in FOUND])
def test_the_right_text_comes_first(question: str, texts: list[str], first: int) -> None:
    assert ranked(texts, question)[:1] == [texts[first]]


@given(st.one_of(st.text(), st.text(st.sampled_from('"*()^:-+#{}[]AND OR NOT NEAR\0\u94a5\u0301\ud800 '))))
def test_no_question_raises_and_none_looks_for_too_much(question: str) -> None:
    if not any("\ud800" <= char <= "\udfff" for char in question):
        ranked(["a", question], question)
    assert len(looked_for(question)) <= TERMS


@given(st.text(st.characters(categories=["L", "N", "Zs", "P"]), max_size=60), st.data())
def test_a_text_is_found_by_each_of_its_words(text: str, data: st.DataObject) -> None:
    words = [word for word in text.split() if looked_for(word)]
    if words:
        assert text in ranked([text, "something else"], data.draw(st.sampled_from(words)))


@given(st.text())
def test_filing_adds_and_takes_no_letter_away(text: str) -> None:
    kept = filed(text)
    assert set(text) <= set(kept) or not text.strip()
