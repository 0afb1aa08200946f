"""``contextctl schema``: JSON Schemas for editors and for readers of reports."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from contextctl.cli import options
from contextctl.cli.streams import write_out
from contextctl.errors import UsageError

NAMES = ("plan", "report")
"""What there is a schema of."""


def schema_command(
    name: Annotated[str, typer.Argument(metavar="|".join(NAMES), help="What to print the schema of.")],
    debug: options.Debug = False,
) -> int:
    """Print a JSON Schema; editors check and complete plans with that of `plan`."""
    if name not in NAMES:
        raise UsageError(f"there is no schema of {name!r}", hint=f"one of: {', '.join(NAMES)}")
    if name == "plan":
        from contextctl.loading.plan_schema import plan_schema

        schema = plan_schema()
    else:
        from contextctl.reports.schema import report_schema

        schema = report_schema()
    write_out(json.dumps(schema, indent=2, ensure_ascii=False) + "\n")
    return 0
