"""Embedders that are services, on a real server on loopback: what they send, and what they make of every answer."""

import logging
import re
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from math import inf

import pytest
from attrs import define, evolve, field
from embedding_server import DIM, WINDOW, Running
from returns.result import Success

from rag_mcp.adapters.embedders import calls
from rag_mcp.adapters.embedders.calls import Caller, Pace
from rag_mcp.adapters.embedders.hashing import HashEmbedder
from rag_mcp.adapters.embedders.remote import Remote, connected
from rag_mcp.effects.ports import EmbedderFault, Unsure
from rag_mcp.pure.services import Service, service
from rag_mcp.pure.tokens import ESTIMATE
from rag_mcp.pure.vectors import check, numbers

BOTH = ["ollama:plain", "openai:plain"]
SECRET = "sk-very-secret-0123456789"


@define
class Watch:
    """A clock that only its own pauses move."""

    now: float = 0
    pauses: list[float] = field(factory=list)

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def clock(self) -> float:
        return self.now


@pytest.fixture
def watch() -> Watch:
    return Watch()


Make = Callable[..., Remote]


@pytest.fixture
def make(server: Running, watch: Watch) -> Iterator[Make]:
    made: list[Remote] = []

    def one(name: str, remembered=None, **variables: str) -> Remote:
        named: Service = service(name, server.variables(name) | variables).unwrap()
        caller = Caller(named, Pace(named.rate, watch.clock, watch.sleep))
        made.append(connected(named, remembered, caller))
        return made[-1]

    yield one
    for remote in made:
        remote.close()


def refused(remote: Remote, texts: tuple[str, ...] = ("one", "two")) -> EmbedderFault:
    with pytest.raises(EmbedderFault) as fault:
        remote.embed(list(texts))
    assert "\n" not in str(fault.value)
    return fault.value


# What is sent


def test_vectors_arrive_at_norm_1_and_in_the_order_of_the_texts(make):
    texts = [f"word{n}" for n in range(70)]
    for name in BOTH:
        made = make(name).embed(texts)
        assert check(made, 70, DIM) == Success(None)
        for one, expected in zip(made, HashEmbedder(DIM).embed(texts), strict=True):
            assert numbers(one) == pytest.approx(numbers(expected), abs=1e-6)


@pytest.mark.parametrize(
    ("name", "question", "document"),
    [
        ("ollama:embeddinggemma", "task: search result | query: keys", "title: none | text: keys"),
        ("ollama:nomic-embed-text", "search_query: keys", "search_document: keys"),
        ("openai:text-embedding-nomic-embed-text-v1.5", "search_query: keys", "search_document: keys"),
        ("ollama:plain", "keys", "keys"),
    ],
)
def test_each_model_is_sent_its_own_prefixes_and_the_identity_holds_them(make, server, name, question, document):
    remote = make(name)
    identity = remote.identity
    server.control()
    remote.embed_query("keys")
    remote.embed(["keys"])
    assert server.texts == [question, document]
    assert identity.query_prefix + "keys" == question
    assert identity.document_prefix + "keys" == document


def test_ollama_is_told_to_cut_nothing_and_to_keep_the_model(make, server):
    make("ollama:plain", RAG_MCP_EMBED_DIM="32").embed(["one"])
    _, body, _ = server.seen[-1]
    assert body["truncate"] is False
    assert body["keep_alive"] == "15m"
    assert body["dimensions"] == 32


def test_many_texts_are_sent_in_batches(make, server):
    for name in BOTH:
        remote = make(name)
        assert remote.identity.dim == DIM
        server.control()
        remote.embed(["x"] * 70)
        assert [len(body["input"]) for _, body, _ in server.seen] == [32, 32, 6]


def test_a_dimension_that_was_asked_for_is_sent_and_is_the_identitys(make, server):
    remote = make("openai:plain", RAG_MCP_EMBED_DIM="16")
    assert remote.identity.dim == 16
    assert server.seen == []
    assert check(remote.embed(["one"]), 1, 16) == Success(None)


def test_lone_surrogates_do_not_stop_a_batch(make):
    for name in BOTH:
        assert check(make(name).embed(["a \ud800 b", "\0 nul"]), 2, DIM) == Success(None)


# Who it is


def test_an_identity_names_the_model_and_its_state(make, server):
    ollama, openai = (make(name).identity for name in BOTH)
    assert (ollama.name, ollama.weights, ollama.dim, ollama.tokenizer) == ("ollama:plain", "c" * 64, DIM, ESTIMATE)
    assert (openai.name, openai.weights, openai.dim) == ("openai:plain", "", DIM)
    server.tell({"models": {"plain:latest": "d" * 64}})
    assert make("ollama:plain").identity.fingerprint != ollama.fingerprint


