"""Which rows a search sees."""

from attrs import frozen


@frozen
class View:
    """Those of a class (None: any) that repeat none, or those that were so on a date.

    `retired`: those of superseded documents, too.
    """

    doc_class: str | None = None
    as_of: str | None = None
    retired: bool = False


EVERYTHING = View(retired=True)
