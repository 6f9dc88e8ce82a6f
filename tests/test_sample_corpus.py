"""The sample corpus is what its generator writes, says all that front matter can say, and goes with the package."""

import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from rag_mcp.adapters.demo import EDIT, EDITED, sample
from rag_mcp.pure.frontmatter import split

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "sample-corpus"
SCRIPT = ROOT / "tools" / "gen_sample_corpus.py"

if not SCRIPT.is_file():
    pytest.skip("only the package was unpacked", allow_module_level=True)


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gen_sample_corpus", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_committed_corpus_is_what_the_generator_writes(generator: ModuleType, tmp_path: Path) -> None:
    generator.write(tmp_path / "a")
    subprocess.run([sys.executable, str(SCRIPT), str(tmp_path / "b")], check=True, cwd=tmp_path)
    assert tree(tmp_path / "a") == tree(tmp_path / "b") == tree(SAMPLE)
    assert generator.differences(SAMPLE) == []


def test_a_difference_is_named(generator: ModuleType, tmp_path: Path) -> None:
    generator.write(tmp_path)
    (tmp_path / "oncall.md").write_text("x")
    (tmp_path / "README.md").unlink()
    (tmp_path / "more.md").write_text("x")
    assert generator.differences(tmp_path) == ["README.md", "more.md", "oncall.md"]


def test_six_documents_show_every_key_and_one_is_plain() -> None:
    documents = {path: split(text.decode()).metadata for path, text in tree(SAMPLE).items()}
    assert len(documents) == 6
    said = [(key, value) for metadata in documents.values() for key, value in metadata.items() if key != "title"]
    assert sorted(said, key=str) == [("lifecycle", "superseded"), ("rag", False), ("rag_chunk", "headings")]
    assert any(not metadata for metadata in documents.values())


def test_the_demonstration_is_of_this_corpus_and_the_wheel_brings_it() -> None:
    assert tree(sample()) == tree(SAMPLE)
    assert (SAMPLE / EDITED).read_text().count(EDIT[0]) == 1
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    assert build["wheel"]["force-include"] == {"sample-corpus": "rag_mcp/sample"}
    assert {"sample-corpus", "tools", "*.py"} <= set(build["sdist"]["include"])
