"""Laws of what is left out. The judge of patterns is git itself, where it is installed."""

import os
import shutil
import subprocess
from functools import cache
from itertools import product
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from returns.result import Failure, Success

from rag_mcp.pure.ignore import HOLD_NO_NOTES, Rules, is_environment

FOLDERS = ["a", "b", "ab", "!a", "[a"]
FILES = ["x.md", "a.md", "ab.md", "#", "*", "a b.md", "-", "]", "\\"]


def tree():
    """(path, is_folder) of a tree three levels deep, each folder before what it holds."""
    for depth in range(3):
        for above in product(FOLDERS[: 5 if depth < 2 else 2], repeat=depth):
            yield from (("/".join((*above, name)), False) for name in FILES[: 9 if depth < 2 else 4])
            yield from (("/".join((*above, name)), True) for name in FOLDERS if depth < 2)


TREE = list(tree())

plain = st.sampled_from(["a", "b", "ab", "a.md", "*.md", "*", "?", "a*", "*b", "x.md", "a*b*.md", "?.md"])
odd = st.sampled_from(
    ["[ab]", "[!a]", "[^a]b", "[a-c]*", "[[:alpha:]]", "[![:alnum:]]*", "[]a]", "[!]a]", "[\\]a]", "[b-a]", "[a-]",
     "\\*", "\\a", "\\#", "#", "!a", "\\!a", "a\\ b.md", "a b.md", "[[]a", "***", "**a"]
)  # fmt: skip
segments = st.one_of(plain, plain, odd, st.just("**"))
lines = st.builds(
    lambda negate, top, middle, end: negate + top + "/".join(middle) + end,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(segments, min_size=1, max_size=3),
    st.sampled_from(["", "", "/", " ", "  ", "\r"]),
)
files = st.lists(lines, min_size=1, max_size=4).map("\n".join)


NONE = Rules()


def followed(text, folder="", rules=NONE):
    return rules.with_file(folder, text).unwrap()


def left_out(rules_at):
    """What a walk leaves out, when `rules_at(folder)` are the rules in a folder."""
    out = set()
    for path, is_folder in TREE:
        above = path.rpartition("/")[0]
        if above in out or rules_at(above).verdict(path, is_folder=is_folder):
            out.add(path)
    return out


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    if not shutil.which("git"):
        pytest.skip("git, the judge of gitignore patterns, is not installed")
    root = tmp_path_factory.mktemp("repository")
    run_git(root, "init", "-q")
    for path, is_folder in TREE:
        if is_folder:
            (root / path).mkdir(parents=True)
        else:
            (root / path).touch()
    return root


def run_git(root, *arguments, given=""):
    quiet = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "HOME": str(root), "PATH": os.environ["PATH"]}
    command = ["git", "-C", str(root), "-c", f"core.excludesFile={os.devnull}", *arguments]
    return subprocess.run(command, input=given, capture_output=True, text=True, env=quiet).stdout


def judged_by_git(root):
    asked = "\0".join(path for path, _ in TREE) + "\0"
    return set(run_git(root, "check-ignore", "--no-index", "-z", "--stdin", given=asked).split("\0")) - {""}


@settings(max_examples=250, deadline=None)
@given(top=files, below=st.one_of(st.none(), files))
@example(top="b\n!a", below=None)
@example(top="a/**/", below=None)
@example(top="b[!x]a.md", below=None)
@example(top="*\n!*/\n!*.md", below=None)
@example(top="a.md", below="!a.md")
@example(top="[b-a]", below=None)
@example(top="***/a", below=None)
def test_a_ragignore_leaves_out_exactly_what_git_would_ignore(repository, top, below):
    Path(repository, ".gitignore").write_bytes(top.encode())
    Path(repository, "a/.gitignore").write_bytes((below or "").encode())
    outer = followed(top)
    inner = outer if below is None else followed(below, "a", outer)
    ours = left_out(lambda folder: inner if folder == "a" or folder.startswith("a/") else outer)
    assert ours == judged_by_git(repository)


@pytest.mark.parametrize("line", ["private\\", "[ab", "[", "a[!", "x/[[:letters:]]", "[a\\", "dir\\/x"])
def test_a_line_that_cannot_match_is_refused_and_named(line):
    match Rules().with_file("", f"drafts/\n{line}\n"):
        case Failure(why):
            assert repr(line) in why
        case Success(_):
            raise AssertionError(line)
    assert repr(line) in Rules.of([line]).failure()


@given(files.filter(lambda text: "!" not in text), files)
def test_no_line_of_a_ragignore_brings_back_what_an_exclude_leaves_out(excluded, text):
    rules = Rules.of(excluded.split("\n")).unwrap()
    both = followed(text, "", rules)
    assert left_out(lambda _: rules) <= left_out(lambda _: both)


