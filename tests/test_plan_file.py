"""Plans as files: what is refused, where, and with which way out."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from contextctl.errors import PlanError
from contextctl.loading.plan_file import load_plan, preset_names
from contextctl.plan import ContextPlan

GOOD = """\
name: trip
model: gpt-4o
sections:
  - name: system
    share: 0.10
    pinned: on
  - name: recent
    share: 0.9
    match: rest
    compaction: {strategy: drop-oldest, keep_recent: 2}
"""


def load(tmp_path: Path, text: str | bytes) -> ContextPlan:
    path = tmp_path / "plan.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_plan(path)


def refused(tmp_path: Path, text: str | bytes) -> list[tuple[int | None, int | None, str, str]]:
    """(line, column, code, message) of every problem."""
    with pytest.raises(PlanError) as caught:
        load(tmp_path, text)
    return [(p.location.line, p.location.column, p.code, p.message) for p in caught.value.problems]


def test_a_good_plan_is_taken_with_shares_as_written(tmp_path: Path) -> None:
    plan = load(tmp_path, GOOD)
    assert [str(section.share) for section in plan.sections] == ["0.10", "0.9"]
    assert plan.sections[0].pinned is True
    assert plan.source.place("sections", 1, "share").line == 8


def test_a_byte_order_mark_and_crlf_change_nothing(tmp_path: Path) -> None:
    plan = load(tmp_path, GOOD)
    assert load(tmp_path, b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode()).digest == plan.digest


def test_comments_and_spelling_do_not_change_the_digest_and_a_share_does(tmp_path: Path) -> None:
    plan = load(tmp_path, GOOD)
    assert load(tmp_path, "# a comment\n" + GOOD).digest == plan.digest
    assert load(tmp_path, GOOD.replace("0.9", "0.8")).digest != plan.digest


@pytest.mark.parametrize("text", ["", "   \n", "# only a comment\n", "---\n", "null\n"])
def test_an_empty_plan_is_refused_as_empty(tmp_path: Path, text: str) -> None:
    ((line, _, code, message),) = refused(tmp_path, text)
    assert (line, code, message) == (1, "CTX005", "the plan is empty")


@pytest.mark.parametrize("text", ["- a\n", "just text\n", "12\n"])
def test_a_plan_that_is_no_mapping_is_refused_as_such(tmp_path: Path, text: str) -> None:
    ((_, _, code, message),) = refused(tmp_path, text)
    assert (code, message) == ("CTX005", "a plan must be a mapping of keys")


def test_several_documents_are_refused_at_the_second(tmp_path: Path) -> None:
    ((line, _, code, _),) = refused(tmp_path, GOOD + "---\nname: x\n")
    assert (line, code) == (12, "CTX001")


def test_broken_yaml_is_refused_where_it_breaks(tmp_path: Path) -> None:
    ((line, _, code, _),) = refused(tmp_path, "sections:\n  - {name: a, share: 0.5\n")
    assert (line, code) == (3, "CTX001")


def test_bytes_that_are_not_utf8_are_refused_with_their_line(tmp_path: Path) -> None:
    ((line, _, code, _),) = refused(tmp_path, b"name: a\nmodel: caf\xe9\n")
    assert (line, code) == (2, "CTX017")


def test_every_problem_of_a_file_is_reported_at_once_in_file_order(tmp_path: Path) -> None:
    text = """\
modle: gpt-4o
budget_tokens: 8e3
sections:
  - {name: a, share: 0.6, compaction: drop-oldst}
  - {name: a, share: 12:30}
  - {name: c, share: 0.45, name: d}
