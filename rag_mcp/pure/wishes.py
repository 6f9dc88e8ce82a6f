"""What a user chose for a store, and what a later run makes of it: what is said now, else what was chosen before.

    run        = wishes over the store's own choices over the defaults
    1000 characters of `max_chars` are the 224 tokens of the default budget; an overlap is counted by the same measure

So a run that says nothing (a watcher, a timer, a second terminal) never undoes what another was told.
"""

from attrs import evolve, frozen
from returns.result import Failure, Result, Success

from rag_mcp.pure.config_error import ConfigError
from rag_mcp.pure.identity import Choices, Chunking
from rag_mcp.pure.paths import inside
from rag_mcp.pure.shown import Shown

CHARACTERS, TOKENS = 1000, 224
"""As many characters of English prose are taken for so many tokens."""


@frozen(repr=False)
class Wishes(Shown):
    """What is asked for now; None leaves it as the store has it."""

    chunking: Chunking | None = None
    mirror_dir: str | None = None
    mirror_basenames: tuple[str, ...] | None = None

    def over(self, own: Choices) -> Choices:
        """The choices of a run on a store that has `own`."""
        labelling = own.labelling
        if self.mirror_dir is not None:
            labelling = evolve(labelling, mirror_dir=folder(self.mirror_dir))
        if self.mirror_basenames is not None:
            labelling = evolve(labelling, mirror_basenames=self.mirror_basenames)
        return Choices(self.chunking or own.chunking, labelling)


def wishes(
    mirror_dir: str | None, mirror_basenames: tuple[str, ...] | None, chunking: Chunking | None = None
) -> Result[Wishes, ConfigError]:
    """The wishes, or which of them means nothing."""
    if mirror_dir is not None and (name := folder(mirror_dir)) and not inside(name):
        return Failure(ConfigError(f"the mirror folder {mirror_dir!r} must be a folder of the corpus, as context/ is"))
    for name in mirror_basenames or ():
        if not name or "/" in name or "\\" in name:
            return Failure(ConfigError(f"{name!r} is not the name of a file (names of hand-over notes)"))
    return Success(Wishes(chunking, mirror_dir, mirror_basenames))


def folder(mirror_dir: str) -> str:
    """A mirror folder as it is kept: with one slash at its end; "" is the corpus itself."""
    name = mirror_dir.replace("\\", "/").rstrip("/")
    while name.startswith("./"):
        name = name[2:].lstrip("/")
    return f"{name}/" if name not in ("", ".") else ""


def in_characters(max_chars: int, overlap: int = 0) -> Result[Chunking, ConfigError]:
    """A chunking that is given in characters; the embedder's window bounds it all the same."""
    if max_chars < 1 or not 0 <= overlap < max_chars:
        return Failure(ConfigError(f"max_chars {max_chars}, overlap {overlap}: use 0 <= overlap < max_chars"))
    return Success(Chunking(budget=max(1, _tokens(max_chars)), overlap=_tokens(overlap)))


def _tokens(characters: int) -> int:
    return round(characters * TOKENS / CHARACTERS)
