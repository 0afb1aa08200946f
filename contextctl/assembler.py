"""The engine: one assembly of a prompt from a plan and messages, within the model's own budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from contextctl.budget import Limits, Rooms, limits_for
from contextctl.carried import NOTHING_YET, Carried
from contextctl.compaction import compact
from contextctl.messages import Message
from contextctl.outcome import AssembledContext, CompactionOutcome
from contextctl.plan import ContextPlan
from contextctl.ports import MemoryStore, ModelProvider, Strategy, Summariser
from contextctl.preparation import Prepared
from contextctl.prompt import fingerprint, put_together
from contextctl.remembering import remember
from contextctl.routing import route
from contextctl.ruler import Ruler
from contextctl.sections import Charges, Section, lock, trim
from contextctl.strategies import build_strategy

MAX_PASSES = 3
"""How often M is lowered where sums fit and the whole does not (rule 2.7)."""


STARTS_ON_USER = frozenset({"anthropic", "bedrock", "gemini"})
"""Profiles whose first message must be the user's."""


class ContextAssembler:
    """Assembles prompts from one plan for one provider.

    ``strategies`` are the caller's own, by name; they come before built-in ones of the same name. A section
    that names a strategy which neither has is refused here, with a ``ValueError``. ``summariser`` makes the
    summaries of strategies that declare ``summarise``. Each summary that a prompt holds newly is written to
    ``memory`` under ``scope``, unless it is only planned; a memory without a scope is a ``ValueError``.
    ``profile`` names the provider's rules, where the provider itself does not: for Anthropic and Gemini what
    is left of a section starts with the user's.
    """

    def __init__(
        self,
        plan: ContextPlan,
        *,
        provider: ModelProvider,
        strategies: Mapping[str, Strategy] | None = None,
        summariser: Summariser | None = None,
        memory: MemoryStore | None = None,
        scope: str | None = None,
        profile: str | None = None,
    ) -> None:
        if memory is not None and not scope:
            raise ValueError("a memory needs a scope, so that what is kept can be told apart")
        self.plan = plan
        self.provider = provider
        self._summariser, self._memory, self._scope = summariser, memory, scope or ""
        self._profile = profile or getattr(provider, "profile", None)
        self._strategies = [build_strategy(section.compaction, strategies) for section in plan.sections]

    def limits(self) -> Limits:
        """Window, cap and plan as they are now; raises as :func:`~contextctl.budget.limits_for` does."""
        return limits_for(
            self.plan,
            window=self.provider.context_window_tokens,
            max_input=getattr(self.provider, "max_input_tokens", None),
        )

    def prepare(
        self,
        messages: Sequence[Message] | Mapping[str, Sequence[Message]],
        *,
        transcript_id: str | None = None,
        carried: Carried = NOTHING_YET,
    ) -> Prepared:
        """Route, group and measure, compacting nothing.

        ``carried`` is what earlier calls left of these messages. A mapping gives each section its messages; a
        name that the plan does not declare is a ``ValueError``. Raises
        :class:`~contextctl.errors.CapabilityError` where there is no window and no budget.
        """
        history = self._flat(messages)
        limits = self.limits()
        ruler = Ruler(self.provider)
        routed = route(self.plan, history, transcript_id)
        live = carried.live(routed.entries)
        charges = Charges(ruler, routed.entries)
        before = charges.whole(live)
        sections = tuple(
            lock(
                section,
                strategy,
                [entry for entry in live if entry.section == section.name],
                start_on=section.start_on or ("first" if self._profile in STARTS_ON_USER else "any"),
            )
            for section, strategy in zip(self.plan.sections, self._strategies, strict=True)
        )
        if carried.trimmed:
            sections = tuple(
                replace(section, trimmed=tuple(i for i in section.originals if i in carried.trimmed))
                for section in sections
            )
        return Prepared(
            limits=limits,
            routed=routed,
            charges=charges,
            ruler=ruler,
            overhead=ruler.overhead,
            before=before,
            joint_tokens=before.tokens - ruler.overhead.tokens - charges.tokens(live),
            history_fingerprint=fingerprint(history),
            sections=sections,
            pinned_tokens=tuple(
                charges.upper(entry for entry in section.originals.values() if entry.pinned)
                for section in sections
            ),
            carried=carried,
            transcript_id=transcript_id,
        )

    async def assemble(
        self,
        messages: Sequence[Message] | Mapping[str, Sequence[Message]],
        *,
        transcript_id: str | None = None,
    ) -> AssembledContext:
        """The prompt within its budget, and what was done to make it fit.

        The caller's messages are never modified. Raises :class:`~contextctl.errors.ContextBudgetError`
        where no prompt within the budget can be made, and what :meth:`prepare` raises.
        """
        return await self.complete(self.prepare(messages, transcript_id=transcript_id))

    async def complete(self, prepared: Prepared) -> AssembledContext:
        """Compact what was prepared; raises as :meth:`assemble` does, and what the memory raises as
        :class:`~contextctl.errors.MemoryStoreError`."""
        result = await self._within_budget(prepared)
        if self._memory is not None:
            await remember(self._memory, self._scope, prepared, result)
        return result

    async def _within_budget(self, prepared: Prepared) -> AssembledContext:
        prepared.require_room()
        if prepared.limits.soft_tokens is not None and not prepared.soft:
            untouched = [CompactionOutcome(s.entries, trimmed=s.trimmed) for s in prepared.sections]
            return put_together(prepared, prepared.sections, untouched, prepared.rooms())
        sections = tuple(trim(section, prepared.charges, prepared.ruler) for section in prepared.sections)
        lowered = 0
        for _ in range(MAX_PASSES + 1):
            rooms, outcomes = await self._pass(prepared, sections, lowered)
            result = put_together(prepared, sections, outcomes, rooms)
            excess = result.tokens_upper - prepared.limits.budget_tokens
            if excess <= 0:
                return result
            if prepared.soft:
                break
            lowered += excess
        raise prepared.situation().error(
            f"the prompt needs {result.tokens_upper:,} tokens; the budget is "
            f"{prepared.limits.budget_tokens:,}, and nothing more may be lost",
            missing=excess,
            rule=prepared.situation().overflow_rule or "CTX101",
            hint="raise budget_tokens, pin or lock less, or choose a model with a larger window",
        )

    async def _pass(
        self, prepared: Prepared, sections: Sequence[Section], lowered: int
    ) -> tuple[Rooms, list[CompactionOutcome]]:
        needs = None
        if self.plan.unused == "lend":
            needs = [prepared.charges.upper(section.entries) for section in sections]
        rooms = prepared.rooms(lowered, needs)
        situation = prepared.situation()
        outcomes = [
            await compact(
                section,
                room,
                prepared.charges,
                situation,
                soft=prepared.soft,
                summariser=self._summariser,
            )
            for section, room in zip(sections, rooms.room_tokens, strict=True)
        ]
        return rooms, outcomes

    def _flat(self, messages: Sequence[Message] | Mapping[str, Sequence[Message]]) -> list[Message]:
        if not isinstance(messages, Mapping):
            return list(messages)
        names = [section.name for section in self.plan.sections]
        for name in messages:
            if name not in names:
                raise ValueError(f"the plan declares no section {name!r}; it has: {', '.join(names)}")
        return [
            message.model_copy(update={"section": name})
            for name in names
            for message in messages.get(name, ())
        ]
