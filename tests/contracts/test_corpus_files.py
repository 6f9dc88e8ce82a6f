"""A folder on a real disk, settled, then damaged: what a look says of it, and what it refuses to open."""

import errno
import hashlib
import json
import os
import pickle
import random
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from returns.result import Failure, Success

from rag_mcp.adapters import regular_files
from rag_mcp.adapters.corpus_files import DEEPEST, CorpusFolder
from rag_mcp.pure.paths import is_under
from rag_mcp.pure.values import Excluded, Gap, Lack, Sighting, Unreadable

SHARED = Path(os.environ.get("RAG_MCP_SHARED", Path(__file__).parents[3] / "shared"))
NOBODY = 65534

AS_NOBODY = """
import os, pickle, sys
from rag_mcp.adapters.corpus_files import CorpusFolder
os.setgroups([]); os.setgid({nobody}); os.setuid({nobody})
corpus = CorpusFolder(sys.argv[1])
sys.stdout.buffer.write(pickle.dumps((corpus.look(), [corpus.read(path) for path in sys.argv[2:]])))
"""


def put(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text if isinstance(text, bytes) else text.encode())


def look(root, *excludes, **options):
    return CorpusFolder(str(root), excludes, **options).look()


def seen(listing):
    return [sighting.path for sighting in listing.sightings]


def reasons(entries):
    return {entry.path: entry.why for entry in entries}


def hidden(listing, path):
    """True when nothing at `path` may be pruned, by this listing."""
    below_gap = any(gap.path == path or is_under(path, gap.path) for gap in listing.gaps)
    return below_gap or path in reasons(listing.unreadables)


def as_somebody(root, *reads):
    """The look and the reads, made by a user whom modes of files bind."""
    if os.geteuid() != 0:
        corpus = CorpusFolder(str(root))
        return corpus.look(), [corpus.read(path) for path in reads]
    world = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-c", AS_NOBODY.format(nobody=NOBODY), str(root), *reads]
    done = subprocess.run(command, capture_output=True, env=world)
    assert done.returncode == 0, done.stderr.decode()
    return pickle.loads(done.stdout)


@pytest.fixture
def open_root():
    """A folder that every user may enter; modes inside are mended before it is removed."""
    root = Path(tempfile.mkdtemp(prefix="corpus-"))
    root.chmod(0o755)
    yield root
    for folder, folders, _ in os.walk(root):
        for name in folders:
            if not Path(folder, name).is_symlink():
                Path(folder, name).chmod(0o755)
    shutil.rmtree(root)


def test_a_look_says_path_hash_and_size_of_every_markdown_file_and_is_silent_about_others(tmp_path):
    put(tmp_path, {"b.md": "B", "a/x.MARKDOWN": "X", ".hidden/h.md": "", "a.txt": "no", "folder.md/in.md": "I"})
    listing = look(tmp_path)
    assert listing.root == os.path.realpath(tmp_path)
    assert listing.sightings == tuple(
        Sighting(path, hashlib.sha256(data).hexdigest(), len(data))
        for path, data in [(".hidden/h.md", b""), ("a/x.MARKDOWN", b"X"), ("b.md", b"B"), ("folder.md/in.md", b"I")]
    )
    assert (listing.unreadables, listing.excluded, listing.gaps) == ((), (), ())


def test_two_looks_are_equal_and_so_are_looks_at_trees_made_in_another_order(tmp_path):
    files = {f"{folder}/{name}.md": name for folder in ("z", "a", "a/b", "a-") for name in "qwertz"}
    listings = []
    for seed in range(3):
        shuffled = list(files.items())
        random.Random(seed).shuffle(shuffled)
        root = tmp_path / str(seed)
        put(root, dict(shuffled))
        assert look(root) == look(root)
        listings.append(look(root).sightings)
    assert listings[0] == listings[1] == listings[2]
    assert [s.path for s in listings[0]] == sorted(files)


