"""The application: ``main(argv) -> exit code``, and the only place where every error is caught."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from contextctl import __version__
from contextctl.cli.audit import audit_command
from contextctl.cli.check import check_command
from contextctl.cli.convert import convert_command
from contextctl.cli.exits import INTERNAL, INTERRUPTED, PIPE, USAGE, code_of, told, told_of_bug
from contextctl.cli.formats import formats_command
from contextctl.cli.models import models_command
from contextctl.cli.presets import presets_command
from contextctl.cli.schema import schema_command
from contextctl.cli.streams import ReaderGoneError, silence_stdout, write_note, write_out
from contextctl.cli.trace import trace_command
from contextctl.errors import ContextctlError

app = typer.Typer(
    name="contextctl",
    help="Audit what a context plan keeps, evicts and overflows in recorded LLM conversations, offline.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        write_out(f"contextctl {__version__}\n")
        raise typer.Exit


@app.callback()
def _global(
    version: bool = typer.Option(
        False, "-V", "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
    ),
) -> None:
    pass


app.command("audit")(audit_command)
app.command("check")(check_command)
app.command("convert")(convert_command)
app.command("formats")(formats_command)
app.command("models")(models_command)
app.command("presets")(presets_command)
app.command("schema")(schema_command)
app.command("trace")(trace_command)


def main(argv: Sequence[str]) -> int:
    """Run one command line; returns its exit code and never raises.

    Errors are told on stderr without any message text; see :mod:`contextctl.cli.exits` for the codes.
    """
    try:
        return _run(list(argv))
    except ReaderGoneError:
        silence_stdout()
        return PIPE
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(argv: list[str]) -> int:
    try:
        result = app(argv, prog_name="contextctl", standalone_mode=False)
        return int(result or 0)
    except ContextctlError as error:
        write_note(told(error))
        return code_of(error)
    except typer.Exit as error:
        return error.exit_code
    except typer.Abort:
        return INTERRUPTED
    except ReaderGoneError:
        raise
    except Exception as error:  # noqa: BLE001  # the single boundary: whatever else is raised is a bug
        if hasattr(error, "exit_code") and hasattr(error, "format_message"):
            return _usage_error(error)
        write_note(told_of_bug(error, debug="--debug" in argv))
        return INTERNAL


def _usage_error(error: Exception) -> int:
    """What the command-line library found wrong with the arguments; its own help where there were none."""
    context = getattr(error, "ctx", None)
    message = str(error.format_message())  # type: ignore[attr-defined]  # tested by the caller
    if type(error).__name__ == "NoArgsIsHelpError":
        write_note(message)
        return USAGE
    command = context.command_path if context is not None else "contextctl"
    write_note(f"error: {message}\n  fix: see {command} --help")
    return USAGE
