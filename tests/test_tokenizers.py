"""Tokenizers: the right ranks, plain text, no network, no crash."""

from __future__ import annotations

import base64
import gzip
import hashlib
import subprocess
import sys
from fractions import Fraction
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiktoken_ext import openai_public

from contextctl.errors import CapabilityError, VocabularyError
from contextctl.ports import Exactness
from contextctl.tokenizers import TOKENIZERS, openai_bpe, tokenizer
from contextctl.tokenizers.openai_bpe import VOCABULARIES, OpenAITokenizer, load_ranks

PUBLISHED = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
"""SHA-256 of the text form of the ranks, as tiktoken expects it of its own downloads."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_bundled_ranks_are_the_published_ones(name: str) -> None:
    ranks = load_ranks(VOCABULARIES[name])
    text = b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items())
    assert hashlib.sha256(text).hexdigest() == PUBLISHED[name]


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_splitting_expression_is_tiktokens_own(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *_, **__: {})
    assert getattr(openai_public, name)()["pat_str"] == VOCABULARIES[name].pattern


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_special_token_is_counted_as_plain_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *_, **__: {})
    for special in getattr(openai_public, name)()["special_tokens"]:
        assert tokenizer(name).measure(special).tokens > 1
        assert tokenizer(name).measure(f"a {special} b").exactness is Exactness.EXACT


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_lone_surrogate_counts_as_the_replacement_character(name: str) -> None:
    count = tokenizer(name).measure
    assert count("cut \ud83d").tokens == count("cut \ufffd").tokens
    assert count("\udc4d\ud83d").tokens == count("\ufffd\ufffd").tokens
    assert count("\ud83d\udc4d").tokens == count("\U0001f44d").tokens


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize(
    "text", [" " * 1_000_000 + "x", " \t" * 500_000, "a b" + "\u3000" * 1_000_000, "\x85" * 1_100_000 + "x"]
)
def test_a_run_too_long_for_one_piece_is_an_estimate_that_is_no_crash_and_not_nothing(
    name: str, text: str
) -> None:
    measure = tokenizer(name).measure(text)
    assert measure.exactness is Exactness.ESTIMATE
    assert measure.tokens > 1_000


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_million_dashes_are_15625_tokens(name: str) -> None:
    measure = tokenizer(name).measure("-" * 1_000_000)
    assert (measure.tokens, measure.exactness) == (15_625, Exactness.EXACT)


@pytest.mark.parametrize("name", PUBLISHED)
@pytest.mark.parametrize("unit", ["a", "A", "aA", "a\u0301", "\u4e2d", "/", "7", "\U0001f600", "-\n"])
def test_a_long_run_of_anything_but_white_space_is_exact(name: str, unit: str) -> None:
    measure = tokenizer(name).measure(unit * (1_200_000 // len(unit)) + "x")
    assert measure.exactness is Exactness.EXACT
    assert measure.tokens > 10_000


@pytest.mark.parametrize("unit", [" " * 399_999 + "x", "a" * 399_999 + " ", " \n" * 199_999 + "x"])
def test_the_search_for_long_runs_visits_each_character_once(unit: str) -> None:
    """Quadratic, this would take hours and the run of tests would never end."""
    assert tokenizer("cl100k_base").measure(unit * 3).exactness is Exactness.EXACT


@pytest.mark.parametrize("unit", [" ", "\t", " \t", "\n", " \n", "\u3000", "\t\t "])
@pytest.mark.parametrize("length", [400_000, 612_345, 900_001])
def test_a_run_in_pieces_is_close_above_its_count_at_once(unit: str, length: int) -> None:
    text = (unit * length)[:length]
    used = tokenizer("cl100k_base")
    exact = len(used._encoding.encode_ordinary(text))  # type: ignore[attr-defined]
    pieced = used.measure(text)
    assert pieced.exactness is Exactness.ESTIMATE
    assert exact <= pieced.tokens <= exact + 100


@given(st.lists(st.sampled_from([" ", "\n", "\t", "a", "B", "ab c", "-"]), max_size=8), st.integers(1, 9))
def test_counting_in_pieces_is_never_below_counting_at_once(texts: list[str], repeat: int) -> None:
    text = "".join(texts) * repeat
    whole = OpenAITokenizer(VOCABULARIES["cl100k_base"])
    whole._built = tokenizer("cl100k_base")._encoding  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(openai_bpe, "LONGEST_RUN", 4)
        patch.setattr(openai_bpe, "PIECE_TOKENS", 1)
        patch.setattr(openai_bpe, "_RUN", openai_bpe.re.compile(r"(?<!\s)\s{4,}"))
        pieced = whole._measure(text)
    exact = len(whole._encoding.encode_ordinary(text))
    assert pieced.tokens >= exact
    assert pieced.exactness is not Exactness.EXACT or pieced.tokens == exact


def test_a_damaged_vocabulary_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    good = (resources.files("contextctl.tokenizers") / "vocabularies" / "cl100k_base.ranks.gz").read_bytes()
    (tmp_path / "vocabularies").mkdir()
    file = tmp_path / "vocabularies" / "cl100k_base.ranks.gz"
    monkeypatch.setattr(openai_bpe.resources, "files", lambda _: tmp_path)
    for damaged in (b"", good[:-100], gzip.compress(gzip.decompress(good).replace(b"the", b"eht"))):
        file.write_bytes(damaged)
        with pytest.raises(VocabularyError, match=r"cl100k_base\.ranks\.gz"):
            load_ranks(VOCABULARIES["cl100k_base"])


def test_counting_opens_no_socket_and_needs_no_home(tmp_path: Path) -> None:
    script = (
        "import socket\n"
        "def refuse(*_): raise SystemExit('a socket was opened')\n"
        "socket.socket.connect = refuse; socket.create_connection = refuse; socket.getaddrinfo = refuse\n"
        "from contextctl.tokenizers import tokenizer\n"
        "print(tokenizer('o200k_base').measure('hello world').tokens, "
        "tokenizer('cl100k_base').measure('hello world').tokens)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={"HOME": str(tmp_path), "PATH": ""},
        capture_output=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stdout.split() == [b"2", b"2"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", TOKENIZERS)
def test_every_tokenizer_counts_and_says_how_exact_it_is(name: str) -> None:
    used = tokenizer(name)
    measure = used.measure("Where is the harbour?")
    assert used.name in (name, f"{name}-estimate")
    assert measure.tokens >= 4
    assert measure.exactness is used.exactness
    assert (measure.upper_tokens > measure.tokens) is (used.margin > 0)
    assert used.measure("").tokens == 0


def test_an_estimate_is_the_base_times_its_factor_with_the_margin_rounded_up() -> None:
    base = tokenizer("o200k_base").measure("hello world " * 50).tokens
    measure = tokenizer("claude-v3-estimate").measure("hello world " * 50)
    tokens = -(-base * Fraction("1.106") // 1)
    assert (measure.tokens, measure.upper_tokens) == (tokens, -(-tokens * Fraction("1.234") // 1))


def test_an_unknown_tokenizer_names_the_known_ones() -> None:
    with pytest.raises(CapabilityError) as caught:
        tokenizer("p50k_base")
    assert "o200k_base" in (caught.value.hint or "")