def test_what_was_seen_can_be_read_and_is_what_was_hashed(tmp_path):
    put(tmp_path, {"a.md": "A", "d/new\nline.md": "N", "d/back\\slash.md": "S", "d/-rf.md": "R"})
    corpus = CorpusFolder(str(tmp_path))
    for sighting in corpus.look().sightings:
        assert not corpus.escapes(sighting.path)
        assert hashlib.sha256(corpus.read(sighting.path).unwrap()).hexdigest() == sighting.digest


@pytest.mark.parametrize("make", [lambda p: None, lambda p: p.write_text("# a file"), lambda p: p.symlink_to(p)])
def test_a_root_that_is_no_folder_is_one_gap_that_hides_everything(tmp_path, make):
    make(tmp_path / "root")
    listing = look(tmp_path / "root")
    assert [gap.path for gap in listing.gaps] == [""]
    assert hidden(listing, "any/path.md")
    assert str(tmp_path) not in listing.gaps[0].why


def test_a_root_that_is_a_link_is_followed_since_the_user_named_it(tmp_path):
    put(tmp_path / "real", {"a.md": "A"})
    (tmp_path / "link").symlink_to("real")
    listing = look(tmp_path / "link")
    assert seen(listing) == ["a.md"]
    assert listing.root == os.path.realpath(tmp_path / "real")


# ---- links


def test_no_link_is_followed_and_each_is_said(tmp_path):
    root = tmp_path / "root"
    put(tmp_path, {"outside/secret.md": "S", "root/a.md": "A", "root/sub/b.md": "B", "root/data.txt": "D"})
    for name, target in {
        "in.md": "a.md", "sub2": "sub", "loop": "..", "self": ".", "out.md": "../outside/secret.md",
        "out": "../outside", "other.md": "data.txt", "data": "data.txt", "broken.md": "nowhere", "broken": "nowhere/x",
        "ping.md": "pong", "pong": "ping.md", ".#a.md": "user@host.1:2",
    }.items():  # fmt: skip
        (root / name).symlink_to(target)
    listing = look(root)
    assert seen(listing) == ["a.md", "sub/b.md"]
    assert reasons(listing.excluded) == {
        ".#a.md": "an editor's lock, not a note",
        "in.md": "a link to a.md, which is read there",
        "loop/": "a link that leads out of the corpus",
        "other.md": "a link to data.txt, which is not Markdown",
        "out.md": "a link that leads out of the corpus",
        "out/": "a link that leads out of the corpus",
        "self/": "a link to the corpus itself, which is read there",
        "sub2/": "a link to sub, which is read there",
    }
    assert reasons(listing.unreadables) == {
        "broken.md": "a link to nothing",
        "ping.md": "a link that leads back to itself",
    }
    assert set(reasons(listing.gaps)) == {"broken", "pong"}
    assert hidden(listing, "broken/was/here.md")


@pytest.mark.parametrize(
    "path",
    ["../outside/secret.md", "/etc/hostname", "C:\\Windows\\win.ini", "a.md\0.txt", "", ".", "sub/../a.md", "sub//b.md",
     "link/../../x.md", "link/secret.md", "out.md", "in.md", "loop/a.md", "sub", "pipe.md", "\ud800.md", "a.md/x.md",
     "%2e%2e/%2e%2e/etc/hostname", "absent.md"],
)  # fmt: skip
def test_a_read_refuses_all_but_regular_files_below_the_root(tmp_path, path):
    root = tmp_path / "root"
    put(tmp_path, {"outside/secret.md": "S", "root/a.md": "A", "root/sub/b.md": "B"})
    (root / "link").symlink_to("../outside")
    (root / "out.md").symlink_to("../outside/secret.md")
    (root / "in.md").symlink_to("a.md")
    (root / "loop").symlink_to(".")
    os.mkfifo(root / "pipe.md")
    match CorpusFolder(str(root)).read(path):
        case Failure(Unreadable(found, why)):
            assert found == path
            assert str(tmp_path) not in why
        case Success(data):
            raise AssertionError(data)


def test_a_refusal_does_not_tell_whether_the_target_exists(tmp_path):
    put(tmp_path, {"root/a.md": "A", "there.md": "T"})
    (tmp_path / "root/link").symlink_to("..")
    corpus = CorpusFolder(str(tmp_path / "root"))
    for form in ("../{}.md", "link/{}.md", f"{tmp_path}/{{}}.md", "link/../{}.md"):
        there, absent = (corpus.read(form.format(name)).failure().why for name in ("there", "absent"))
        assert there == absent


