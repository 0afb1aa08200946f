"""Claude's prompts: one text, what wraps it, and the package that rebuilt the vocabulary."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any

import pytest

from contextctl.messages import (
    ImagePart,
    Message,
    RequestSettings,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolResultPart,
)
from contextctl.ports import Exactness
from contextctl.providers.claude_text import definition_line, invocation, results_block, tool_choice_of
from contextctl.providers.offline import OfflineProvider, offline_provider
from contextctl.providers.pictures import patches, size_of
from contextctl.tokenizers.claude import CTOK_VERSION, adapter_problem, ctok_installed

ESTIMATE = "claude-v3-estimate"
WITH_CTOK = pytest.mark.skipif(
    not ctok_installed(), reason="needs ctok: contextctl[claude] on Python 3.12 or newer"
)


def claude(model: str = "claude-haiku-4-5", **settings: Any) -> OfflineProvider:
    return offline_provider(model, tokenizer=ESTIMATE, settings=RequestSettings(**settings))


def call(name: str, arguments: object, number: int = 1) -> ToolCallPart:
    return ToolCallPart(id=f"call-{number}", name=name, arguments=json.dumps(arguments))


def result(text: str, number: int = 1) -> ToolResultPart:
    return ToolResultPart(call_id=f"call-{number}", content=(TextPart(text=text),))


@WITH_CTOK
def test_the_private_functions_of_ctok_are_there_and_count_as_they_did() -> None:
    assert adapter_problem() is None


def test_the_extra_pins_the_version_of_ctok_that_the_adapter_was_written_for() -> None:
    project = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    assert f'claude = ["ctok=={CTOK_VERSION};' in project


def test_without_ctok_a_count_is_an_estimate_with_a_margin() -> None:
    measure = claude().measure_prompt([Message(role="user", content="Where is the old harbour?")])
    assert measure.exactness is Exactness.ESTIMATE
    assert measure.upper_tokens > measure.tokens


@WITH_CTOK
@pytest.mark.parametrize(("model", "tokens"), [("claude-haiku-4-5", 8), ("claude-opus-4-7", 13)])
def test_a_plain_message_is_billed_its_text_and_the_frame(model: str, tokens: int) -> None:
    said = offline_provider(model).measure_prompt([Message(role="user", content="hi")])
    assert said.exactness is Exactness.RECONSTRUCTED
    assert said.tokens == tokens


@WITH_CTOK
def test_newlines_at_the_end_of_a_message_merge_into_the_blank_line_after_it() -> None:
    count = offline_provider("claude-haiku-4-5").count_tokens
    plain = [Message(role="user", content="hi"), Message(role="assistant", content="yes")]
    ended = [plain[0].model_copy(update={"content": (TextPart(text="hi\n\n"),)}), plain[1]]
    assert count(ended) == count(plain)


def test_neighbouring_messages_of_the_assistant_are_one_block_of_calls() -> None:
    apart = [
        Message(role="user", content="Both, please."),
        Message(role="assistant", content=(call("look", {"at": "sea"}, 1),)),
        Message(role="assistant", content=(call("look", {"at": "sky"}, 2),)),
        Message(role="user", content=(result("blue", 1), result("grey", 2))),
    ]
    both = (call("look", {"at": "sea"}, 1), call("look", {"at": "sky"}, 2))
    together = [apart[0], Message(role="assistant", content=both), apart[3]]
    assert claude().count_tokens(apart) == claude().count_tokens(together)


def test_thoughts_count_only_while_their_tool_loop_runs() -> None:
    thought = ThinkingPart(text="The harbour is east of the tower, so the map is wrong.", signature="s")
    loop = [
        Message(role="user", content="Where?"),
        Message(role="assistant", content=(thought, call("look", {"at": "map"}))),
        Message(role="user", content=(result("east"),)),
    ]
    bare = [loop[0], loop[1].model_copy(update={"content": loop[1].content[1:]}), loop[2]]
    later = [Message(role="assistant", content="East."), Message(role="user", content="Thanks.")]
    assert claude().count_tokens(loop) > claude().count_tokens(bare) + 8
    assert claude().count_tokens([*loop, *later]) == claude().count_tokens([*bare, *later])


def test_a_block_for_the_bill_is_no_part_of_the_system_prompt() -> None:
    said = Message(role="user", content="Hello")
    bill, text = TextPart(text="x-anthropic-billing-header: cc=1"), TextPart(text="Be kind.")
    billed, bare = Message(role="system", content=(bill, text)), Message(role="system", content=(text,))
    assert claude().count_tokens([billed, said]) == claude().count_tokens([bare, said])


def test_definitions_sort_their_keys_and_leave_out_an_empty_description() -> None:
    tool = {"name": "look", "description": "", "input_schema": {"type": "object", "properties": {}}}
    assert definition_line(tool, escaped=True) == (
        '<function>{"name": "look", "parameters": {"properties": {}, "type": "object"}}</function>'
    )


def test_a_definition_in_the_shape_of_chat_counts_like_anthropics_own() -> None:
    schema = {"type": "object", "properties": {"at": {"type": "string"}}}
    own = {"name": "look", "description": "Look at it.", "input_schema": schema}
    inner = {"name": "look", "description": "Look at it.", "parameters": schema}
    chat = {"type": "function", "function": inner}
    assert claude(tools=(own,)).overhead_tokens == claude(tools=(chat,)).overhead_tokens


def test_a_deferred_tool_costs_its_definition_only_where_a_result_names_it() -> None:
    tool = {"name": "sail", "description": "Sail away " * 20, "defer_loading": True, "input_schema": {}}
    plain = {"name": "find", "description": "Find a tool.", "input_schema": {}}
    with_it, without = claude(tools=(plain, tool)), claude(tools=(plain,))
    assert with_it.overhead_tokens == without.overhead_tokens


@pytest.mark.parametrize(
    ("choice", "kind"),
    [
        (None, "auto"),
        ("required", "any"),
        ({"type": "any"}, "any"),
        ({"type": "tool", "name": "look"}, "tool"),
        ({"type": "function", "function": {"name": "look"}}, "tool"),
    ],
)
def test_a_tool_choice_is_read_in_both_shapes(choice: object, kind: str) -> None:
    assert tool_choice_of(choice)[0] == kind


def test_a_call_is_a_line_a_parameter_and_results_are_a_list_where_there_are_several() -> None:
    assert len(invocation(call("look", {"at": "sea", "times": 2})).splitlines()) == 4
    assert results_block([("look", "blue")]) == "<function_results>blue</function_results>"
    several = results_block([("look", "blue"), ("look", "grey")])
    assert several.count("<name>look</name>") == 2


def data_url(data: bytes) -> str:
    return "data:image/x;base64," + base64.b64encode(data).decode()


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">II", 640, 480) + b"\0" * 9,
        b"GIF89a" + struct.pack("<HH", 640, 480) + b"\0" * 9,
        b"\xff\xd8\xff\xe0\0\x04\0\0\xff\xc0\0\x11\x08" + struct.pack(">HH", 480, 640) + b"\0" * 9,
        b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + (639).to_bytes(3, "little") + (479).to_bytes(3, "little"),
    ],
    ids=["png", "gif", "jpeg", "webp"],
)
def test_the_size_of_a_picture_is_read_from_its_header(data: bytes) -> None:
    assert size_of(ImagePart(url=data_url(data + b"\0" * 9))) == (640, 480)


@pytest.mark.parametrize(
    "url", [None, "https://example.org/a.png", "data:image/png;base64,%%%", data_url(b"RIFF")]
)
def test_a_picture_that_tells_no_size_has_none(url: str | None) -> None:
    assert size_of(ImagePart(url=url)) is None


def test_a_large_picture_is_shrunk_to_the_largest_grid_of_its_shape() -> None:
    assert patches(28, 28, 1568) == 1
    assert patches(1800, 1200, 1568) == 48 * 32
    assert patches(1, 100_000, 1568) <= 1568