@given(files)
def test_comments_blank_lines_a_bom_and_dos_line_ends_change_nothing(text):
    dressed = "\ufeff" + text.replace("\r", "").replace("\n", "\r\n") + "\r\n# a comment\r\n\r\n   \n"
    assert left_out(lambda _: followed(dressed)) == left_out(lambda _: followed(text.replace("\r", "")))


@given(files)
def test_a_file_below_speaks_of_its_folder_only(text):
    at_b = followed(text, "b")
    for path, is_folder in TREE:
        if not path.startswith("b/"):
            continue
        alone = followed(text).verdict(path[2:], is_folder=is_folder)
        nested = at_b.verdict(path, is_folder=is_folder)
        assert (alone and alone.replace(".ragignore", "b/.ragignore", 1)) == nested


@pytest.mark.parametrize(
    ("exclude", "out", "read"),
    [
        ("drafts", ["drafts/", "x/drafts/", "drafts"], ["drafts.md", "drafts-2/"]),
        ("drafts/", ["drafts/", "x/drafts/"], ["drafts", "drafts-2/"]),
        ("/drafts", ["drafts/"], ["x/drafts/"]),
        ("*.tmp.md", ["a.tmp.md", "x/a.tmp.md"], ["a.md", "tmp.md"]),
        ("a/b", ["a/b/", "a/b.md", "a/bc.md"], ["x/a/b/", "a/c.md", "b/"]),
        ("./a/b/", ["a/b/"], ["a/b.md", "x/a/b/"]),
        ("journal/2024-", ["journal/2024-01.md", "journal/2024-q1/"], ["journal/2025-01.md", "journal/"]),
        ("#private", ["#private/", "x/#private"], ["private"]),
        ("a/*/z", ["a/b/z"], ["a/b/zz", "a/z"]),
    ],
)
def test_an_exclude_is_a_pattern_of_git_or_a_plain_prefix(exclude, out, read):
    rules = Rules.of([exclude]).unwrap()
    for place in out:
        reason = rules.verdict(place.rstrip("/"), is_folder=place.endswith("/"))
        assert reason == f"excluded by --exclude: {exclude}", place
    for place in read:
        assert rules.verdict(place.rstrip("/"), is_folder=place.endswith("/")) is None, place


@given(st.lists(st.sampled_from(["a", "b.md", "x y"]), max_size=3), st.text("abcd./-_", min_size=1, max_size=8))
def test_an_exclude_with_a_slash_inside_leaves_out_every_path_that_begins_with_it(folders, ending):
    prefix = "/".join([*folders, ending])
    assume("/" in prefix.strip("/") and not prefix.endswith("/") and not prefix.startswith(("./", "/")))
    assert Rules.of([prefix]).unwrap().verdict(prefix + "tail.md", is_folder=False)


def test_the_last_exclude_that_has_a_say_decides():
    rules = Rules.of(["*.md", "!keep.md"]).unwrap()
    assert rules.verdict("a.md", is_folder=False)
    assert rules.verdict("keep.md", is_folder=False) is None


def test_reasons_name_the_file_and_the_line():
    rules = followed("*.md", "", Rules())
    nested = followed("old/", "notes/sub", rules)
    assert nested.verdict("notes/sub/old", is_folder=True) == "excluded by notes/sub/.ragignore: old/"
    assert nested.verdict("notes/a.md", is_folder=False) == "excluded by .ragignore: *.md"


def test_folders_that_hold_no_notes_are_left_out_at_any_depth_and_files_of_such_names_are_not():
    for name in HOLD_NO_NOTES:
        assert Rules().verdict(f"a/{name}", is_folder=True) == "a folder that holds no notes"
        assert Rules().verdict(f"a/{name}", is_folder=False) is None
    for name in (".github", ".notes", "env", "trash", "git"):
        assert Rules().verdict(name, is_folder=True) is None


def test_a_virtual_environment_is_told_by_its_name_and_what_it_holds():
    assert is_environment("venv", ["bin", "pyvenv.cfg"])
    assert not is_environment("venv", ["notes.md"])
    assert not is_environment("notes", ["pyvenv.cfg"])


@cache
def hostile():
    return followed("*a*a*a*a*a*a*a*a*a*a*b\n**/a/**/a/**/a/**/a/**/a/**/a/**/b\n")


@pytest.mark.parametrize("path", ["a" * 250, "a/" * 120 + "c"])
def test_many_wildcards_do_not_try_everything_twice(path):
    assert hostile().verdict(path, is_folder=False) is None
