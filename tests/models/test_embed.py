"""What every embedder promises, checked on each of them."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.errors import DimensionMismatchError, EmbedderError, InvalidInput
from holdfast.models.embeddings import packs
from holdfast.models.embeddings.base import Embedder, embedder_for
from holdfast.models.embeddings.checks import checked
from holdfast.models.embeddings.mapped import FEW_TEXTS, Vocabulary
from holdfast.models.embeddings.onnx import MAX_TOKENS, OnnxEmbedder
from holdfast.models.embeddings.static import StaticEmbedder
from holdfast.models.fake import FakeEmbedder, Fault
from patience import PATIENCE

LOCAL: dict[str, Embedder] = {
    "static": StaticEmbedder(),
    "encoder": OnnxEmbedder(),
    "fake": FakeEmbedder(),
}
ODD = [
    "",
    " \n\t",
    "tea",
    "\ud800 lone",
    "\x00",
    "🙂🙃",
    "café naïve",
    "我喜欢喝茶",
    "я люблю чай",
    "[PAD] [UNK]",
]


# Without `[`, for the library takes `[PAD]` for a piece of its own, and without scripts younger
# than its tables.
LETTERS = st.characters(max_codepoint=0x5FF, exclude_characters="[")


@pytest.fixture(params=LOCAL)
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return LOCAL[request.param]


def test_each_text_gets_one_row_of_length_one_or_zero(embedder: Embedder) -> None:
    rows = embedder.embed_documents(ODD)
    lengths = np.linalg.norm(rows, axis=1)
    assert rows.shape == (len(ODD), embedder.dimensions)
    assert rows.dtype == np.float32
    assert np.all(np.isclose(lengths, 1, atol=1e-5) | (lengths == 0))


def test_blank_texts_are_zeros_and_words_are_not(embedder: Embedder) -> None:
    blank, tea = embedder.embed_documents(["  ", "tea"])
    assert not blank.any()
    assert tea.any()
    assert not any(embedder.embed_query(""))


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed_documents([]).shape == (0, embedder.dimensions)


def test_a_text_has_the_same_vector_alone_and_in_company(embedder: Embedder) -> None:
    alone = embedder.embed_documents(["Ann drinks tea"])[0]
    together = embedder.embed_documents(["a much longer text about ships " * 9, "Ann drinks tea"])[
        1
    ]
    assert np.array_equal(alone, together)


def test_a_question_finds_its_answer(embedder: Embedder) -> None:
    texts = [
        "Ann drinks green tea every morning",
        "The train to Bergen leaves at nine",
        "Rain fell all day",
    ]
    nearest = embedder.embed_documents(texts) @ embedder.embed_query(
        "what does Ann drink in the morning? tea?"
    )
    assert int(np.argmax(nearest)) == 0


def test_a_huge_text_is_cut_and_not_refused(embedder: Embedder) -> None:
    rows = embedder.embed_documents(["tea and cake " * 10_000, "a" * 1_000_000])
    assert np.isclose(np.linalg.norm(rows[0]), 1, atol=1e-5)


def test_threads_may_share_an_embedder(embedder: Embedder) -> None:
    texts = [f"fact number {n}" for n in range(8)]
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(embedder.embed_query, texts))
    assert all(
        np.array_equal(row, embedder.embed_query(text))
        for row, text in zip(rows, texts, strict=True)
    )


@settings(max_examples=200, deadline=None)
@given(st.text(LETTERS, max_size=200))
@example(
    "Ça va, Zoë? ΣΊΣΥΦΟΣ groß İstanbul 我喜欢茶 日本語テスト 한국어 don't"
    "—stop… 🎉👍🏽\x85\u200b\ttea\x00"
)
@example("x" * 101 + " single_word content id zzxq")
@example("tea and cake " * 20)  # longer than what is looked for piece by piece
def test_a_static_question_has_the_vector_of_the_same_statement(text: str) -> None:
    static = LOCAL["static"]
    assert np.allclose(static.embed_query(text), static.embed_documents([text])[0], atol=1e-6)


def test_every_piece_of_the_vocabulary_is_found_in_its_file_as_the_parsed_one_has_it() -> None:
    file = packs.find(packs.STATIC) / "tokenizer.json"
    numbers = json.loads(file.read_text("utf-8"))["model"]["vocab"]
    find = Vocabulary(file).lookup(1)
    known = {piece: number for piece, number in numbers.items() if not piece.startswith("[")}
    assert {piece: find(piece) for piece in known} == known
    assert [find(word) for word in ("single_word", "zzxq", "vocab", "")] == [None] * 4


def test_whoever_asks_often_gets_the_parsed_vocabulary() -> None:
    vocabulary = Vocabulary(packs.find(packs.STATIC) / "tokenizer.json")
    # Found in the file by `_find`; parsed, it is the `get` of a dictionary.
    names = [vocabulary.lookup(20).__name__ for _ in range(FEW_TEXTS + 2)]
    assert names == ["_find"] * FEW_TEXTS + ["get"] * 2


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(max_size=200), max_size=5))
def test_any_text_has_a_static_vector(texts: list[str]) -> None:
    assert LOCAL["static"].embed_documents(texts).shape == (len(texts), 256)


def test_the_encoder_knows_a_question_from_a_statement() -> None:
    encoder = LOCAL["encoder"]
    assert not np.allclose(encoder.embed_query("tea"), encoder.embed_documents(["tea"])[0])


def test_the_encoder_reads_no_further_than_its_limit() -> None:
    start = "tea " * MAX_TOKENS
    short, long = LOCAL["encoder"].embed_documents([start, start + "and then the ship sank"])
    assert np.array_equal(short, long)


def test_rare_words_weigh_more_in_the_static_table() -> None:
    common, rare = StaticEmbedder().word_vectors(["the", "volcano"])
    assert np.linalg.norm(rare) > np.linalg.norm(common)


def test_similar_words_have_similar_static_vectors() -> None:
    coffee, espresso, gravel = StaticEmbedder().embed_documents(["coffee", "espresso", "gravel"])
    assert coffee @ espresso > coffee @ gravel


@pytest.mark.parametrize("fault", ["down", "slow", "nan"])
def test_a_faulty_fake_fails_like_a_real_model(fault: Fault) -> None:
    with pytest.raises(EmbedderError):
        FakeEmbedder(fault=fault).embed_query("tea")


def test_a_wrong_sized_fake_is_a_dimension_mismatch() -> None:
    with pytest.raises(DimensionMismatchError, match="257 dimensions"):
        FakeEmbedder(fault="wrong-sized").embed_documents(["tea"])


def test_a_fake_recovers_and_counts_its_calls() -> None:
    fake = FakeEmbedder(dimensions=8, identity="fake:other", fault="down")
    with pytest.raises(EmbedderError):
        fake.embed_query("tea")
    fake.fault = None
    assert fake.embed_query("tea").shape == (8,)
    assert fake.calls == 2


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([[1.0, 2.0, 3.0]], DimensionMismatchError),
        ([[1.0, 2.0], [1.0, 2.0]], EmbedderError),
        ([[float("nan"), 1.0]], EmbedderError),
        ([[float("inf"), 1.0]], EmbedderError),
        ([[1.0], [1.0, 2.0]], EmbedderError),
        ([1.0, 2.0], EmbedderError),
        ([["a", "b"]], EmbedderError),
    ],
)
def test_a_bad_answer_is_never_taken_for_vectors(
    rows: list[object], error: type[EmbedderError]
) -> None:
    with pytest.raises(error):
        checked(rows, count=1, dimensions=2, identity="test:model")  # type: ignore[arg-type]


def test_huge_and_tiny_vectors_are_normalised() -> None:
    rows = checked(
        [[3e38, 0.0], [3e-38, 4e-38], [0.0, 0.0]], count=3, dimensions=2, identity="test:model"
    )
    assert np.allclose(rows, np.array([[1, 0], [0.6, 0.8], [0, 0]]), atol=1e-3)


@pytest.mark.parametrize(
    ("spec", "identity"),
    [
        ("static", "local:memory-static-8M2"),
        ("encoder", "local:memory-embed-s3"),
        ("potion", "local:potion-base-8M"),
        ("arctic", "local:arctic-embed-s"),
        ("local:memory-static-8M2", "local:memory-static-8M2"),
        ("local:memory-embed-s3", "local:memory-embed-s3"),
        ("local:potion-base-8M", "local:potion-base-8M"),
        ("local:arctic-embed-s", "local:arctic-embed-s"),
        ("fake", "fake:bag-of-words"),
        ("ollama:nomic-embed-text", "ollama:nomic-embed-text"),
    ],
)
def test_a_spec_names_an_embedder(spec: str, identity: str) -> None:
    embedder = embedder_for(spec, environ={})
    assert embedder is not None
    assert embedder.identity == identity


def test_the_spec_none_means_words_only() -> None:
    assert embedder_for("none", environ={}) is None


@pytest.mark.parametrize(
    "spec", ["", "statik", "local:unknown", ":", "openai:", ":model", "elsewhere:model"]
)
def test_an_unknown_spec_is_answered_with_the_valid_ones(spec: str) -> None:
    with pytest.raises(InvalidInput, match="base_url"):
        embedder_for(spec, environ={})


def test_importing_the_package_loads_no_heavy_library() -> None:
    code = """if True:
        import sys, holdfast.models.embeddings.base, holdfast.models.embeddings.packs
        heavy = {'numpy', 'tokenizers', 'onnxruntime', 'pydantic_ai'} & set(sys.modules)
        assert not heavy, heavy
        embedder = holdfast.models.embeddings.base.embedder_for('encoder', environ={})
        assert 'onnxruntime' not in sys.modules
    """
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE)