"""
    found = [(line, column, code) for line, column, code, _ in refused(tmp_path, text)]
    assert found == [
        (1, 1, "CTX003"),
        (2, 16, "CTX004"),
        (4, 39, "CTX007"),
        (5, 12, "CTX005"),
        (5, 22, "CTX004"),
        (6, 22, "CTX006"),
        (6, 28, "CTX002"),
    ]


@pytest.mark.parametrize(
    ("written", "instead"),
    [("8e3", "8000"), ("128,000", "128000"), ("128_000", "128000"), ("010", None), ("12:30", None)],
)
def test_a_number_that_yaml_versions_read_differently_is_refused_with_what_to_write(
    tmp_path: Path, written: str, instead: str | None
) -> None:
    with pytest.raises(PlanError) as caught:
        load(tmp_path, f"budget_tokens: {written}\n{GOOD}")
    (problem,) = caught.value.problems
    assert (problem.code, written in problem.message) == ("CTX004", True)
    assert problem.hint == (f"write {instead}" if instead else "write a plain decimal number")


@pytest.mark.parametrize("share", [".nan", ".inf", "-.inf", "-0.1", "1.1", "true", '"0.3"', "1e-320", "30%"])
def test_a_share_that_is_no_decimal_from_0_to_1_is_refused_at_its_place(tmp_path: Path, share: str) -> None:
    found = refused(tmp_path, f"sections:\n  - name: a\n    share: {share}\n")
    assert {(line, column) for line, column, *_ in found} == {(3, 12)}


def test_a_share_of_minus_zero_is_zero(tmp_path: Path) -> None:
    assert load(tmp_path, "sections: [{name: a, share: -0.0}]").sections[0].share == Decimal(0)


@pytest.mark.parametrize("name", ["no", "off", "2024-01-01", "12", "1.5", "null", "true"])
def test_a_section_name_that_yaml_reads_as_something_else_is_refused(tmp_path: Path, name: str) -> None:
    ((line, column, code, _),) = refused(tmp_path, f"sections:\n  - {{name: {name}, share: 0.3}}\n")
    assert (line, column) == (2, 12)
    assert code in {"CTX004", "CTX005"}


def test_a_quoted_word_is_text(tmp_path: Path) -> None:
    assert load(tmp_path, 'sections: [{name: "no", share: 0.3}]').sections[0].name == "no"


@pytest.mark.parametrize("key", ["on", "1", "null"])
def test_a_key_that_yaml_reads_as_something_else_is_named_as_written(tmp_path: Path, key: str) -> None:
    ((line, column, code, message),) = refused(tmp_path, f"{key}: x\n{GOOD}")
    assert (line, column, code, message) == (1, 1, "CTX003", f"unknown key {key!r}")


def test_shares_that_add_up_to_exactly_one_are_taken(tmp_path: Path) -> None:
    shares = ["0.2", "0.4", "0.3", "0.1"]
    text = "sections:\n" + "".join(f"  - {{name: s{i}, share: {s}}}\n" for i, s in enumerate(shares))
    assert sum(section.share for section in load(tmp_path, text).sections) == 1


def test_section_names_that_differ_only_by_invisible_characters_are_refused(tmp_path: Path) -> None:
    text = 'sections:\n  - {name: notes, share: 0.5}\n  - {name: "no\\u200btes", share: 0.5}\n'
    ((line, _, _, message),) = refused(tmp_path, text)
    assert (line, "invisible" in message) == (3, True)


def test_an_alias_bomb_and_a_loop_are_refused_without_printing_them(tmp_path: Path) -> None:
    levels = ["a: &a [" + ",".join("x" * 10) + "]"]
    levels += [f"{k}: &{k} [{','.join(['*' + j] * 10)}]" for j, k in ["ab", "bc", "cd", "de", "ef", "fg"]]
    ((_, _, code, message),) = refused(tmp_path, "\n".join(levels))
    assert code == "CTX001"
    assert len(message) < 80
    ((_, _, code, message),) = refused(tmp_path, "sections: &s\n  - also: *s\n")
    assert (code, message) == ("CTX001", "an alias contains itself")


def test_honest_anchors_and_merge_keys_are_taken(tmp_path: Path) -> None:
    text = """\
x-base: &base {compaction: drop-middle, share: 0.5}
sections:
  - {<<: *base, name: a}
  - {<<: *base, name: b, share: 0.25}
"""
    plan = load(tmp_path, text)
    assert [str(section.share) for section in plan.sections] == ["0.5", "0.25"]
    assert {section.compaction.strategy for section in plan.sections} == {"drop-middle"}


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("compaction: {strategy: drop-oldest, keep_recnt: 2}", "drop-oldest has no parameter 'keep_recnt'"),
        ("compaction: {strategy: drop-oldest, keep_recent: -1}", "keep_recent of drop-oldest"),
        ("compaction: {keep_recent: 1}", "needs the key `strategy`"),
        ("match: {kinds: foo}", "unknown kind 'foo'"),
        ('match: {regex: "("}', "not a regular expression"),
        ("match: {required: true}", "at least one test"),
        ("match: everything", "should be 'rest'"),
        ("compact_to: 0", "greater than 0"),
        ("start_on: assistant", "should be 'user'"),
    ],
)
def test_a_section_key_that_cannot_be_used_says_why(tmp_path: Path, section: str, said: str) -> None:
    ((line, _, _, message),) = refused(tmp_path, f"sections:\n  - name: a\n    share: 0.5\n    {section}\n")
    assert line == 4
    assert said in message


def test_an_expectation_has_one_test_and_none_that_needs_a_replay(tmp_path: Path) -> None:
    found = refused(tmp_path, GOOD + "expect:\n  - {max_summaries: 1, min_kept_turns: 2}\n")
    assert [line for line, *_ in found] == [12]
    found = refused(tmp_path, GOOD + "expect:\n  - {min_cached_fraction: 0.5}\n")
    assert [(line, "replay" in message) for line, _, _, message in found] == [(12, True)]


def test_tools_are_read_beside_the_plan_and_a_missing_file_is_placed(tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text('[{"type": "function", "function": {"name": "find"}}]')
    plan = load(tmp_path, "tools: tools.json\n" + GOOD)
    assert plan.tools is not None
    assert plan.tools.tools == ({"type": "function", "function": {"name": "find"}},)
    ((line, column, code, _),) = refused(tmp_path, "tools: none.json\n" + GOOD)
    assert (line, column, code) == (1, 8, "CTX009")


def test_a_missing_file_and_an_unknown_preset_say_what_there_is() -> None:
    with pytest.raises(PlanError, match="CTX009") as caught:
        load_plan("no-such-plan.yaml")
    assert "preset:default" in (caught.value.hint or "")
    with pytest.raises(PlanError, match="no preset 'x'"):
        load_plan("preset:x")


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_loads(name: str) -> None:
    assert load_plan(f"preset:{name}").sections
