"""The expected failure that settings alone may have; `errors` has it with all others."""

from typing import ClassVar

from attrs import frozen

from rag_mcp.pure.shown import Shown


@frozen(repr=False)
class ConfigError(Shown):
    """A setting that is missing or means nothing."""

    type: ClassVar[str] = "config_error"
    message: str
