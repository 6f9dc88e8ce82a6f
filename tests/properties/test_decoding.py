"""Laws of decoding: what is certain is read, what is declared is believed, what is likely is said, the rest refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties.markdown_texts import run, words
from returns.result import Failure, Success

from rag_mcp.pure.decoding import decode, decoded
from rag_mcp.pure.documents import read_document
from rag_mcp.pure.values import Document, Lack, Unreadable

unicode_texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0\ufeff"), max_size=40)
ascii_texts = st.text(st.characters(max_codepoint=126, min_codepoint=32) | st.just("\n"), min_size=4, max_size=60)
MARKED = [
    ("utf-8", b""),
    ("utf-8", b"\xef\xbb\xbf"),
    ("utf-16-le", b"\xff\xfe"),
    ("utf-16-be", b"\xfe\xff"),
    ("utf-32-le", b"\xff\xfe\0\0"),
    ("utf-32-be", b"\0\0\xfe\xff"),
]
WESTERN = "# Café über\n\nDer Käse kostet 3 £ — “naïve” façade, señor.\n"
GUESSED = "it is not UTF-8 and was read as Windows-1252; letters beyond ASCII may be wrong"


@given(unicode_texts, st.sampled_from(MARKED))
def test_text_in_a_named_encoding_reads_back_equal_without_its_mark(text, how):
    encoding, mark = how
    assert decode("a.md", mark + text.encode(encoding)) == Success(text)


@given(st.binary(max_size=60))
def test_any_bytes_are_text_or_unreadable_with_a_reason(data):
    match decode("a.md", data):
        case Success(text):
            assert "\0" not in text
        case Failure(Unreadable(path, why, lack)):
            assert (path, lack) == ("a.md", Lack.UNDECODABLE)
            assert why


@given(ascii_texts, st.sampled_from(("utf-16-le", "utf-16-be")))
def test_utf16_without_a_mark_is_read_where_most_characters_are_ascii_and_said(text, encoding):
    found = decoded("a.md", text.encode(encoding)).unwrap()
    assert (found.text, found.warning) == (text, "it has no byte order mark and was read as UTF-16")


@given(unicode_texts)
def test_valid_utf8_is_utf8_whatever_it_says_of_itself(text):
    source = f"charset: latin-1\n{text}"
    assert decoded("a.md", source.encode()).unwrap().text == source


DECLARED = [
    ("---\ncharset: {}\n---\n", "Shift_JIS", "cp932", "会議メモ。予算を承認した。"),
    ('<meta charset="{}">\n', "iso-8859-1", "cp1252", "Qualität, naïveté"),
    ('<meta http-equiv="Content-Type" content="text/html; charset={}">\n', "windows-1251", "cp1251", "Привет, мир"),
    ('<?xml version="1.0" encoding="{}"?>\n', "ISO-8859-2", "iso8859-2", "Łódź, żółć"),
    ("<!-- -*- coding: {} -*- -->\n", "euc-jp", "euc_jp", "会議メモ"),
    ("<!-- vim: set fileencoding={} : -->\n", "koi8-r", "koi8_r", "Привет, мир"),
    ("encoding: {}\n", "GBK", "gb18030", "这是一段没有空格的文字。"),
    ("charset: {}\n", "big5", "big5", "這是一段文字"),
    ("charset: {}\n", "EUC-KR", "cp949", "회의 메모"),
]


@pytest.mark.parametrize(("line", "name", "codec", "text"), DECLARED)
def test_an_encoding_that_the_file_declares_is_believed_without_a_warning(line, name, codec, text):
    source = line.format(name) + text
    found = decoded("a.md", source.encode(codec)).unwrap()
    assert (found.text, found.warning) == (source, None)


@pytest.mark.parametrize("name", ["rot13", "utf-7", "idna", "unicode-escape", "zlib", "nonsense", "x" * 200])
def test_a_name_that_is_no_character_set_declares_nothing(name):
    assert isinstance(decode("a.md", f"charset: {name}\n".encode() + b"\xff\xff\xff\xff"), Failure)


def test_a_declaration_that_the_bytes_contradict_is_refused_and_says_so():
    (failed,) = (decode("a.md", b"charset: shift_jis\n\x81"),)
    assert failed == Failure(Unreadable("a.md", "it is not CP932 text (byte 19)", Lack.UNDECODABLE))


@pytest.mark.parametrize("codec", ["latin-1", "cp1252"])
def test_western_text_that_is_no_utf8_is_read_with_a_warning(codec):
    text = WESTERN if codec == "cp1252" else WESTERN.replace("—", "-").replace("“", '"').replace("”", '"')
    found = decoded("a.md", text.encode(codec)).unwrap()
    assert (found.text, found.warning) == (text, GUESSED)
    read = read_document("a.md", text.encode(codec), "d", run(200), words)
    assert isinstance(read, Document)
    assert read.warnings == (GUESSED,)


@pytest.mark.parametrize(
    "data",
    [
        "Привет, это заметка".encode("cp1251"),
        "会議メモ 予算".encode("shift-jis"),
        "这是一段没有空格的文字".encode("gbk"),
        "Καλημέρα κόσμε".encode("iso8859-7"),
        "Größe".encode() + b" \xff cut",
        "ends within a letter: é".encode()[:-1] + " ü".encode(),
        b"Caf\xe9 \x1b[31m",
        b"%\xe2\xe3\xcf\xd3",
        b"\x81\x8d\x8f",
        b"\xe9\xe8 \xe0",
    ],
)
def test_what_is_neither_declared_nor_likely_is_refused(data):
    assert isinstance(decode("a.md", data), Failure)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("日本".encode("shift-jis"), "it is not UTF-8 text (byte 0)"),
        (b"a\0b", "it holds NUL characters (the first at character 1)"),
        (b"a valve\0, then \0\0\0", "it holds NUL characters (the first at character 7)"),
        (b"\xff\xfea", "it is not UTF-16-LE text (byte 0)"),
        (b"\xff\xfe\x00\xd8a\x00", "it is not UTF-16-LE text (byte 0)"),  # a surrogate that stands alone
        ("\ud800".encode("utf-8", "surrogatepass"), "it is not UTF-8 text (byte 0)"),
        (b"\x89PNG\r\n\x1a\n\0", "it is a PNG image, not text"),
        (b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", "it is a PDF document, not text"),
    ],
)
def test_what_is_no_text_is_unreadable_and_the_reason_says_where_or_what(data, why):
    refused = Unreadable("x/a.md", why, Lack.UNDECODABLE)
    assert decode("x/a.md", data) == Failure(refused)
    assert read_document("x/a.md", data, "d", run(20), words) == refused
