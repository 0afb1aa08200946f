"""What a request is charged beside its texts: the rules for chat, by hand-made requests."""

from __future__ import annotations

import base64
import json
import struct

import pytest

from contextctl.messages import (
    AudioPart,
    ImagePart,
    Message,
    OpaquePart,
    RefusalPart,
    RequestSettings,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from contextctl.ports import Exactness, Measure
from contextctl.providers.offline import offline_provider
from contextctl.providers.openai_tools import rendered_tools
from contextctl.tokenizers import tokenizer

GPT_4O = offline_provider("gpt-4o")
GPT_5 = offline_provider("gpt-5")


def t(text: str) -> int:
    return tokenizer("o200k_base").measure(text).tokens


def call(*names: str, arguments: str = '{"q": 1}', text: str = "") -> Message:
    parts = [ToolCallPart(id=f"c{n}", name=name, arguments=arguments) for n, name in enumerate(names)]
    return Message(role="assistant", content=(*([TextPart(text=text)] if text else []), *parts))


def result(number: int, text: str) -> Message:
    part = ToolResultPart(call_id=f"c{number}", content=(TextPart(text=text),))
    return Message(role="tool", content=(part,))


def test_a_request_is_3_and_a_message_4_and_its_text() -> None:
    messages = [Message(role="system", content="Be brief."), Message(role="user", content="Hello there")]
    assert GPT_4O.count_tokens(messages) == 3 + 8 + t("Be brief.") + t("Hello there")
    assert GPT_4O.count_tokens(()) == GPT_4O.overhead_tokens == 3


def test_a_reasoning_model_has_its_own_constants() -> None:
    messages = [Message(role="user", content="Hello"), Message(role="assistant", content="Hi")]
    assert GPT_5.count_tokens(messages) == 2 + 4 + 4 + 2 + t("Hello") + t("Hi")


def test_text_parts_are_joined_without_a_separator_and_counted_once() -> None:
    parts = (TextPart(text="foo"), TextPart(text="bar"))
    assert GPT_4O.count_tokens([Message(role="user", content=parts)]) == 3 + 4 + t("foobar")


def test_a_name_costs_1_and_itself_and_less_where_it_is_the_role() -> None:
    named = Message(role="user", name="anna", content="x")
    assert GPT_4O.count_tokens([named]) == 3 + 4 + t("x") + 1 + t("anna")
    same = Message(role="user", name="user", content="x")
    assert GPT_4O.count_tokens([same]) == 3 + 4 + t("x") + t("user")


@pytest.mark.parametrize(("provider", "constant"), [(GPT_4O, 13), (GPT_5, 19)])
def test_one_call_and_its_result_are_charged_together(provider: object, constant: int) -> None:
    messages = [call("find_it"), result(0, "found")]
    wanted = constant + t(".find_it") + t("find_it") + t('{"q":1}') + t("found")
    assert provider.measure_entry(messages).tokens == wanted  # type: ignore[attr-defined]


def test_arguments_that_are_not_json_are_counted_as_they_are() -> None:
    messages = [call("f", arguments="{broken "), result(0, "")]
    assert GPT_4O.measure_entry(messages).tokens == 13 + t(".f") + t("f") + t("{broken ")


def test_text_beside_a_call_costs_4_more() -> None:
    alone = GPT_4O.measure_entry([call("f"), result(0, "x")]).tokens
    beside = GPT_4O.measure_entry([call("f", text="Let me see."), result(0, "x")]).tokens
    assert beside == alone + 4 + t("Let me see.")


def test_parallel_calls_are_one_call_with_one_list_of_results() -> None:
    messages = [call("a", "b"), result(1, "two"), result(0, '{"x":1}')]
    uses = (
        '{"tool_uses":[{"recipient_name":"functions.a","parameters":{"q":1}},'
        '{"recipient_name":"functions.b","parameters":{"q":1}}]}'
    )
    assert GPT_4O.measure_entry(messages).tokens == 20 + t(uses) + t('[{"x": 1}, "two"]')


def test_the_older_call_weighs_the_same() -> None:
    old = Message(role="assistant", content=(ToolCallPart(name="f", arguments='{"q": 1}', legacy=True),))
    answer = Message(role="function", content=(ToolResultPart(name="f", content=(TextPart(text="found"),)),))
    new = [call("f"), result(0, "found")]
    assert GPT_4O.measure_entry([old, answer]).tokens == GPT_4O.measure_entry(new).tokens


def test_a_pending_call_and_an_orphan_result_are_estimates_that_weigh_their_text() -> None:
    pending = GPT_4O.measure_entry([call("f", arguments="word " * 50)])
    orphan = GPT_4O.measure_entry([result(0, "word " * 50)])
    assert pending.exactness is orphan.exactness is Exactness.ESTIMATE
    assert pending.tokens > 50
    assert orphan.tokens > 50


@pytest.mark.parametrize("content", [(), (TextPart(text=""),)])
def test_empty_content_costs_its_frame_only(content: tuple[TextPart, ...]) -> None:
    assert GPT_4O.count_tokens([Message(role="assistant", content=content)]) == 3 + 4


def test_a_refusal_is_counted() -> None:
    refused = Message(role="assistant", content=(RefusalPart(text="I cannot."),))
    assert GPT_4O.count_tokens([refused]) == 3 + 4 + t("I cannot.")


def test_an_image_is_an_estimate_above_0_and_its_base64_is_never_counted_as_text() -> None:
    url = "data:image/png;base64," + "A" * 100_000
    measures = [
        GPT_4O.measure_entry([Message(role="user", content=(ImagePart(url=url, detail=detail),))])
        for detail in (None, "low", "high")
    ]
    assert [measure.tokens for measure in measures] == [4 + 85 + 8 * 170, 4 + 85, 4 + 85 + 8 * 170]
    assert all(measure.exactness is Exactness.ESTIMATE for measure in measures)


@pytest.mark.parametrize(
    ("model", "most"),
    [
        ("gpt-4.1-mini", 2_489),
        ("gpt-4.1-nano", 3_779),
        ("gpt-5", 1_190),
        ("gpt-5-mini", 1_847),
        ("o4-mini", 2_642),
    ],
)
def test_an_image_of_unknown_size_is_the_largest_of_its_models_own_rule(model: str, most: int) -> None:
    image = ImagePart(url="https://example.invalid/a.png")
    assert offline_provider(model).measure_entry([Message(role="user", content=(image,))]).tokens == 4 + most


def test_the_oldest_snapshot_charges_5_a_message_and_takes_1_off_for_a_name() -> None:
    message = Message(role="user", name="anna", content="Hello")
    count = tokenizer("cl100k_base").measure
    wanted = 3 + 5 + count("Hello").tokens + count("anna").tokens - 1
    assert offline_provider("gpt-3.5-turbo-0301").count_tokens([message]) == wanted


def test_an_image_in_a_tool_result_costs_what_it_costs_elsewhere() -> None:
    answer = ToolResultPart(call_id="c0", content=(ImagePart(url="https://example.invalid/a.png"),))
    messages = [call("f"), Message(role="tool", content=(answer,))]
    plain = GPT_4O.measure_entry([call("f"), result(0, "")]).tokens
    assert GPT_4O.measure_entry(messages).tokens == plain + 85 + 8 * 170


@pytest.mark.parametrize(
    "part", [AudioPart(data="x" * 900), OpaquePart(kind="server_tool_use", data='{"a": "b c d"}')]
)
def test_a_part_of_another_kind_is_an_estimate_above_0(part: AudioPart | OpaquePart) -> None:
    measure = GPT_4O.measure_entry([Message(role="user", content=(part,))])
    assert measure.tokens > 4
    assert measure.exactness is Exactness.ESTIMATE
    assert measure.reasons


FIND = {
    "type": "function",
    "function": {
        "name": "find",
        "description": "Find a thing.\n\n  By its name. ",
        "parameters": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "title": "Name", "description": "What it is called"},
                "most": {"type": "integer", "default": 3},
                "kinds": {"type": "array", "items": {"enum": ["a", "b"]}},
                "near": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            },
            "required": ["name"],
        },
    },
}
RENDERED = """\
namespace functions {

// Find a thing.
//
// By its name.
type find = (_: {
// Name
//
// What it is called
name: string,
most?: number, // default: 3
kinds?: "a" | "b"[],
near?:
 | string
 | null,
}) => any;

} // namespace functions"""


