"""Services by name: addresses, keys and prefixes; and the estimate of tokens."""

import base64

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from returns.result import Failure, Success

from rag_mcp.pure.services import KEY, MODELS, PRESETS, SECRETS, VARIABLES, Service, is_service, service, wants
from rag_mcp.pure.tokens import estimated, promised

SECRET = "sk-secret-0123456789"
texts = st.text(max_size=200)


def made(name: str, **variables: str) -> Service:
    return service(name, variables).unwrap()


def wrong(name: str, **variables: str) -> str:
    failed = service(name, variables)
    assert isinstance(failed, Failure), failed
    return failed.failure().message


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("127.0.0.1", "http://127.0.0.1:11434"),
        ("localhost:8080", "http://localhost:8080"),
        ("http://localhost", "http://localhost"),
        ("https://ollama.example.org/", "https://ollama.example.org"),
        ("https://example.org:4443/ollama/", "https://example.org:4443/ollama"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("http://0.0.0.0:1234", "http://127.0.0.1:1234"),
        ("[::1]:99", "http://[::1]:99"),
        ("::1", "http://[::1]:11434"),
        (' "10.0.0.7" ', "http://10.0.0.7:11434"),
    ],
)
def test_ollama_host_is_read_with_and_without_scheme_and_port(given, url):
    assert made("ollama:embeddinggemma", OLLAMA_HOST=given).url == url


@pytest.mark.parametrize(
    "given", ["http://user:pass@host", "ftp://host", "host:99999", "a b", "http://h?key=1", "http://", "http://h:٣٣"]
)
def test_what_is_no_address_is_refused_without_being_repeated(given):
    for variable, name in (("OLLAMA_HOST", "ollama:m"), ("RAG_MCP_EMBED_URL", "openai:m")):
        said = wrong(name, **{variable: given})
        assert variable in said
        assert given not in said


def test_an_address_of_ones_own_needs_its_scheme():
    assert "RAG_MCP_EMBED_URL" in wrong("openai:m", RAG_MCP_EMBED_URL="localhost:8080/v1")


@given(st.from_regex(r"127(\.[0-9]{1,3}){3}", fullmatch=True) | st.sampled_from(["localhost", "LOCALHOST", "[::1]"]))
def test_an_address_of_this_machine_warns_of_nothing(host):
    assert made("openai:m", RAG_MCP_EMBED_URL=f"http://{host}:80/v1").warning is None


@given(st.from_regex(r"[a-z0-9][a-z0-9.-]{0,20}", fullmatch=True))
@example("localhost.example.org")
@example("127.0.0.1.example.org")
@example("127.0.0.1x")
@example("localhosts")
@example("0x7f000001")
def test_any_other_address_is_said_to_take_the_texts_away(host):
    if host.endswith(".localhost") or host in ("localhost", "0.0.0.0"):
        return
    if host.startswith("127.") and host.replace(".", "").isdigit() and host.count(".") == 3:
        return
    said = made("openai:m", RAG_MCP_EMBED_URL=f"http://{host}/v1").warning or ""
    assert host in said
    assert "not this machine" in said
    assert "not encrypted" in said


@pytest.mark.parametrize("name", [f"{preset}:m" for preset, known in PRESETS.items() if known.key_variable])
def test_a_vendors_key_goes_to_the_vendor_alone(name):
    preset = PRESETS[name.partition(":")[0]]
    variable = preset.key_variable
    endings = preset.hosts
    own = f"https://{'me' if endings.startswith('.') else ''}{endings}/v1"
    assert made(name, **{variable: SECRET, "RAG_MCP_EMBED_URL": own}).key == SECRET
    elsewhere = ["http://127.0.0.1:9/v1", own.replace("https", "http"), own.replace("/v1", ".example.org/v1")]
    elsewhere.append(f"https://not{endings.lstrip('.')}/v1")
    for url in elsewhere:
        assert made(name, **{variable: SECRET, "RAG_MCP_EMBED_URL": url}).key == ""
        assert made(name, **{variable: SECRET, KEY: "own", "RAG_MCP_EMBED_URL": url}).key == "own"


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_what_is_missing_is_named(name):
    preset = PRESETS[name]
    if not preset.url:
        assert "RAG_MCP_EMBED_URL" in wrong(f"{name}:m")
    elif preset.key_variable:
        assert preset.key_variable in wrong(f"{name}:m")
        assert made(f"{name}:m", **{preset.key_variable: SECRET}).url == preset.url
    else:
        assert made(f"{name}:m").url == preset.url


