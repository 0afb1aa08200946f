"""``contextctl convert``: a recording in another shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from contextctl.cli import options
from contextctl.cli.streams import write_file, write_note, write_out
from contextctl.errors import UsageError

if TYPE_CHECKING:
    from contextctl.recording import Transcript


def convert_command(
    transcript: Annotated[str, typer.Argument(metavar="TRANSCRIPT", help="A recording, or - for stdin.")],
    shape: Annotated[
        str, typer.Option("--as", metavar="SHAPE", help="contextctl, openai or anthropic.")
    ] = "contextctl",
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="PATH", help="A file instead of stdout.")
    ] = None,
    blank: Annotated[
        bool, typer.Option("--blank", help="Filler of the same token count in place of every text.")
    ] = False,
    plan: Annotated[
        str | None,
        typer.Option("--plan", metavar="PLAN", help="With --blank: keep what its matchers look for."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", help="With --blank: whose tokens; else the recording's."),
    ] = None,
    transcript_format: options.TranscriptFormat = None,
    debug: options.Debug = False,
) -> int:
    """Print a recording in another shape; what that shape cannot carry is told on stderr.

    Our own shape (contextctl) loses nothing that counts and fates depend on. Message text is printed, by
    nature, unless it is blanked. Exit codes: 0 done, 2 usage, 3 the recording cannot be read.
    """
    import sys

    from contextctl.converting import SHAPES, Losses, converted
    from contextctl.loading.transcript_files import load_transcripts
    from contextctl.transcripts import read_transcripts

    if shape not in SHAPES:
        raise UsageError(f"--as {shape}: one of {', '.join(SHAPES)}")
    if not blank and (plan is not None or model is not None):
        raise UsageError("--plan and --model say how to blank", hint="give --blank too, or leave them out")
    if transcript == "-":
        found = read_transcripts(sys.stdin.buffer.read(), "-", transcript_format)
    else:
        found = load_transcripts(transcript, format=transcript_format)
    for item in (item for one in found for item in one.findings if item.is_input_error):
        write_note(f"{item.location}: error {item.code}: {item.message}")
    if blank:
        found = _blanked(found, plan, model)
    losses = Losses()
    text = "".join(f"{line}\n" for line in converted(found, shape, losses))
    for told in losses.told():
        write_note(f"note: not carried over: {told}")
    if output is None:
        write_out(text)
    else:
        write_file(output, text)
    return 3 if any(item.is_input_error for one in found for item in one.findings) else 0


def _blanked(
    transcripts: Sequence[Transcript], plan_name: str | None, model: str | None
) -> tuple[Transcript, ...]:
    """The same with filler for text; how many messages kept theirs is told on stderr."""
    from contextctl.blanking import blanked
    from contextctl.cli.engine import DEFAULT_MODEL
    from contextctl.loading.plan_file import load_plan
    from contextctl.providers.offline import offline_provider

    plan = None if plan_name is None else load_plan(plan_name)
    done = []
    kept = messages = inexact = 0
    for transcript in transcripts:
        name = model or (plan.model if plan else None) or transcript.model or DEFAULT_MODEL
        provider = offline_provider(name, overrides=plan.models if plan else None)
        result = blanked(transcript, provider, plan)
        done.append(result.transcript)
        kept += result.kept
        inexact += result.inexact
        messages += len(transcript.messages)
    write_note(f"blanked: {messages:,} messages, of which {kept:,} keep their text")
    if inexact:
        write_note(f"note: {inexact:,} entries could not be given filler of exactly the same count")
    return tuple(done)