def test_tools_are_rendered_as_a_namespace_of_typescript_functions() -> None:
    assert rendered_tools([FIND]) == RENDERED


def test_a_function_without_descriptions_is_on_one_line_and_one_without_parameters_has_none() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": ["string", "null"]}}}
    plain = {"name": "add", "parameters": schema}
    assert "type add = (_: { a?: number, b?: string | null }) => any;" in rendered_tools([plain])
    assert "type now = () => any;" in rendered_tools([{"type": "function", "function": {"name": "now"}}])


def test_references_are_resolved_and_one_that_refers_to_itself_ends() -> None:
    schema = {
        "type": "object",
        "properties": {"at": {"$ref": "#/$defs/Place"}},
        "$defs": {
            "Place": {
                "type": "object",
                "description": "Where",
                "properties": {"in": {"$ref": "#/$defs/Place"}},
            }
        },
    }
    assert "// Where\nat?: {" in rendered_tools([{"name": "go", "parameters": schema}])


def test_tools_are_exact_and_merge_with_the_end_of_the_system_prompt() -> None:
    provider = GPT_4O.with_settings(RequestSettings(tools=(FIND,)))
    head = "# Tools\n\n## functions\n\n" + RENDERED
    assert provider.measure_overhead() == Measure.exact(3 + t(head) + 3)
    assert not provider.additive
    for said in ("Be kind.", "Be kind. ", "Be kind\n"):
        system = Message(role="system", content=said)
        prompt = provider.count_tokens([system])
        assert prompt == 3 + 4 + t(said + "\n\n" + head) - 1
    assert GPT_4O.additive


