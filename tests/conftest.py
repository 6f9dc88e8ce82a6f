"""Hypothesis profiles: "default" for every run, "long" with RAG_MCP_LONG=1, the same examples each time with CI=1."""

import os

from hypothesis import HealthCheck, settings

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
settings.load_profile("long" if os.environ.get("RAG_MCP_LONG") else "default")
