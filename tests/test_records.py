"""Bytes -> records: where records end, and what is said of those that cannot be read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextctl.findings import Severity
from contextctl.transcripts.records import MAX_DEPTH, MAX_DIGITS, Records, split_records

SECRET = "marigold"


def read(data: bytes | str) -> Records:
    return split_records(data.encode() if isinstance(data, str) else data, "chat.jsonl")


def values(records: Records) -> list[object]:
    return [record.value for record in records.records]


def lines(records: Records) -> list[int]:
    return [record.line for record in records.records]


def told(records: Records) -> list[tuple[str, int | None]]:
    return [(item.code, item.location.line) for item in records.findings]


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1e"])
def test_only_a_line_feed_ends_a_record(separator: str) -> None:
    text = json.dumps({"text": "a"}) + "\n" + f'{{"text": "b{separator}c"}}\n'
    if separator >= " ":
        assert values(read(text)) == [{"text": "a"}, {"text": f"b{separator}c"}]
    else:
        assert told(read(text)) == [("CTX010", 2)], "a raw control character is no JSON, and no line end"


def test_byte_order_marks_and_carriage_returns_are_dropped() -> None:
    records = read(b'\xef\xbb\xbf{"a": 1}\r\n\xef\xbb\xbf{"a": 2}\r\n')
    assert values(records) == [{"a": 1}, {"a": 2}]
    assert not records.findings


def test_blank_lines_are_skipped_and_still_counted() -> None:
    records = read('\n{"a": 1}\n\n \t\r\n{"a": 2}\n\n')
    assert lines(records) == [2, 5]
    assert not records.findings
    assert records.skipped == 0


@pytest.mark.parametrize("between", ["", " ", "\t"])
def test_records_glued_on_one_line_are_all_read_with_a_warning(between: str) -> None:
    records = read('{"a": 1}\n{"a": 2}' + between + '{"a": 3}\n{"a": 4}')
    assert values(records) == [{"a": 1}, {"a": 2}, {"a": 3}, {"a": 4}]
    assert [(record.line, record.index) for record in records.records] == [
        (1, None),
        (2, 1),
        (2, 2),
        (3, None),
    ]
    assert told(records) == [("CTX018", 2)]
    assert records.findings[0].severity is Severity.WARNING
    assert records.skipped == 0


def test_what_follows_a_whole_record_on_its_line_is_reported_and_the_record_read() -> None:
    records = read('{"a": 1} trailing\n{"a": 2}\n')
    assert values(records) == [{"a": 1}, {"a": 2}]
    assert told(records) == [("CTX010", 1)]
    assert records.skipped == 1


@pytest.mark.parametrize("tail", [b"", b"\n", b"\n\n", b"\r\n \n"])
@pytest.mark.parametrize(
    "torn",
    [
        b'{"text": "caf\xc3',
        b'{"text": "a',
        b'{"text": "a}',
        b'{"text": "\\u12',
        b'{"text": tru',
        b'{"text": {"a": 1}',
        b'{"text"',
        b'{"text": 1,',
        b"{",
        b'[{"a": 1}',
    ],
)
def test_a_torn_last_record_is_said_to_be_torn_and_the_others_are_read(torn: bytes, tail: bytes) -> None:
    records = read(b'{"a": 1}\n{"a": 2}\n' + torn + tail)
    assert values(records) == [{"a": 1}, {"a": 2}]
    assert told(records) == [("CTX016", 3)]
    assert records.skipped == 1


def test_a_torn_record_before_the_last_is_a_syntax_error_of_its_line() -> None:
    assert told(read('{"a": 1}\n{"a": \n{"a": 3}\n')) == [("CTX010", 2)]


@pytest.mark.parametrize("position", [0, 1, 2])
def test_bytes_that_are_not_utf8_cost_their_record_only(position: int) -> None:
    rows = [b'{"a": 1}', b'{"a": 2}', b'{"a": 3}']
    rows[position] = b'{"a": "caf\xe9 ' + SECRET.encode() + b'"}'
    records = read(b"\n".join(rows))
    assert len(records.records) == 2
    assert told(records) == [("CTX017", position + 1)]
    assert records.skipped == 1
    assert "0xe9" in records.findings[0].message


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_numbers_that_json_does_not_have_are_read_with_a_warning(number: str) -> None:
    records = read(f'{{"a": 1}}\n{{"a": {number}}}\n')
    assert len(records.records) == 2
    assert told(records) == [("CTX025", 2)]
    assert records.findings[0].severity is Severity.WARNING


def test_of_a_repeated_key_the_last_wins_and_it_is_said() -> None:
    records = read('{"role": "user", "content": 1, "content": 2}\n')
    assert values(records) == [{"role": "user", "content": 2}]
    assert told(records) == [("CTX026", 1)]
    assert "'content'" in records.findings[0].message


def test_a_repeated_key_that_could_be_something_said_is_not_quoted() -> None:
    records = read(f'{{"a": {{"{SECRET}": 1, "{SECRET}": 2}}}}\n')
    assert told(records) == [("CTX026", 1)]
    assert SECRET not in str(records.findings)


@pytest.mark.parametrize("sign", ["", "-"])
def test_a_huge_number_costs_its_record_only(sign: str) -> None:
    records = read(f'{{"a": 1}}\n{{"a": {sign}{"7" * (MAX_DIGITS + 1)}}}\n{{"a": 3}}\n')
    assert values(records) == [{"a": 1}, {"a": 3}]
    assert told(records) == [("CTX010", 2)]
    assert "digits" in records.findings[0].message


@pytest.mark.parametrize("depth", [MAX_DEPTH + 2, 3_000, 200_000])
def test_deep_nesting_costs_its_record_only(depth: int) -> None:
    records = read('{"a": 1}\n' + "[" * depth + "]" * depth + '\n{"a": 3}\n')
    assert values(records) == [{"a": 1}, {"a": 3}]
    assert told(records) == [("CTX010", 2)]
    assert "nested" in records.findings[0].message


def test_many_brackets_side_by_side_are_not_deep() -> None:
    assert not read(json.dumps([[] for _ in range(5 * MAX_DEPTH)])).findings


@pytest.mark.parametrize("indent", [1, 2, "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_one_value_over_several_lines_is_one_record(indent: int | str, end: str) -> None:
    value = {"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": []}]}
    for document in (value, [value, value], value["messages"]):
        text = "\n" + json.dumps(document, indent=indent).replace("\n", end) + end
        records = read(text)
        assert values(records) == [document]
        assert lines(records) == [2]
        assert not records.findings


def test_documents_one_after_another_are_read_with_the_lines_on_which_they_start() -> None:
    text = json.dumps({"a": [1]}, indent=2) + "\n" + json.dumps({"a": [2]}, indent=2) + "\n"
    records = read(text)
    assert values(records) == [{"a": [1]}, {"a": [2]}]
    assert lines(records) == [1, 6]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('[\n{"a": 1},\n{"a": 2},\n]\n', 3, 9),
        ('[\n{"a": 1}\n,\n\n]\n', 3, 1),
        ('{\n  "a": 1,\n  "b": 2,\n}\n', 3, 9),
        ('{"a": 1}\n{"a": [1, 2, ]}\n', 2, 12),
        ('{"a": 1}\n{"a": 1 , }\n', 2, 9),
    ],
)
def test_a_stray_comma_is_refused_at_its_own_place(text: str, line: int, column: int) -> None:
    (wrong,) = read(text).findings
    assert (wrong.code, wrong.location.line, wrong.location.column) == ("CTX010", line, column)
    assert "comma" in wrong.message


def test_a_cut_document_is_torn() -> None:
    whole = json.dumps([{"role": "user", "content": SECRET}] * 3, indent=1)
    for end in range(2, len(whole) - 1):
        records = read(whole[:end])
        assert records.skipped == 1
        assert [item.code for item in records.findings] == ["CTX016"]


def test_a_broken_first_line_does_not_make_the_file_a_document() -> None:
    records = read('{"a": 1,\n{"a": 2}\n{"a": 3}\n')
    assert values(records) == [{"a": 2}, {"a": 3}]
    assert told(records) == [("CTX010", 1)]


def test_a_first_line_that_is_whole_but_too_deep_costs_its_record_only() -> None:
    records = read("[" * 500 + "]" * 500 + '\n{"a": 2}\n')
    assert values(records) == [{"a": 2}]
    assert told(records) == [("CTX010", 1)]


def test_many_records_glued_on_one_line_are_all_read() -> None:
    records = read('{"a": [[]]}' * 20_000)
    assert len(records.records) == 20_000
    assert told(records) == [("CTX018", 1)]


def test_broken_bytes_in_a_document_are_placed_on_their_line() -> None:
    assert told(read(b'{\n"a": 1,\n"b": "\xe9"\n}\n')) == [("CTX017", 3)]


@pytest.mark.parametrize(
    "line",
    [
        f'{{"{SECRET}" "{SECRET}"}}',
        f'{{"a": "\\{SECRET}"}}',
        SECRET,
        f'{{"a": {SECRET}}}',
        f'{{"a": "\t{SECRET}"}}',
    ],
)
def test_no_finding_quotes_a_line(line: str) -> None:
    records = read('{"a": 1}\n' + line + '\n{"a": 2}\n')
    assert told(records) == [("CTX010", 2)]
    assert SECRET not in str(records.findings)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(st.text(), json_values, max_size=3), min_size=1, max_size=5), st.booleans())
def test_what_is_written_as_lines_is_read_as_it_was(rows: list[dict[str, object]], ascii_only: bool) -> None:
    """Every JSON object, one a line, comes back with its line, whatever characters it holds."""
    data = "\n".join(json.dumps(row, ensure_ascii=ascii_only) for row in rows).encode(
        "utf-8", "surrogatepass"
    )
    records = split_records(data, "x")
    if not records.findings:
        assert values(records) == rows
        assert lines(records) == list(range(1, len(rows) + 1))
    else:
        assert {item.code for item in records.findings} <= {"CTX017", "CTX016"}


@given(
    st.binary(max_size=200)
    | st.lists(st.sampled_from(list('{}[],:"\\ \n\r1ea')), max_size=60).map("".join).map(str.encode)
)
def test_any_bytes_are_read_without_an_exception(data: bytes) -> None:
    """Every record that is skipped has an error with a line, and every error is a record skipped."""
    records = split_records(data, "x")
    errors = [item for item in records.findings if item.severity is Severity.ERROR]
    assert len(errors) == records.skipped
    assert all((item.location.line or 0) >= 1 for item in records.findings)