def test_a_path_escapes_by_its_form_or_through_a_link_and_not_for_being_absent(tmp_path):
    put(tmp_path, {"root/a.md": "A", "root/sub/b.md": "B", "outside/x.md": "X"})
    (tmp_path / "root/out").symlink_to("../outside")
    (tmp_path / "root/in").symlink_to("sub")
    corpus = CorpusFolder(str(tmp_path / "root"))
    assert all(map(corpus.escapes, ["", "../a.md", "/a.md", "out/x.md", "out/absent.md", "out", "a\0b", "\ud800/x"]))
    assert not any(map(corpus.escapes, ["a.md", "absent.md", "in/b.md", "sub/../a.md"]))


# ---- what is not a file, and what changes under the look


def test_pipes_sockets_and_folders_are_never_opened_as_files(tmp_path, monkeypatch):
    put(tmp_path, {"a.md": "A"})
    os.mkfifo(tmp_path / "pipe.md")
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind("sock.md")
        listing = look(tmp_path)
    assert seen(listing) == ["a.md"]
    why = "a pipe, socket or device, not a file"
    assert listing.unreadables == (Unreadable("pipe.md", why), Unreadable("sock.md", why))


def on_open_of(name, act, monkeypatch):
    """Run `act` just before the file `name` is opened: the world moves between listing and opening."""
    real = os.open

    def opened(path, flags, *rest, **where):
        if path == name:
            act()
        return real(path, flags, *rest, **where)

    monkeypatch.setattr(os, "open", opened)


def swap(path, make):
    def act():
        if path.is_file() and not path.is_symlink():
            path.unlink()
            make(path)

    return act


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda p: None, "vanished while it was being read"),
        (lambda p: p.symlink_to("../outside.md"), "replaced by something else while it was being read"),
        (os.mkfifo, "not a regular file"),
        (lambda p: p.mkdir(), "not a regular file"),
    ],
)
def test_a_file_that_is_swapped_between_listing_and_opening_is_held_and_not_followed(tmp_path, monkeypatch, make, why):
    put(tmp_path, {"outside.md": "secret", "root/a.md": "A", "root/b.md": "B"})
    on_open_of("b.md", swap(tmp_path / "root/b.md", make), monkeypatch)
    listing = look(tmp_path / "root")
    assert seen(listing) == ["a.md"]
    assert listing.unreadables == (Unreadable("b.md", why),)


@pytest.mark.parametrize("make", [lambda p: None, lambda p: p.symlink_to("../outside")])
def test_a_folder_that_is_swapped_between_listing_and_opening_is_a_gap(tmp_path, monkeypatch, make):
    put(tmp_path, {"outside/s.md": "secret", "root/a.md": "A", "root/sub/b.md": "B"})

    def act():
        if (tmp_path / "root/sub").exists():
            shutil.move(tmp_path / "root/sub", tmp_path / "gone")
            make(tmp_path / "root/sub")

    on_open_of("sub", act, monkeypatch)
    listing = look(tmp_path / "root")
    assert seen(listing) == ["a.md"]
    assert hidden(listing, "sub/b.md")


@pytest.mark.parametrize(("changes", "outcome"), [(1, "seen"), (5, "held")])
def test_a_file_that_changes_while_it_is_read_is_read_once_more_and_then_held(tmp_path, monkeypatch, changes, outcome):
    put(tmp_path, {"a.md": "A"})
    left, real = [changes], os.read

    def read(file, size):
        data = real(file, size)
        if left[0]:
            left[0] -= 1
            with (tmp_path / "a.md").open("a") as more:
                more.write("+")
        return data

    monkeypatch.setattr(os, "read", read)
    listing = look(tmp_path)
    if outcome == "seen":
        assert listing.sightings == (Sighting("a.md", hashlib.sha256(b"A+").hexdigest(), 2),)
    else:
        assert listing.unreadables == (Unreadable("a.md", "changed while it was being read"),)


