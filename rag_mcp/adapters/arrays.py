"""NumPy, before anything that loads parts of it."""


def import_numpy() -> None:
    """Load NumPy by its name, before a library's native code asks for a part of it.

    Two threads that come to it from its two ends at once get a module that is half made.
    """
    import numpy  # noqa: F401