def test_a_model_that_is_replaced_under_way_gives_no_vector_and_then_another_identity(make, server):
    remote = make("ollama:plain")
    before = remote.identity
    server.tell({"models": {"plain:latest": "d" * 64}})
    assert re.search("is not the one it was .*cccc.*dddd", str(refused(remote)))
    with pytest.raises(EmbedderFault, match="is not the one"):
        evolved = make("ollama:plain")
        assert evolved.identity.weights == "d" * 64
        server.tell({"models": {"plain:latest": "e" * 64}})
        evolved.embed_query("one")
    server.tell({"models": {"plain:latest": "d" * 64}})
    assert remote.identity == evolve(before, weights="d" * 64)
    assert check(remote.embed(["one"]), 1, DIM) == Success(None)


def test_what_the_store_remembers_saves_asking_for_the_dimension(make, server):
    for name in BOTH:
        known = make(name).identity
        server.control()
        assert make(name, known).identity == known
        assert server.seen == []


def test_a_service_that_is_away_is_taken_for_what_the_store_remembers_until_it_must_be_sure(make, server):
    known = make("ollama:plain").identity
    nobody = make("ollama:plain", known, RAG_MCP_EMBED_URL=f"http://127.0.0.1:{closed_port()}")
    assert nobody.identity == known
    assert isinstance(nobody, Unsure)
    with pytest.raises(EmbedderFault, match="does not answer"):
        nobody.confirm()
    with pytest.raises(EmbedderFault, match="does not answer"):
        nobody.embed_query("one")


def test_what_another_embedder_was_is_not_believed(make, server):
    other = evolve(make("ollama:plain").identity, name="ollama:other", dim=3)
    assert make("ollama:plain", other).identity.dim == DIM
    stale = evolve(make("ollama:plain").identity, weights="f" * 64, dim=3)
    assert make("ollama:plain", stale).identity == make("ollama:plain").identity


def test_a_store_of_another_dimension_is_told_by_which_setting_it_is_named(make):
    small = make("openai:plain", RAG_MCP_EMBED_DIM="16").identity
    assert f"returned {DIM} dimensions, not 16; RAG_MCP_EMBED_DIM" in str(refused(make("openai:plain", small)))


@pytest.mark.parametrize("name", BOTH)
def test_several_threads_are_answered_alike(make, name):
    remote = make(name)
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: (remote.embed_query("one"), list(remote.embed(["a", "b"]))), range(18)))
    assert all(answer == answers[0] for answer in answers)


# What is amiss


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("one too few", "1 vectors for 2 texts"),
        ("one too many", "3 vectors for 2 texts"),
        ("wrong dimension", f"{DIM - 1} dimensions, not {DIM}; RAG_MCP_EMBED_DIM"),
        ("null", "something else than numbers"),
        ("words", "something else than numbers"),
        ("truncated", "no JSON, or is cut short"),
        ("no json", "no JSON, or is cut short"),
        ("deep", "no JSON, or is cut short"),
        ("other json", "answered without"),
        ("no list", "embeddings|name no place"),
        ("redirect", r"redirect \(307\), which is not followed"),
        ("400", r"status 400 \(no \\x1b\[31mred"),
    ],
)
def test_every_amiss_answer_is_a_fault_that_names_the_service(make, server, watch, name, fault, sentence):
    remote = make(name)
    assert remote.identity.dim == DIM
    server.tell({"lasting": fault, "elsewhere": "http://192.0.2.1/"})
    said = str(refused(remote))
    assert re.search(sentence, said)
    assert server.root in said
    assert watch.pauses == []


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize(
    ("fault", "why"), [("zeros", "nothing but zeros"), ("not a number", "not finite"), ("infinite", "not finite")]
)
def test_what_has_no_direction_is_left_for_the_check_to_find(make, server, name, fault, why):
    remote = make(name)
    assert remote.identity.dim == DIM
    server.tell({"lasting": fault})
    assert why in check(remote.embed(["one", "two"]), 2, DIM).failure()


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("fault", ["500", "429", "closes"])
def test_what_may_pass_is_tried_again_and_passes(make, server, watch, name, fault):
    remote = make(name)
    assert remote.identity.dim == DIM
    server.control(faults=[fault, fault])
    assert check(remote.embed(["one"]), 1, DIM) == Success(None)
    assert len(server.seen) == 3
    assert watch.pauses == ([1, 1] if fault == "429" else [0.5, 1])


@pytest.mark.parametrize("name", BOTH)
def test_what_does_not_pass_is_given_up_and_a_question_sooner(make, server, watch, name):
    remote = make(name)
    assert remote.identity.dim == DIM
    server.tell({"lasting": "500"})
    assert "status 500 (out of memory)" in str(refused(remote))
    assert watch.pauses == list(calls.DOCUMENTS.pauses)
    watch.pauses.clear()
    with pytest.raises(EmbedderFault, match="status 500"):
        remote.embed_query("one")
    assert watch.pauses == list(calls.QUESTION.pauses)


def test_a_wait_of_a_day_is_not_waited(make, server, watch):
    remote = make("openai:plain")
    assert remote.identity.dim == DIM
    server.tell({"lasting": "429 for long"})
    assert "asks to wait 86400 seconds" in str(refused(remote))
    assert watch.pauses == []


