"""Settings for all tests: in CI the generated examples are the same at every run, elsewhere they are new."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("default-without-deadline", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "default-without-deadline")
