"""Laws of the doctor: a healthy installation has nothing but ok, and each damage is found, named and mended."""

import shlex
from collections.abc import Callable

import click
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from rag_mcp.pure.check_render import diagnosis_lines
from rag_mcp.pure.doctor import LITTLE_ROOM, Diagnosis, Severity, diagnose
from rag_mcp.pure.health import (
    Canary,
    ClientFile,
    Contents,
    CorpusSeen,
    Health,
    IndexHealth,
    Model,
    ModelFile,
    Package,
    Registered,
    Room,
    Runtime,
    Setting,
    State,
    Store,
)
from rag_mcp.pure.paths import synced_by
from rag_mcp.pure.versions import satisfies

SERVER = Registered("rag", "/bin/rag-mcp", True, "/notes", True, "/store", True)
HEALTHY = Health(
    Runtime("3.11.7", ">=3.11", "Linux", (Package("chromadb", "==1.5.9", "1.5.9"),), "3.45.0", True),
    settings=(
        Setting("corpus", "/notes", "given"),
        Setting("store", "/my store", "given"),
        Setting("collection", "knowledge", "default"),
    ),
    rooms=(Room("disk of the store", "/my store", 10**12), Room("temporary folder", "/tmp", 10**12)),
    model=Model("mini", (ModelFile("/m.onnx", "aa", "aa"),)),
    store=Store("/my store", State.WHOLE, size=1000),
    contents=Contents(3, "2031-01-01", "/notes", "mini", 2, 9, 9),
    index=IndexHealth(9, 10, beside=1),
    canary=Canary("mini"),
    corpus=CorpusSeen("/notes"),
    clients=(ClientFile("Cursor", "/home/.cursor/mcp.json", (SERVER,)),),
)
SICK: dict[str, Callable[[Health], Health]] = {}
"""What does one thing amiss to an installation; EXPECTED: the finding which that must bring."""
EXPECTED: dict[str, tuple[Severity, str]] = {}


def part(name: str, **changed: object) -> Callable[[Health], Health]:
    """Changes one part, where it is there."""
    return lambda h: evolve(h, **{name: evolve(getattr(h, name), **changed)}) if getattr(h, name) else h


def named(name: str, level: Severity, where: str, change: Callable[[Health], Health]) -> None:
    SICK[name], EXPECTED[name] = change, (level, where)


named("old python", Severity.ERROR, "Python", part("runtime", python="3.9.1"))
named("from its sources", Severity.NOTE, "packages", part("runtime", wanted=""))
named("package missing", Severity.ERROR, "chromadb", part("runtime", packages=(Package("chromadb", "==1.5.9", None),)))
named("package old", Severity.ERROR, "chromadb", part("runtime", packages=(Package("chromadb", "==1.5.9", "1.5.8"),)))
named("package odd", Severity.ERROR, "mcp", part("runtime", packages=(Package("mcp", ">=2,<3", "unknown"),)))
named("no fts5", Severity.ERROR, "SQLite", part("runtime", fts5=False))
named("variable mistyped", Severity.WARNING, "RAG_MCP_DB", part("runtime", strange_variables=("RAG_MCP_DB",)))
named("setting wrong", Severity.ERROR, "settings", lambda h: evolve(h, unsettled="embedder 'x' is not one of"))
named("nothing named", Severity.NOTE, "settings", lambda h: evolve(h, settings=()))
named("read-only", Severity.WARNING, "/r", lambda h: evolve(h, rooms=(Room("r", "/r", 10**12, "read-only"),)))
named("full", Severity.WARNING, "/r", lambda h: evolve(h, rooms=(Room("r", "/r", LITTLE_ROOM - 1),)))
named(
    "too full",
    Severity.WARNING,
    "/r",
    lambda h: evolve(part("store", size=10**10)(h), rooms=(Room("r", "/r", 10**10),)),
)
named("room unknown", Severity.NOTE, "/r", lambda h: evolve(h, rooms=(Room("r", "/r", None),)))
named("model missing", Severity.ERROR, "model mini", lambda h: evolve(h, model=Model("mini", fault="it is not here")))
named("model another", Severity.ERROR, "model mini", part("model", files=(ModelFile("/m.onnx", "aa", "bb"),)))
named("model unknown", Severity.NOTE, "model mini", part("model", files=(ModelFile("/m.onnx", "", "bb"),)))
for state in State:
    if state is not State.WHOLE:
        named(
            f"store {state.name}",
            Severity.ERROR,
            "store /my store",
            lambda h, state=state: evolve(  # type: ignore[misc]
                h, store=Store("/my store", state, "why"), contents=None, index=None, canary=None
            ),
        )
