"""Which rows a search sees."""

from attrs import frozen

from rag_mcp.pure.shown import Shown


@frozen(repr=False)
class View(Shown):
    """Those of a class (None: any) that repeat none, or those that were so on a date.

    `retired`: those of superseded documents, too.
    """

    doc_class: str | None = None
    as_of: str | None = None
    retired: bool = False


EVERYTHING = View(retired=True)
