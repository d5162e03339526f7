"""What is loaded when: importing costs next to nothing, and models load only for what needs them."""

from __future__ import annotations

import subprocess
import sys

import pytest

MODELS = ("onnxruntime", "tokenizers", "pydantic_ai")
HEAVY = ("numpy", "apsw", "sqlite_vec", "Stemmer", "typer", "click", "rich", *MODELS)
REPORT = "; import sys; print(*(name for name in {names!r} if name in sys.modules))"


def loaded(code, names):
    """Which of `names` a fresh interpreter has loaded after `code`."""
    program = code + REPORT.format(names=names)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


def test_importing_the_package_loads_nothing_heavy():
    assert loaded("import holdfast", HEAVY) == []


def test_the_version_is_printed_without_loading_anything_heavy():
    code = "import sys; sys.argv = ['holdfast', '--version']; from holdfast.cli import main; main()"
    assert loaded(code, HEAVY) == []


def test_every_public_name_can_be_had_and_is_listed():
    import holdfast

    assert all(getattr(holdfast, name) is not None for name in holdfast.__all__)
    assert set(holdfast.__all__) <= set(dir(holdfast))
    with pytest.raises(AttributeError, match="Memry"):
        holdfast.Memry  # noqa: B018


OPEN = (
    "from holdfast import Holdfast, Settings; "
    "settings = Settings(embedding_models={models!r}); "
    "hf = Holdfast.open(':memory:', scope='user:ann', settings=settings, background=False); "
)


def test_without_embedding_models_no_model_library_is_loaded():
    code = OPEN.format(models="none") + "hf.remember('green tea'); assert hf.recall('tea'); hf.close()"
    assert loaded(code, (*MODELS, "typer")) == []


def test_the_capture_path_loads_no_model_library():
    code = OPEN.format(models="static,arctic") + "hf.capture('s', 'user', 'green tea'); hf.remember('x'); hf.close()"
    assert loaded(code, MODELS) == []


def test_a_recall_with_the_quick_model_does_not_load_the_better_one():
    code = OPEN.format(models="static,arctic") + "hf.remember('green tea'); assert hf.recall('tea'); hf.close()"
    assert loaded(code, ("onnxruntime", "pydantic_ai")) == []