named("synced", Severity.WARNING, "store /home/a/Dropbox/s", part("store", folder="/home/a/Dropbox/s"))
named("inside", Severity.NOTE, "store /my store", part("store", inside_corpus=True))
named("set aside", Severity.NOTE, "store /my store", part("store", set_aside=True))
named("strays", Severity.NOTE, "store /my store", part("store", strays=("gen-000001.aa.tmp",)))
named("busy", Severity.NOTE, "lock", part("store", holder="process 7"))
named("killed", Severity.WARNING, "lock", part("store", note="process 7"))
named("astray", Severity.ERROR, "record", part("contents", astray=("a.md",)))
named("vectorless", Severity.ERROR, "record", part("contents", vectorless=("a.md", "b.md", "c.md", "d.md")))
named("keywords", Severity.ERROR, "keyword index", part("contents", keywords_sound=False))
named("index gone", Severity.WARNING, "vector index", part("index", doubt="its folder is missing"))
named("index shut", Severity.WARNING, "vector index", part("index", unopened="it is damaged"))
named("canary", Severity.ERROR, "embedder mini", part("canary", fault="its vector is another"))
named("corpus gone", Severity.ERROR, "corpus /notes", part("corpus", unseen="no such folder"))
named("other corpus", Severity.WARNING, "corpus /notes", part("contents", root="/elsewhere"))
for field, level in (
    ("command_found", Severity.ERROR),
    ("corpus_found", Severity.ERROR),
    ("store_found", Severity.ERROR),
):
    server = evolve(SERVER, **{field: False})
    named(field, level, "[rag]", lambda h, s=server: evolve(h, clients=(ClientFile("C", "/c", (s,)),)))  # type: ignore[misc]
named(
    "no corpus named", Severity.WARNING, "[rag]",
    lambda h: evolve(h, clients=(ClientFile("C", "/c", (evolve(SERVER, corpus=None),)),)),
)  # fmt: skip
named(
    "client unread", Severity.WARNING, "C /c", lambda h: evolve(h, clients=(ClientFile("C", "/c", fault="not JSON"),))
)
named("copies", Severity.NOTE, "temporary folder", lambda h: evolve(h, copies=("/tmp/a b",)))


def bad(found: tuple[Diagnosis, ...]) -> list[Diagnosis]:
    return [each for each in found if each.severity is not Severity.OK]


def test_a_healthy_installation_has_nothing_but_ok_and_every_part_of_it_is_named() -> None:
    found = diagnose(HEALTHY)
    assert bad(found) == []
    told = " ".join(each.where for each in found)
    for part_of in ("Python", "packages", "SQLite", "settings", "/tmp", "model", "store", "lock", "record", "keyword",
                    "vector index", "embedder", "corpus", "Cursor"):  # fmt: skip
        assert part_of in told


@pytest.mark.parametrize("name", SICK)
def test_each_damage_brings_its_finding_and_no_graver_one(name: str) -> None:
    level, where = EXPECTED[name]
    found = bad(diagnose(SICK[name](HEALTHY)))
    assert [each for each in found if each.severity is level and where in each.where], found
    assert all(list(Severity).index(each.severity) >= list(Severity).index(level) for each in found)


