"""The model registry: right rows, fixed rules for names, nothing fuzzy, overrides of a plan."""

from __future__ import annotations

import re

import pytest

from contextctl.errors import CapabilityError
from contextctl.plan import ModelOverride
from contextctl.providers.offline import offline_provider
from contextctl.providers.registry import find_model, registry
from contextctl.tokenizers import TOKENIZERS


def test_every_row_is_whole_and_dated() -> None:
    known = registry()
    assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", known.verified)
    assert len(known.models) > 80
    names = [name for record in known.models.values() for name in (record.id, *record.aliases)]
    assert len(names) == len(set(names))
    for record in known.models.values():
        assert record.tokenizer in TOKENIZERS
        assert record.framing in known.framings
        assert record.source
        window = record.context_window
        assert window is None or window > 0
        assert record.max_input_tokens is None or (window is not None and record.max_input_tokens < window)
        assert record.retires is None or re.fullmatch(r"\d{4}-\d{2}-\d{2}", record.retires)


@pytest.mark.parametrize(
    ("name", "window", "cap", "output"),
    [
        ("gpt-4o", 128_000, None, 16_384),
        ("gpt-5", 400_000, 272_000, 128_000),
        ("gpt-5.4", 1_050_000, 922_000, 128_000),
        ("gpt-4.1", 1_047_576, None, 32_768),
        ("gpt-4", 8_192, None, 8_192),
        ("gpt-3.5-turbo-0301", 4_096, None, 4_096),
        ("gpt-3.5-turbo-0125", 16_385, None, 4_096),
        ("gpt-4o-2024-05-13", 128_000, None, 4_096),
        ("gpt-4-0125-preview", 128_000, None, 4_096),
        ("gpt-4-32k", 32_768, None, 32_768),
        ("gpt-5-chat", 128_000, None, 16_384),
        ("gpt-5-mini", 400_000, 272_000, 128_000),
        ("claude-sonnet-4-5", 200_000, None, 64_000),
        ("gemini-2.5-pro", 1_048_576, None, 65_536),
        ("qwen3-coder-plus", 1_000_000, 997_952, 65_536),
        ("llama-4-scout", None, None, None),
    ],
)
def test_window_input_cap_and_output_cap_are_three_numbers(
    name: str, window: int | None, cap: int | None, output: int | None
) -> None:
    record = find_model(name)
    assert (record.context_window, record.max_input_tokens, record.max_output_tokens) == (window, cap, output)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4-0613", "gpt-4"),
        ("gpt-4-turbo-2024-04-09", "gpt-4-turbo"),
        ("openai/gpt-4o", "gpt-4o"),
        ("azure/gpt-4o", "gpt-4o"),
        ("models/gemini-2.5-flash", "gemini-2.5-flash"),
        ("gpt-35-turbo", "gpt-3.5-turbo"),
        ("ft:gpt-4o-mini-2024-07-18:org::id", "gpt-4o-mini"),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("openrouter/anthropic/claude-opus-4.6", "claude-opus-4-6"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("anthropic.claude-3-haiku-20240307-v1:0", "claude-3-haiku"),
        ("us-gov.anthropic.claude-3-5-sonnet-20241022-v2:0", "claude-3-5-sonnet"),
        ("claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet"),
        ("publishers/google/models/gemini-2.5-pro", "gemini-2.5-pro"),
    ],
)
def test_a_name_is_found_by_prefix_date_and_vendors_spelling(name: str, found: str) -> None:
    assert find_model(name).id == found


@pytest.mark.parametrize(
    "name",
    [
        "gpt-4-20991231",
        "gpt-4.1-nano-2099",
        "o4-mini-2099",
        "gpt-4o-2099",
        "gpt-4-turbo-2099",
        "gpt-4.5",
        "codex-mini-latest",
        "GPT-4o",
        "gpt-4o ",
        "gpt-4o-2024-13-40",
        "gpt-4-0905-preview",
        "gpt-4o-latest",
        "gpt",
        "",
    ],
)
def test_a_name_that_no_rule_finds_is_refused_with_three_near_ones(name: str) -> None:
    with pytest.raises(CapabilityError) as caught:
        find_model(name)
    assert caught.value.rule == "CTX401"
    nearest = re.match(r"nearest: ([^,]+), ([^,]+), ([^,;]+)", caught.value.hint or "")
    assert nearest
    assert all(near in registry().models for near in nearest.groups())


def test_the_members_of_a_family_have_their_own_encodings() -> None:
    used = {name: find_model(name).tokenizer for name in ("gpt-4", "gpt-4o", "gpt-4.1", "gpt-4-turbo", "o3")}
    assert used == {
        "gpt-4": "cl100k_base",
        "gpt-4o": "o200k_base",
        "gpt-4.1": "o200k_base",
        "gpt-4-turbo": "cl100k_base",
        "o3": "o200k_base",
    }


def test_a_retired_and_a_moving_model_warn_by_the_registrys_own_date() -> None:
    assert [code for code, _ in offline_provider("o1").facts.warnings] == ["CTX404"]
    assert [code for code, _ in offline_provider("deepseek-chat").facts.warnings] == ["CTX405"]
    assert [code for code, _ in offline_provider("gpt-5-chat-latest").facts.warnings] == ["CTX405"]
    assert offline_provider("gpt-5-chat").facts.warnings == ()
    assert offline_provider("gpt-4o").facts.warnings == ()


def test_an_unknown_name_of_any_length_is_repeated_in_part() -> None:
    with pytest.raises(CapabilityError) as caught:
        find_model("x" * 100_000)
    assert len(str(caught.value)) + len(caught.value.hint or "") < 1_000


def test_a_plans_model_takes_everything_from_another_and_changes_what_it_says() -> None:
    overrides = {
        "prod-chat": ModelOverride(same_as="gpt-4o"),
        "prod-small": ModelOverride(same_as="prod-chat", context_window=32_000),
        "house": ModelOverride(context_window=9_000, tokenizer="cl100k_base"),
        "gpt-5": ModelOverride(context_window=100_000),
    }
    assert find_model("prod-chat", overrides).context_window == 128_000
    small = find_model("prod-small", overrides)
    assert (small.context_window, small.tokenizer, small.framing) == (32_000, "o200k_base", "openai-chat")
    house = find_model("house", overrides)
    assert (house.context_window, house.tokenizer) == (9_000, "cl100k_base")
    changed = find_model("gpt-5", overrides)
    assert (changed.context_window, changed.max_input_tokens, changed.max_output_tokens) == (
        100_000,
        None,
        128_000,
    )


def test_same_as_in_a_circle_is_refused() -> None:
    overrides = {"a": ModelOverride(same_as="b"), "b": ModelOverride(same_as="a")}
    with pytest.raises(CapabilityError, match="circle"):
        find_model("a", overrides)


def test_a_window_from_the_command_line_comes_before_the_registrys_window_and_cap() -> None:
    provider = offline_provider("gpt-5", window_tokens=50_000)
    assert (provider.context_window_tokens, provider.max_input_tokens) == (50_000, None)


def test_an_input_cap_below_a_window_from_elsewhere_stays_in_force() -> None:
    overrides = {"wide": ModelOverride(same_as="gpt-5", context_window=500_000)}
    for provider in (
        offline_provider("gpt-5", window_tokens=500_000),
        offline_provider("wide", overrides=overrides),
    ):
        assert (provider.context_window_tokens, provider.max_input_tokens) == (500_000, 272_000)
