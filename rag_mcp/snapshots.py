"""The rule of dated snapshots, under its promised name; it stands in `rag_mcp.pure.snapshots`."""

from rag_mcp.pure.dates import dated, is_listed
from rag_mcp.pure.manifest import Rule
from rag_mcp.pure.snapshots import LEAST, collapsed, hidden_on, relation, series_of

__all__ = ["LEAST", "Rule", "collapsed", "dated", "hidden_on", "is_listed", "relation", "series_of"]
