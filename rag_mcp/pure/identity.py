"""What an index was made by, as a value; and the table from "what changed" to "what is redone".

    embedder          every content key is embedded anew, and a new index is built beside the old one
    reader, chunker   files are cut again; equal keys keep their vectors
    metadata          rows are rewritten; nothing is embedded
    snapshot dedupe   what repeats what in dated series is told anew; no row is written, nothing is embedded

Each stored file carries the digests of its own recipe and labels, so a run that was killed half-way
through such a change leaves files that say for themselves what is still to do.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property

from attrs import asdict, field, frozen

from rag_mcp.pure.shown import Shown

READER_VERSION = 2
CHUNKER_VERSION = 3
CURRENT_METADATA_VERSION = 2


def digest_of(*parts: object) -> str:
    """32 hex digits that stand for the JSON form of `parts`."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@frozen(repr=False)
class EmbedderIdentity(Shown):
    """Everything that makes two vectors comparable. Hashes are SHA-256 in hex, "" where there is no file."""

    name: str
    weights: str
    tokenizer: str
    dim: int
    pooling: str
    query_prefix: str
    document_prefix: str
    max_tokens: int

    @cached_property
    def fingerprint(self) -> str:
        """32 hex digits; equal exactly when all fields are."""
        return digest_of(asdict(self))


@frozen(repr=False)
class Chunking(Shown):
    """Parameters of the chunker. `budget` is in tokens of the embedder, None means its whole window.

    docs/quality.md says why the default budget is less than the window. Cuts of a long section are at least `floor`
    budgets apart, save where a stretch is halved. Neighbouring sections of less than `merge_below` tokens each are
    packed together, 0: none are. A passage that begins where running text was cut repeats up to `overlap` tokens of
    what stands before it, at most a quarter of the window.
    """

    budget: int | None = 224
    floor: float = 0.4
    merge_below: int = 0
    overlap: int = 0


@frozen(repr=False)
class Labelling(Shown):
    """Settings of document metadata: where hand-over notes are mirrored, and their names."""

    mirror_dir: str = "context/"
    mirror_basenames: tuple[str, ...] = ("handoff.md", "active.md", "resume.md")


@frozen(repr=False)
class Choices(Shown):
    """What a user may choose for a store besides its embedder; it is kept there, and holds until another is chosen."""

    chunking: Chunking = Chunking()
    labelling: Labelling = Labelling()


@frozen(repr=False)
class RunIdentity(Shown):
    """What a run would make; compared with what the record says was made."""

    embedder: EmbedderIdentity
    chunking: Chunking = Chunking()
    labelling: Labelling = Labelling()
    dedupe_snapshots: bool = True
    reader_version: int = READER_VERSION
    chunker_version: int = CHUNKER_VERSION
    metadata_version: int = CURRENT_METADATA_VERSION

    @property
    def choices(self) -> Choices:
        """What was chosen of it."""
        return Choices(self.chunking, self.labelling)

    @cached_property
    def recipe(self) -> str:
        """Digest of all that decides how a file is cut, the embedder's tokenizer and window included."""
        cut_by = (self.embedder.tokenizer, self.embedder.max_tokens, self.embedder.document_prefix)
        return digest_of(self.reader_version, self.chunker_version, asdict(self.chunking), cut_by)

    @cached_property
    def labels(self) -> str:
        """Digest of all that decides a row's metadata."""
        return digest_of(self.metadata_version, asdict(self.labelling))


@frozen(repr=False)
class Setup(Shown):
    """All that an answer depends on besides the question: two stores of equal setups give equal answers.

    `embedder` and `fingerprint` say by what the store was made, `recipes` how its files were cut, `corpus` is a digest
    of their paths and bytes; `passages` counts. `search` holds the settings of the search that were not left alone.
    """

    embedder: str
    fingerprint: str
    recipes: tuple[str, ...]
    corpus: str
    passages: int
    search: Mapping[str, str] = field(factory=dict)
