"""Asynchronous functions for callers that are not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
Result = TypeVar("Result")


def synchronous(function: Callable[P, Coroutine[Any, Any, Result]]) -> Callable[P, Result]:
    """The same for callers that are not asynchronous; works inside a running event loop too."""

    @wraps(function)
    def run(*args: P.args, **keywords: P.kwargs) -> Result:
        with ThreadPoolExecutor(max_workers=1) as thread:
            return thread.submit(asyncio.run, function(*args, **keywords)).result()

    return run
