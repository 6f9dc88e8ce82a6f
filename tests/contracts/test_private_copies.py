"""Private copies are swept when their owner is gone, and nothing else in the temporary folder ever is."""

import os
from pathlib import Path

import pytest
from storecheck import ingest, write_corpus

from rag_mcp.adapters.stores.private_copies import OWNER, PREFIX, PrivateCopies, sweep


@pytest.fixture
def generation(tmp_path: Path) -> Path:
    ingest(write_corpus(tmp_path / "notes", pages=2, sections=2), tmp_path / "store")
    (found,) = (path for path in (tmp_path / "store" / "index").glob("gen-*") if path.is_dir())
    return found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "tmp"
    place.mkdir()
    return place


def left_by_a_killed_reader(generation: Path, place: Path) -> Path:
    """A process that ends without closing: its lock is gone, its folder is not."""
    child = os.fork()
    if not child:
        PrivateCopies(place).copy(generation)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    (folder,) = place.iterdir()
    return folder


def test_what_a_killed_reader_left_is_swept_by_the_next(generation: Path, place: Path) -> None:
    left = left_by_a_killed_reader(generation, place)
    copies = PrivateCopies(place)
    copy = copies.copy(generation)
    assert not left.exists() and copy.exists()
    copies.close()
    assert not list(place.iterdir())


def test_a_folder_whose_owner_lives_stays(generation: Path, place: Path) -> None:
    copies = PrivateCopies(place)
    copy = copies.copy(generation)
    sweep(place)
    assert copy.exists()
    copies.close()


@pytest.mark.parametrize("name", ["rag-mcp-notes", f"{PREFIX}of-mine"])
@pytest.mark.parametrize("owner", [True, False])
def test_a_folder_that_is_somebody_elses_stays_whatever_it_is_called(place: Path, name: str, owner: bool) -> None:
    (place / name).mkdir()
    (place / name / "thesis.md").write_text("years of work")
    if owner:
        (place / name / OWNER).touch()
    before = sorted(place.rglob("*"))
    sweep(place)
    assert sorted(place.rglob("*")) == before


def test_an_empty_folder_of_that_name_stays_and_gets_no_file(place: Path) -> None:
    (place / f"{PREFIX}x").mkdir()
    sweep(place)
    assert list(place.rglob("*")) == [place / f"{PREFIX}x"]
