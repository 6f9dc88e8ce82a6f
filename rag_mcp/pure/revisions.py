"""The stamp of a corpus: the commit that its folder was at when it was looked at, so that an index can name it."""

from attrs import frozen

from rag_mcp.pure.shown import Shown


@frozen(repr=False)
class Revision(Shown):
    """`commit`, abbreviated, and whether documents differ from it; both None where there is none, and `label` says why.

    The default is a corpus that nobody keeps versions of.
    """

    commit: str | None = None
    uncommitted_changes: bool | None = None
    label: str = "not under version control"


def at_commit(commit: str, *, changed: bool) -> Revision:
    """A corpus at a commit; `changed`: some of its documents are not as they are there."""
    return Revision(commit, changed, f"commit {commit}" + (", with uncommitted changes" if changed else ""))


def unborn() -> Revision:
    """A corpus in a repository that has no commit yet."""
    return Revision(None, True, "under version control, without a commit yet")


def untold(why: str) -> Revision:
    """A corpus in a repository of which nothing could be learned; `why` is a clause."""
    return Revision(label=f"under version control, but at which commit could not be told ({why})")
