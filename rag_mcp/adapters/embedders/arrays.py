"""NumPy, before anything that loads parts of it."""


def import_numpy() -> None:
    """Load NumPy by its name, all of it, before a thread is begun in which a library may ask for a part of it.

    Who asks for `numpy.typing` holds that part while waiting for the whole; who makes the whole waits for the part.
    Python breaks such a knot by handing out a module that is half made.
    """
    import numpy  # noqa: F401
