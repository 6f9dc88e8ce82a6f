"""Memory that goes back to the system when it is freed, so that a process stays as small as its store.

glibc gives each thread a heap of its own and keeps what is freed there. A new generation is read, or written, by new
threads, which find none of it: a server would grow to twice its size over some dozen generations, and a first build
of many steps by half. So large blocks are mapped by
themselves, and unmapped when they are freed (glibc does so above a size that it raises as it goes, unless one is
set), and small ones come from few heaps.
"""

import ctypes

MAPPED = 1 << 17
"""Bytes; the size at which glibc begins."""
HEAPS = 2
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8


def give_back() -> None:
    """Set both. Does nothing where the C library is another."""
    try:
        library = ctypes.CDLL(None)
        library.mallopt(_M_MMAP_THRESHOLD, MAPPED)
        library.mallopt(_M_ARENA_MAX, HEAPS)
    except (AttributeError, OSError, TypeError):  # no such function, no such library, no library without a name
        return
