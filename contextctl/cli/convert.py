"""``contextctl convert``: a recording in another shape."""

from __future__ import annotations

from typing import Annotated

import typer

from contextctl.cli import options
from contextctl.cli.streams import write_file, write_note, write_out
from contextctl.errors import UsageError


def convert_command(
    transcript: Annotated[str, typer.Argument(metavar="TRANSCRIPT", help="A recording, or - for stdin.")],
    shape: Annotated[
        str, typer.Option("--as", metavar="SHAPE", help="contextctl, openai or anthropic.")
    ] = "contextctl",
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="PATH", help="A file instead of stdout.")
    ] = None,
    transcript_format: options.TranscriptFormat = None,
    debug: options.Debug = False,
) -> int:
    """Print a recording in another shape; what that shape cannot carry is told on stderr.

    Our own shape (contextctl) loses nothing that counts and fates depend on. Message text is printed, by
    nature. Exit codes: 0 done, 2 usage, 3 the recording cannot be read.
    """
    import sys

    from contextctl.converting import SHAPES, Losses, converted
    from contextctl.loading.transcript_files import load_transcripts
    from contextctl.transcripts import read_transcripts

    if shape not in SHAPES:
        raise UsageError(f"--as {shape}: one of {', '.join(SHAPES)}")
    if transcript == "-":
        found = read_transcripts(sys.stdin.buffer.read(), "-", transcript_format)
    else:
        found = load_transcripts(transcript, format=transcript_format)
    for item in (item for one in found for item in one.findings if item.is_input_error):
        write_note(f"{item.location}: error {item.code}: {item.message}")
    losses = Losses()
    text = "".join(f"{line}\n" for line in converted(found, shape, losses))
    for told in losses.told():
        write_note(f"note: not carried over: {told}")
    if output is None:
        write_out(text)
    else:
        write_file(output, text)
    return 3 if any(item.is_input_error for one in found for item in one.findings) else 0