def test_an_error_of_the_disk_is_held_with_a_short_reason(tmp_path, monkeypatch):
    put(tmp_path, {"a.md": "A", "b.md": "B", "sub/c.md": "C"})
    real_read, real_list = os.read, os.scandir
    first = []

    def failing(*arguments):
        if first:
            raise OSError(errno.EIO, "Input/output error", "/some/where")
        first.append(1)
        return real_read(*arguments)

    def failing_list(folder):
        if seen_roots:
            raise OSError(errno.EIO, "Input/output error")
        seen_roots.append(folder)
        return real_list(folder)

    seen_roots = []
    monkeypatch.setattr(os, "read", failing)
    monkeypatch.setattr(os, "scandir", failing_list)
    listing = look(tmp_path)
    assert seen(listing) == ["a.md"]
    assert listing.unreadables == (Unreadable("b.md", "Input/output error"),)
    assert listing.gaps == (Gap("sub", "Input/output error"),)


def test_a_file_larger_than_the_limit_is_held_and_one_of_the_limit_is_read(tmp_path):
    put(tmp_path, {"a.md": "12345", "b.md": "123456"})
    listing = look(tmp_path, largest=5)
    assert seen(listing) == ["a.md"]
    assert listing.unreadables == (
        Unreadable("b.md", "6 bytes, larger than the 5 that are read of a file", Lack.TOO_LARGE),
    )
    assert CorpusFolder(str(tmp_path), largest=5).read("b.md").failure() == listing.unreadables[0]


def test_a_name_that_is_not_utf8_is_held_under_its_own_name(tmp_path):
    name = os.fsdecode(b"bad-\xff\xfe")
    put(tmp_path, {f"{name}.md": "B", f"{name}/x.md": "X", "a.md": "A"})
    listing = look(tmp_path)
    assert seen(listing) == ["a.md"]
    assert listing.unreadables == (Unreadable(f"{name}.md", "its name is not UTF-8"),)
    assert listing.gaps == (Gap(name, "its name is not UTF-8"),)


def test_a_name_that_elsewhere_leads_out_of_the_corpus_is_held(tmp_path):
    put(tmp_path, {"..\\x.md": "X", "\\x.md": "X", "C:/x.md": "X", "a\\b.md": "A", "Q: why.md": "Q"})
    listing = look(tmp_path)
    assert seen(listing) == ["Q: why.md", "a\\b.md"]
    assert set(reasons(listing.unreadables)) == {"..\\x.md", "\\x.md"}
    assert [gap.path for gap in listing.gaps] == ["C:"]
    corpus = CorpusFolder(str(tmp_path))
    for path in ("..\\x.md", "\\x.md", "C:/x.md"):
        assert corpus.read(path).failure().why == "not a path inside the corpus"


def test_folders_deeper_than_the_limit_are_a_gap_and_the_walk_goes_on(tmp_path):
    deep = "/".join(["d"] * (DEEPEST + 5))
    put(tmp_path, {f"{deep}/bottom.md": "B", "d/d/z.md": "Z", "e/e.md": "E"})
    listing = look(tmp_path)
    assert seen(listing) == ["d/d/z.md", "e/e.md"]
    assert hidden(listing, f"{deep}/bottom.md")
    assert look(tmp_path, deepest=1).gaps == (Gap("d/d", "more than 1 folders deep"),)
    assert seen(look(tmp_path, deepest=DEEPEST + 5)) == [f"{deep}/bottom.md", "d/d/z.md", "e/e.md"]


def test_a_look_leaves_no_descriptor_open(tmp_path, monkeypatch):
    put(tmp_path, {"a/b/c.md": "C", "a/d/.ragignore": "[", "venv/pyvenv.cfg": "", "big.md": "123456"})
    (tmp_path / "a/link").symlink_to(tmp_path)
    opened, real_open, real_close = [], os.open, os.close

    def counting_open(*arguments, **where):
        opened.append(real_open(*arguments, **where))
        return opened[-1]

    def counting_close(descriptor):
        real_close(descriptor)
        opened.remove(descriptor)

    monkeypatch.setattr(os, "open", counting_open)
    monkeypatch.setattr(os, "close", counting_close)
    corpus = CorpusFolder(str(tmp_path), largest=5)
    corpus.look()
    for path in ("a/b/c.md", "a/link/x.md", "a/absent/x.md", "big.md", "a"):
        corpus.read(path)
    assert opened == []