damages = st.lists(st.sampled_from(sorted(SICK)), unique=True, max_size=8)


@given(damages)
def test_findings_come_gravest_first_and_what_is_amiss_says_what_mends_it(names: list[str]) -> None:
    health = HEALTHY
    for name in names:
        health = SICK[name](health)
    found = diagnose(health)
    order = [list(Severity).index(each.severity) for each in found]
    assert order == sorted(order)
    assert all(each.where and each.what for each in found)
    assert all(each.mend for each in found if each.severity in (Severity.ERROR, Severity.WARNING))
    assert len(list(diagnosis_lines(found))) == len(found) + sum(1 for each in found if each.mend)


@pytest.mark.parametrize("name", SICK)
def test_every_command_that_mends_is_one_that_the_command_line_takes(name: str) -> None:
    from rag_mcp.adapters.cli import cli

    for each in diagnose(SICK[name](HEALTHY)):
        words = shlex.split(each.mend)
        if words[:1] == ["rag-mcp"]:
            context = click.Context(cli)
            verb = cli.get_command(context, words[1])
            assert verb is not None, each.mend
            verb.make_context(words[1], words[2:])
            assert "/my store" in words or words[1] == "doctor" or "[rag]" in each.where or "Dropbox" in each.mend


def test_what_is_shown_is_safe_for_a_terminal() -> None:
    [first, second] = diagnosis_lines([Diagnosis(Severity.ERROR, "a\x1b", "b\x07", "c\u202e")])
    assert first + second == "error    a\\x1b: b\\x07" + "         mend: c\\u202e"


@pytest.mark.parametrize(
    ("folder", "service"),
    [
        ("/home/a/Dropbox/notes", "Dropbox"),
        ("/Users/a/Dropbox (Personal)/s", "Dropbox"),
        ("C:\\Users\\a\\OneDrive - Company\\s", "OneDrive"),
        ("/Users/a/Library/Mobile Documents/com~apple~CloudDocs/s", "iCloud Drive"),
        ("/Users/a/Library/CloudStorage/GoogleDrive-me@x.org/My Drive/s", "Google Drive"),
        ("/Users/a/Library/CloudStorage/Box-Box/s", "a cloud service"),
        ("/home/a/Google Drive/s", "Google Drive"),
        ("/home/a/dropboxed/s", None),
        ("/home/a/notes", None),
        ("", None),
    ],
)
def test_a_synced_folder_is_told_by_its_path(folder: str, service: str | None) -> None:
    assert synced_by(folder) == service


numbers = st.lists(st.integers(0, 12), min_size=1, max_size=3).map(lambda many: ".".join(map(str, many)))
operators = st.sampled_from(("==", "!=", ">=", "<=", ">", "<"))
requirements = st.lists(st.builds("{}{}".format, operators, numbers), max_size=3).map(",".join)


@given(numbers, requirements)
def test_versions_are_compared_as_the_packaging_library_compares_them(version: str, wanted: str) -> None:
    packaging = pytest.importorskip("packaging.specifiers")
    assert satisfies(version, wanted) is packaging.SpecifierSet(wanted).contains(version)


@given(numbers, st.lists(st.integers(0, 12), min_size=2, max_size=3).map(lambda many: ".".join(map(str, many))))
def test_compatible_releases_and_stars_are_understood(version: str, bound: str) -> None:
    packaging = pytest.importorskip("packaging.specifiers")
    for wanted in (f"~={bound}", f"=={bound}.*", f"!={bound}.*"):
        assert satisfies(version, wanted) is packaging.SpecifierSet(wanted).contains(version)


def test_what_cannot_be_read_as_a_version_is_not_judged() -> None:
    assert satisfies("unknown", ">=1") is None
    assert satisfies("1.0", "===1.0") is None
    assert satisfies("2.0rc1", ">=2.0") is True
