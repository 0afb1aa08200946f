"""``contextctl models``: the models that are known, with their windows and tokenizers."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from contextctl.cli import options
from contextctl.cli.streams import write_out
from contextctl.errors import UsageError


def models_command(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Only what this name finds.")] = None,
    format: Annotated[
        str, typer.Option("-f", "--format", metavar="text|json", help="Output format.")
    ] = "text",
    debug: options.Debug = False,
) -> int:
    """List the known models: window, input cap, output cap, tokenizer, source.

    Exit codes: 0, and 3 for a name that is not known.
    """
    from contextctl.providers.registry import find_model, registry

    if format not in ("text", "json"):
        raise UsageError(f"--format {format}: one of text, json")
    records = list(registry().models.values()) if name is None else [find_model(name)]
    if format == "json":
        rows = [
            {
                "id": record.id,
                "aliases": list(record.aliases),
                "provider": record.provider,
                "context_window": record.context_window,
                "max_input_tokens": record.max_input_tokens,
                "max_output_tokens": record.max_output_tokens,
                "tokenizer": record.tokenizer,
                "framing": record.framing,
                "retires": record.retires,
                "moving": record.moving,
                "source": record.source,
            }
            for record in records
        ]
        lines = ",\n".join("  " + json.dumps(row) for row in rows)
        head = f'{{"schema_version": 1, "verified": "{registry().verified}", "models": [\n'
        write_out(f"{head}{lines}\n]}}\n")
        return 0
    width = max(len(record.id) for record in records)
    write_out(f"{'model':<{width}}  {'window':>10}  {'input cap':>10}  {'output cap':>10}  tokenizer\n")
    for record in records:
        numbers = [record.context_window, record.max_input_tokens, record.max_output_tokens]
        shown = "  ".join(f"{'-' if number is None else f'{number:,}':>10}" for number in numbers)
        retired = f"  (retires {record.retires})" if record.retires else ""
        write_out(f"{record.id:<{width}}  {shown}  {record.tokenizer}{retired}\n")
    return 0