def test_azure_is_found_at_its_resource_and_sent_its_own_header():
    given = {"AZURE_OPENAI_ENDPOINT": "https://me.openai.azure.com/", "AZURE_OPENAI_API_KEY": SECRET}
    azure = made("azure:my-deployment", **given)
    assert (azure.url, azure.header, azure.key) == ("https://me.openai.azure.com/openai/v1", "api-key", SECRET)


@pytest.mark.parametrize("key", ["two words", "a\nb", "schlüssel", "a\x7f"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(key):
    said = wrong("openai:m", OPENAI_API_KEY=key)
    assert "OPENAI_API_KEY" in said
    assert key not in said


@pytest.mark.parametrize(("variable", "good"), [("RAG_MCP_EMBED_DIM", "768"), ("RAG_MCP_EMBED_RATE", "0.5")])
def test_numbers_are_numbers(variable, good):
    assert isinstance(service("ollama:m", {variable: good}), Success)
    for bad in ("0", "-1", "many", "1e3", "9999999", "٣", "nan"):
        assert variable in wrong("ollama:m", **{variable: bad})


def test_names_of_services_are_told_from_other_names():
    assert all(is_service(f"{name}:m:8b") for name in PRESETS)
    assert not any(map(is_service, ("default", "hash", "ollama", "ollama:", "elsewhere:m", "", ":m")))
    assert made("ollama:qwen3-embedding:0.6b").model == "qwen3-embedding:0.6b"


def test_a_secret_is_in_no_repr():
    assert SECRET not in repr(made("openai:m", OPENAI_API_KEY=SECRET))
    assert SECRETS < VARIABLES
    assert all(name.endswith(("_KEY", "_TOKEN")) for name in SECRETS)


def test_a_family_is_found_in_tagged_and_owned_names():
    for name in ("embeddinggemma", "embeddinggemma:300m-qat-q8_0", "google/EmbeddingGemma-300m"):
        assert wants(name) is MODELS["embeddinggemma"]
    assert wants("nomic-embed-text-v2-moe").window == 512
    assert wants("somebody/unknown").query_prefix == ""


@given(texts, texts)
def test_the_estimate_of_two_texts_is_no_less_than_that_of_either_and_of_none_nothing(one, other):
    both, first, second, none = estimated([f"{one} {other}", one, other, ""])
    assert none == 0
    assert both >= max(first, second)
    assert both <= first + second


@given(texts)
def test_no_visible_character_is_free(text):
    letters = sum(char.isascii() and char.isalpha() for char in text)
    others = sum(not char.isspace() for char in text) - letters
    assert estimated([text])[0] >= letters / 4 + others


TRAPS = {
    "prose": "The harbour master is called before the pump crew, and writes the hour into the book. " * 5,
    "code": "for (int i = 0; i < n; ++i) { sum += a[i] * b[i]; }  // O(n)\n" * 8,
    "figures": "2026-04-10T12:00:00Z 10.11.12.13 0xdeadbeef 3.14159 " * 8,
    "base64": base64.b64encode(bytes(range(256))).decode(),
    "Chinese": "日本語の文書を索引に入れる。漢字仮名交じり文。" * 10,
    "Russian": "Насос смазывают каждые четыреста часов работы. " * 8,
    "table": "| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n" * 10,
}


@pytest.mark.parametrize("kind", TRAPS)
def test_what_is_promised_of_a_window_holds_by_a_real_tokenizer(kind, wordpieces):
    assert wordpieces([TRAPS[kind]])[0] <= 2 * estimated([TRAPS[kind]])[0]
    assert promised(512) == 256