# ---- rules


def test_rules_leave_out_folders_whole_and_files_by_name_and_say_which_rule(tmp_path):
    put(tmp_path, {
        ".ragignore": "drafts/\n*.tmp.md\n", "a.md": "A", "a.tmp.md": "T", "drafts/x.md": "X", "drafts/keep/y.md": "Y",
        "sub/.ragignore": "!b.tmp.md\nold\n", "sub/b.tmp.md": "B", "sub/c.tmp.md": "C", "sub/old/o.md": "O",
        "old/o.md": "O", "secret/s.md": "S", ".git/x.md": "G", "venv/pyvenv.cfg": "", "venv/v.md": "V",
        "env/notes.md": "N", "lib/node_modules/m/README.md": "R", ".obsidian/w.md": "W",
    })  # fmt: skip
    listing = look(tmp_path, "secret")
    assert seen(listing) == ["a.md", "env/notes.md", "old/o.md", "sub/b.tmp.md"]
    assert reasons(listing.excluded) == {
        ".git/": "a folder that holds no notes",
        ".obsidian/": "a folder that holds no notes",
        "a.tmp.md": "excluded by .ragignore: *.tmp.md",
        "drafts/": "excluded by .ragignore: drafts/",
        "lib/node_modules/": "a folder that holds no notes",
        "secret/": "excluded by --exclude: secret",
        "sub/c.tmp.md": "excluded by .ragignore: *.tmp.md",
        "sub/old/": "excluded by sub/.ragignore: old",
        "venv/": "a folder that holds no notes",
    }
    assert (listing.unreadables, listing.gaps) == ((), ())


@pytest.mark.parametrize(
    "damage",
    [
        lambda p: p.write_bytes("private\n".encode("utf-16")),
        lambda p: p.write_text("private\\"),
        lambda p: p.write_text("x" * 100),
        lambda p: (p.unlink(), p.symlink_to("../rules")),
        lambda p: (p.unlink(), p.symlink_to("nowhere")),
        lambda p: (p.unlink(), p.mkdir()),
        lambda p: (p.unlink(), os.mkfifo(p)),
    ],
)
def test_a_ragignore_that_cannot_be_followed_hides_its_folder_and_un_ignores_nothing(tmp_path, damage):
    put(
        tmp_path,
        {"rules": "private", "a.md": "A", "sub/.ragignore": "private", "sub/b.md": "B", "sub/private/p.md": "P"},
    )
    settled = look(tmp_path, largest=50)
    assert seen(settled) == ["a.md", "sub/b.md"]
    damage(tmp_path / "sub/.ragignore")
    listing = look(tmp_path, largest=50)
    assert seen(listing) == ["a.md"]
    assert hidden(listing, "sub/b.md")
    assert ".ragignore" in reasons(listing.gaps)["sub"]
    assert "being read" not in reasons(listing.gaps)["sub"]


def test_an_exclude_that_means_nothing_stops_the_look(tmp_path):
    put(tmp_path, {"a.md": "A"})
    listing = look(tmp_path, "ok", "[a")
    assert listing.sightings == ()
    assert listing.gaps == (Gap("", "--exclude '[a' opens a bracket and does not close it"),)


def test_a_store_inside_the_corpus_is_left_out_also_when_named_through_a_link(tmp_path):
    put(tmp_path, {"root/a.md": "A", "root/.store/x.md": "X", "root/other/y.md": "Y"})
    (tmp_path / "way").symlink_to("root")
    for store in (tmp_path / "root/.store", tmp_path / "way/.store"):
        listing = look(tmp_path / "root", skip=(str(store), str(tmp_path / "elsewhere"), str(tmp_path / "root")))
        assert seen(listing) == ["a.md", "other/y.md"]
        assert listing.excluded == (Excluded(".store/", "the store itself"),)


# ---- permissions, as a user whom they bind