def test_a_named_tool_choice_and_none_cost_what_they_cost() -> None:
    def overhead(choice: object) -> int:
        settings = RequestSettings(tools=(FIND,), tool_choice=choice)
        return GPT_4O.with_settings(settings).measure_overhead().tokens

    named = {"type": "function", "function": {"name": "find"}}
    assert overhead("auto") == overhead("required") == overhead(None)
    assert overhead("none") == overhead("auto") + 1
    assert overhead(named) == overhead("auto") + 7 + t("find")


def test_a_response_format_costs_its_schema_its_name_and_more_for_each_plain_answer() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "minLength": 3}}, "required": ["a"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": schema}}
    provider = GPT_4O.with_settings(RequestSettings(response_format=wanted))
    text = '# Response Formats\n\n## reply\n\n{"type":"object","properties":{"a":{"type":"string"}}}'
    assert provider.measure_overhead() == Measure.exact(3 + t(text) + 4 + 2 + t("reply"))
    answer = Message(role="assistant", content="yes")
    assert provider.measure_entry([answer]).tokens == 4 + t("yes") + 2 + t("reply")


def test_a_hosted_tool_makes_the_count_an_estimate_that_says_so() -> None:
    provider = GPT_4O.with_settings(RequestSettings(tools=({"type": "web_search"},)))
    (reason,) = provider.measure_overhead().reasons
    assert "hosted tools" in reason


def test_the_responses_interface_counts_each_call_and_takes_arguments_as_they_are() -> None:
    provider = GPT_4O.with_settings(RequestSettings(api="responses"))
    arguments = '{"a": 1}'
    part = ToolCallPart(id="c", name="find", arguments=arguments)
    answer = Message(role="tool", content=(ToolResultPart(call_id="c", content=(TextPart(text="ok"),)),))
    texts = t(".find") + t("find") + t(arguments) + t("ok")
    sent = [Message(role="assistant", content=(part,)), answer]
    assert provider.measure_entry(sent) == Measure.exact(11 + texts)
    stored = part.model_copy(update={"stored": True})
    sent = [Message(role="assistant", content=(stored,)), answer]
    assert provider.measure_entry(sent) == Measure.exact(11 + 3 + texts)


@pytest.mark.parametrize(
    ("width", "height", "found"),
    [(1, 1, 1), (640, 480, 2), (1024, 1024, 4), (3008, 2000, 6), (2048, 256, 4), (100, 4000, 4)],
)
def test_a_picture_of_known_size_is_cut_into_tiles(width: int, height: int, found: int) -> None:
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height)
    url = "data:image/png;base64," + base64.b64encode(head).decode()
    message = Message(role="user", content=(ImagePart(url=url),))
    assert GPT_4O.measure_entry([message]) == Measure.exact(4 + 85 + 170 * found)


def test_a_prompt_is_its_overhead_and_its_entries() -> None:
    messages = [Message(role="user", content="Hi"), call("a", "b"), result(0, "1"), result(1, "2")]
    entries = GPT_4O.measure_entry(messages[:1]) + GPT_4O.measure_entry(messages[1:])
    assert GPT_4O.count_tokens(messages) == 3 + entries.tokens
    assert GPT_4O.additive


def test_an_estimated_model_adds_its_margin_to_every_figure() -> None:
    provider = offline_provider("claude-sonnet-4-6")
    measure = provider.measure_prompt([Message(role="user", content="Where is the harbour? " * 20)])
    assert measure.exactness is Exactness.ESTIMATE
    assert measure.upper_tokens > measure.tokens * 1.2


def test_ids_and_storage_fields_cost_nothing() -> None:
    bare = Message(role="user", content="Hi")
    stored = bare.model_copy(update={"id": json.dumps("x" * 500), "response_id": "r" * 500})
    assert GPT_4O.count_tokens([bare]) == GPT_4O.count_tokens([stored])
