"""``contextctl presets``: the plans that are shipped."""

from __future__ import annotations

from importlib import resources
from typing import Annotated

import typer

from contextctl.cli import options
from contextctl.cli.streams import write_out
from contextctl.errors import UsageError


def presets_command(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Print this one as YAML.")] = None,
    debug: options.Debug = False,
) -> int:
    """List the shipped plans, or print one to start your own from."""
    from contextctl.loading.plan_file import preset_names

    if name is None:
        write_out("".join(f"preset:{known}\n" for known in preset_names()))
        return 0
    wanted = name.removeprefix("preset:")
    if wanted not in preset_names():
        raise UsageError(f"there is no preset {wanted!r}", hint=f"presets: {', '.join(preset_names())}")
    write_out((resources.files("contextctl") / "presets" / f"{wanted}.yaml").read_text(encoding="utf-8"))
    return 0
