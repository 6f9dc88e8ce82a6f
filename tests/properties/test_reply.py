"""A reply keeps within its budget, says what it left out, and cuts nothing that it need not."""

import json

from attrs import evolve
from hypothesis import example, given
from hypothesis import strategies as st

from rag_mcp.pure import errors
from rag_mcp.pure.advice import next_step, retryable
from rag_mcp.pure.citations import Answer, Citation, Hit, Place
from rag_mcp.pure.coverage import Brief
from rag_mcp.pure.reply import PLACES, SHOWN, compact, refusal, success
from rag_mcp.pure.wire import answer_shape

texts = st.one_of(
    st.text(max_size=400),
    st.text(st.sampled_from('a\n\r"\\\u00e9\U0001f600\ud800\x00'), max_size=400),
    st.builds(str.__mul__, st.text(min_size=1, max_size=9), st.integers(1, 300)),
)
places = st.builds(Place, st.text(max_size=20), st.integers(0), st.integers(1), st.integers(1))


@st.composite
def hits(draw: st.DrawFn) -> Hit:
    text = draw(texts)
    first = draw(st.integers(1, 1000))
    headings = tuple(draw(st.lists(st.text(max_size=700), max_size=3)))
    lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n")
    cited = Citation(
        source=draw(st.text(min_size=1, max_size=60)),
        heading=headings[-1] if headings else None,
        chunk_index=0,
        heading_path=headings,
        start_line=first,
        end_line=first + lines,
        content_hash="sha256:0",
        also_in=tuple(draw(st.lists(places, max_size=15))),
    )
    return Hit(text, cited, 0.5, tuple(draw(st.lists(st.just("bidi in text"), max_size=2))))


MANY = (Place("p" * 90, 1, 2, 3),) * 99


def sixtyfold(hit: Hit) -> Hit:
    """The same hit with its text sixty times over, on as many lines as that takes."""
    text = hit.text * 60
    lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n")
    return evolve(hit, text=text, citation=evolve(hit.citation, end_line=hit.citation.start_line + lines))


answers = st.builds(
    Answer, st.text(max_size=800), st.integers(1, 20), st.lists(hits(), max_size=20).map(tuple),
    uncovered=st.sampled_from((None, Brief(9, {"unreadable": 2, "excluded": 7}, ("a.md", "b/*.pdf", "c" * 160)))),
)  # fmt: skip


@given(answers, st.integers(3_500, 12_000))
def test_results_keep_within_the_limit_and_what_is_missing_is_counted(answer: Answer, limit: int) -> None:
    reply = success(answer, limit)
    shown = reply["results"]
    budget = reply["budget"]
    alone = len(shown) == 1 and reply["truncated"] and budget["hits_omitted"] == answer.count - 1
    aside = len(compact(reply["coverage"])) if answer.uncovered else 0
    assert ("coverage" in reply) == bool(answer.uncovered)
    assert budget["used_chars"] == aside + len(compact(shown))
    assert budget["used_chars"] <= limit or (alone and shown[0]["text"] == "")
    assert budget["hits_omitted"] + len(shown) == answer.count == budget["hits_omitted"] + reply["count"]
    assert bool(shown) == bool(answer.count)
    cut = bool(shown) and shown[0]["text"] != answer.results[0].text
    assert reply["truncated"] == (budget["hits_omitted"] > 0 or cut)
    for mine, hit in zip(shown[1:], answer.results[1:], strict=False):
        assert mine["text"] == hit.text


@given(answers)
def test_what_fits_is_shown_whole(answer: Answer) -> None:
    reply = success(answer, 10**9)
    assert not reply["truncated"] and reply["budget"]["hits_omitted"] == 0
    for mine, whole, hit in zip(reply["results"], answer_shape(answer)["results"], answer.results, strict=True):
        assert (mine["text"], mine["score"]) == (hit.text, hit.score)
        assert mine.get("signals", []) == list(hit.signals)
        also = whole["citation"]["also_in"]
        assert mine["citation"]["also_in"] == also[:PLACES]
        assert mine["citation"].get("also_in_omitted", 0) == max(0, len(also) - PLACES)
        assert mine["citation"]["end_line"] == hit.citation.end_line
        assert all(len(heading) <= SHOWN + 1 for heading in mine["citation"]["heading_path"])
    assert reply["query"] == answer.query[:SHOWN]


@example(Hit("a\nb\r\nc\rd" * 2_000, Citation("s", None, 0, (), 7, 9_999, "h"), 0.5))
@example(Hit("x" * 50_000, Citation("s", "h" * 9_000, 0, ("h" * 9_000,) * 6, 7, 7, "h", also_in=MANY), 0.5))
@given(hits().map(sixtyfold))
def test_a_lone_hit_that_is_too_large_is_cut_at_a_line_end_and_its_lines_follow(hit: Hit) -> None:
    limit = 6_000
    reply = success(Answer("q", 5, (hit,)), limit)
    (shown,) = reply["results"]
    assert hit.text.startswith(shown["text"])
    assert shown["citation"]["content_hash"] == hit.citation.content_hash
    if reply["truncated"]:
        assert len(compact(reply["results"])) <= limit or not shown["text"]
        cut = shown["text"]
        assert "\n" not in cut or cut.endswith("\n")
        lines = cut.rstrip("\r\n").replace("\r\n", "\n").replace("\r", "\n").count("\n")
        assert shown["citation"]["end_line"] == hit.citation.start_line + lines
    else:
        assert shown["text"] == hit.text


FAILURES = [
    errors.InvalidQuery("m"), errors.InvalidDocClass("m"), errors.StoreMissing("/s"), errors.EmptyStore("/s"),
    errors.StoreUnreachable("/s", "locked"), errors.ConfigError("m"), errors.CorpusMissing("/c", "w"),
    errors.EmbedderMismatch("a", 384, "b", 1024), errors.EmbedderFailed("a", "w"), errors.WarmingUp(20),
    errors.SourceUnavailable("x.md"), errors.InvalidCitation("x"), errors.WriterBusy("/s", "h"),
    errors.PruneRefused(1, 2, 3), errors.PlanMoved(("x",)), errors.BadPlan("w"), errors.BadGolden("g", "w"),
    errors.IndexFailed("/s", "w"), errors.PathChanged("x.md"), errors.InvalidArgument("m"),
]  # fmt: skip


def test_every_failure_has_a_type_of_its_own_a_sentence_and_a_next_step() -> None:
    union = set(errors.Failure.__args__)
    assert {type(failure) for failure in FAILURES} == union
    assert len({failure.type for failure in FAILURES}) == len(union)
    for failure in FAILURES:
        assert failure.message and next_step(failure).endswith((".", "/s"))
        assert isinstance(retryable(failure), bool)


@given(st.sampled_from(FAILURES), st.one_of(st.text(), st.integers(), st.none()), st.integers(1, 20))
def test_a_refusal_has_the_shape_of_a_success_without_results(failure: errors.Failure, query: object, k: int) -> None:
    reply = refusal(failure, query, k)
    assert (reply["ok"], reply["k"], reply["count"], reply["results"]) == (False, k, 0, [])
    assert reply["query"] == (query[:SHOWN] if isinstance(query, str) else "")
    assert set(reply["error"]) == {"type", "message", "next_step", "retryable"}
    assert json.loads(compact(reply)) == reply
