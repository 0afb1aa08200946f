"""Where the material lies that the project is judged by."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder that ``CONTEXTCTL_SHARED`` names, else ``../shared`` beside the checkout.

    A clone does not have it, so its absence skips; the gate, which must not pass without it, fails where
    ``CONTEXTCTL_REQUIRE_SHARED`` is set.
    """
    named = os.environ.get("CONTEXTCTL_SHARED")
    folder = Path(named) if named else Path(__file__).resolve().parents[2].parent / "shared"
    if not folder.is_dir():
        absent = "the shared folder is absent; name it by CONTEXTCTL_SHARED"
        if os.environ.get("CONTEXTCTL_REQUIRE_SHARED"):
            pytest.fail(absent)
        pytest.skip(absent)
    return folder
