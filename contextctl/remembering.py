"""Writing back what an assembly summarised."""

from __future__ import annotations

from contextctl.errors import MemoryStoreError
from contextctl.memory import records_of
from contextctl.outcome import AssembledContext
from contextctl.ports import MemoryStore
from contextctl.preparation import Prepared


async def remember(memory: MemoryStore, scope: str, prepared: Prepared, assembled: AssembledContext) -> None:
    """Log each summary that the assembly made.

    Raises :class:`~contextctl.errors.MemoryStoreError` where the memory fails, whatever it raised itself.
    """
    known = {e.id: e for e in (*prepared.routed.entries, *prepared.carried.stand_ins)}
    live = {i for section in prepared.sections for i in section.originals}
    new = {note.id: note for note in assembled.notes}
    tokens = {i: prepared.charges.measure(entry).tokens for i, entry in (known | new).items()}
    for record in records_of(assembled, known, live, tokens, prepared.transcript_id):
        try:
            await memory.log(scope, record)
        except MemoryStoreError:
            raise
        except Exception as error:
            raise MemoryStoreError(f"the memory failed: {type(error).__name__}") from error