def test_what_may_not_be_read_is_held_and_the_walk_goes_on(open_root):
    put(
        open_root,
        {"a.md": "A", "shut.md": "S", "closed/b.md": "B", "listed/c.md": "C", "listed/d/e.md": "E", "z.md": "Z"},
    )
    for path, mode in {"shut.md": 0, "closed": 0, "listed": 0o644}.items():
        (open_root / path).chmod(mode)
    listing, reads = as_somebody(open_root, "shut.md", "closed/b.md", "listed/c.md", "a.md")
    assert seen(listing) == ["a.md", "z.md"]
    assert all(hidden(listing, path) for path in ("shut.md", "closed/b.md", "listed/c.md", "listed/d/e.md"))
    assert {*reasons(listing.unreadables).values(), *reasons(listing.gaps).values()} == {"Permission denied"}
    assert [type(read) for read in reads] == [Failure, Failure, Failure, Success]


def test_a_root_that_may_not_be_listed_is_a_gap(open_root):
    put(open_root, {"n/a.md": "A"})
    (open_root / "n").chmod(0)
    listing, _ = as_somebody(open_root / "n")
    assert listing.gaps == (Gap("", "Permission denied"),)


def test_a_ragignore_or_a_link_target_out_of_reach_hides_what_it_may_concern(open_root):
    put(open_root, {"sub/.ragignore": "p", "sub/p/x.md": "X", "shut/in/y.md": "Y", "a.md": "A"})
    (open_root / "way").symlink_to("shut/in")
    (open_root / "sub/.ragignore").chmod(0)
    (open_root / "shut").chmod(0)
    listing, _ = as_somebody(open_root)
    assert seen(listing) == ["a.md"]
    assert set(reasons(listing.gaps)) == {"shut", "sub", "way"}


# ---- the vault of awkward files


@pytest.fixture(scope="module")
def messy(tmp_path_factory):
    script = SHARED / "data/messy/make_messy.py"
    if not script.is_file():
        pytest.skip("the generator of awkward files (data/messy) is not here")
    out = tmp_path_factory.mktemp("messy")
    made = subprocess.run([sys.executable, script, out, "--fifo"], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    with (out / "INDEX.tsv").open(encoding="utf-8") as table:
        rows = [line.rstrip("\n").split("\t") for line in table][1:]
    return out / "vault", {json.loads(row[0]): row[1] for row in rows}


def test_every_awkward_file_is_seen_or_accounted_for_once(messy):
    vault, kinds = messy
    listing = look(vault)
    accounts = [*listing.sightings, *listing.unreadables, *listing.gaps, *listing.excluded]
    places = [account.path.rstrip("/") for account in accounts]
    assert len(places) == len(set(places))
    for path, kind in kinds.items():
        found = path in places or any(is_under(path, e.path.rstrip("/")) for e in listing.excluded)
        assert found != (kind == "file name: no extension"), (path, kind)


def test_awkward_files_fall_to_the_stated_rules(messy):
    vault, kinds = messy
    listing = look(vault)
    of_kind = {kind: path for path, kind in kinds.items()}
    assert reasons(listing.excluded) == {
        ".obsidian/": "a folder that holds no notes",
        ".trash/": "a folder that holds no notes",
        "link-inside.md": "a link to copy-a.md, which is read there",
        "link-outside.md": "a link that leads out of the corpus",
        "loop-self/": "a link to the corpus itself, which is read there",
    }
    assert set(reasons(listing.gaps)) == {"ping", "pong"}
    held = {"link-broken.md", "pipe.md", of_kind["file name that is not UTF-8"]}
    assert set(reasons(listing.unreadables)) - {"unreadable.md"} == held
    assert listing == look(vault)
    corpus = CorpusFolder(str(vault))
    assert all(isinstance(corpus.read(sighting.path), Success) for sighting in listing.sightings)


def test_clauses_name_no_path():
    assert regular_files.clause(OSError(errno.EACCES, "Permission denied", "/home/x")) == "Permission denied"
    assert regular_files.clause(OSError("odd")) == os.strerror(0)
    assert regular_files.clause(ValueError("embedded null byte")) == "not a name that a file can have"
