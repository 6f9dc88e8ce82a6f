"""Hypothesis profiles.

default   every run                     CI=1: the same examples each time
long      RAG_MCP_LONG=1                twenty times as many
hunt      RAG_MCP_PROFILE=hunt          for planted faults: the first failure is enough, and is not made small
"""

import os

from hypothesis import HealthCheck, Phase, settings

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
    database=None,
)
settings.load_profile(os.environ.get("RAG_MCP_PROFILE") or ("long" if os.environ.get("RAG_MCP_LONG") else "default"))