def test_an_answer_that_is_too_large_or_too_late_is_left(make, server, monkeypatch):
    remote = make("openai:plain")
    assert remote.identity.dim == DIM
    server.tell({"faults": ["huge", "slow"]})
    monkeypatch.setattr(calls, "BODY", 2**20)
    assert "more than 1 MB" in str(refused(remote))
    monkeypatch.setattr("rag_mcp.adapters.embedders.remote.DOCUMENTS", evolve(calls.DOCUMENTS, whole=0.2))
    assert "did not answer within" in str(refused(remote))


def test_a_redirect_is_not_followed_even_to_the_service_itself(make, server):
    remote = make("openai:plain")
    assert remote.identity.dim == DIM
    server.control(faults=["redirect"], elsewhere=f"{server.root}/v1/embeddings")
    refused(remote)
    assert len(server.seen) == 1


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_model_that_is_not_there_is_named_with_the_command_that_gets_it(make, server):
    with pytest.raises(EmbedderFault, match="has no model absent; get it with: ollama pull absent"):
        _ = make("ollama:absent").identity
    remote = make("ollama:plain")
    assert remote.identity.dim == DIM
    server.tell({"models": {}})
    assert "ollama pull plain" in str(refused(remote))


def test_a_service_that_is_not_there_says_what_to_start(make):
    with pytest.raises(EmbedderFault, match=r"does not answer .*ollama serve.*OLLAMA_HOST"):
        _ = make("ollama:plain", RAG_MCP_EMBED_URL=f"http://127.0.0.1:{closed_port()}").identity


# Length


@pytest.mark.parametrize("name", BOTH)
def test_a_text_that_is_too_long_is_never_cut_and_is_pointed_at(make, server, name):
    remote = make(name)
    long = "w " * (WINDOW + 1)
    fault = refused(remote, (*["short"] * 40, long, "short"))
    assert fault.place == 40
    assert f"a passage of {len(long)} characters (about {WINDOW + 1} tokens) is too long" in str(fault)


def test_a_batch_that_is_too_long_only_together_is_asked_one_by_one(make, server, monkeypatch):
    remote = make("openai:plain")
    assert remote.identity.dim == DIM
    whole = remote._dialect.vectors

    def together(texts, patience):
        if len(texts) > 1:
            raise calls.Refusal("refused", 413, "")
        return whole(texts, patience)

    monkeypatch.setattr(type(remote._dialect), "vectors", lambda self, texts, patience: together(texts, patience))
    assert check(remote.embed(["one", "two", "three"]), 3, DIM) == Success(None)


@pytest.mark.parametrize(
    "said",
    [
        "This model's maximum context length is 8192 tokens, however you requested 9000 tokens",
        "the input length exceeds the context length",
        "Input validation error: `inputs` must have less than 512 tokens. Given: 600",
        "input is too large to process. increase the physical batch size",
    ],
)
def test_what_services_say_of_length_is_understood(said):
    assert calls.Refusal("", 400, said).for_length
    assert not calls.Refusal("", 429, said).for_length


def test_what_is_said_of_other_things_is_not_taken_for_length():
    for said in ("Rate limit reached for tokens per minute", "Incorrect API key provided", "invalid input", ""):
        assert not calls.Refusal("", 400, said).for_length


# Keys, pace, proxies


@pytest.mark.parametrize("name", BOTH)
def test_the_key_is_sent_and_shown_nowhere(make, server, name, caplog):
    caplog.set_level(logging.DEBUG)
    server.tell({"key": SECRET})
    remote = make(name, RAG_MCP_EMBED_KEY=SECRET)
    assert remote.identity.dim == DIM
    assert server.seen[-1][2]["Authorization"] == f"Bearer {SECRET}"
    assert SECRET not in repr(remote._service)
    server.tell({"key": "another"})
    said = str(refused(remote))
    assert "***" in said
    assert SECRET not in said + caplog.text


def test_a_wrong_key_names_the_variable_it_came_from(make, server):
    server.tell({"key": SECRET})
    with pytest.raises(EmbedderFault, match=r"status 401.*check the key in OPENAI_API_KEY or RAG_MCP_EMBED_KEY"):
        _ = make("openai:plain", RAG_MCP_EMBED_KEY="wrong").identity


def test_requests_keep_the_pace_that_was_set(make, server, watch):
    remote = make("openai:plain", RAG_MCP_EMBED_RATE="30", RAG_MCP_EMBED_DIM="8")
    for _ in range(4):
        remote.embed(["one"])
    assert watch.pauses == [2, 2, 2]
    watch.now += 100
    remote.embed(["one"])
    assert watch.pauses == [2, 2, 2]


def test_a_proxy_of_the_environment_is_not_told_what_stays_here(make, monkeypatch):
    nowhere = f"http://127.0.0.1:{closed_port()}"
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, nowhere)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in BOTH:
        assert make(name).identity.dim == DIM


@pytest.mark.parametrize(
    ("given", "seconds"),
    [(None, 0), ("", 0), ("7", 7), ("soon", 0), ("-3", 0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0), ("9" * 30, 0)],
)
def test_retry_after_is_read_as_seconds_or_as_a_time(given, seconds):
    assert calls._after(given) == seconds
    assert 0 < calls._after("Fri, 31 Dec 9999 23:59:59 GMT") < inf
