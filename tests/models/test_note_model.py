"""What the model that reads sentences of coding sessions says of them."""

from __future__ import annotations

import pytest

from holdfast.models.embeddings import packs
from holdfast.models.note_model import FILE, SENTENCE_TOKENS, NoteModel


def worth(reading):
    return reading.useful - reading.wrong - reading.garbage


@pytest.mark.parametrize(
    ("lasting", "passing"),
    [
        ("Never commit straight to main", "Commit it now and push"),
        ("We use pnpm here, not npm", "npm says that the lock file is broken"),
        ("All constants belong into src/constants.ts", "Move the constant up a bit"),
        ("Always run the integration tests before you open a pull request", "Run the tests again"),
    ],
)
def test_a_rule_is_worth_more_than_an_order_of_the_moment(lasting, passing):
    rule, order = NoteModel().read([lasting, passing])
    assert worth(rule) > 0.1 > worth(order)


def test_what_means_nothing_alone_is_called_garbage():
    (found,) = NoteModel().read(["and then do the same with the other one"])
    assert found.garbage > found.useful


def test_a_sentence_is_read_alone_whatever_is_read_beside_it():
    model = NoteModel()
    said = ["Never commit straight to main", "go on", "we deploy from the release branch"]
    assert model.read(said) == [model.read([one])[0] for one in said]


def test_the_likelihoods_leave_the_rest_to_what_is_true_and_of_no_use():
    (found,) = NoteModel().read(["make the button a bit larger"])
    assert 0 < found.useful + found.wrong + found.garbage < 1


def test_a_long_sentence_is_read_as_far_as_the_model_can():
    words = "Never commit straight to main because the deployment starts there " * 10
    assert len(words.split()) > SENTENCE_TOKENS
    start, longer = NoteModel().read([words, words + words])
    assert start == longer


def test_the_model_takes_its_table_of_words_from_the_judge_of_statements():
    folder = packs.find(packs.JUDGE)
    assert FILE in packs.checksums(folder)
    assert (folder / FILE).stat().st_size < (folder / "model_int8.onnx").stat().st_size * 0.6
