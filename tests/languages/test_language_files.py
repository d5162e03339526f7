"""Language files: found by listing the folder, read a section at a time, and all that is needed."""

import subprocess
import sys
import tomllib
from pathlib import Path
from shutil import copytree

import pytest

from holdfast.languages import SCRIPTS, language, languages
from holdfast.languages.loader import FOLDER

FILES = sorted(Path(FOLDER).glob("*.toml"))

# A language that nobody speaks, with as little as a file can have.
MADE_UP = """
name = "Volapuk"
script = "latin"

[stopwords]
words = "obik binob lodob zuo plo qil"

[time]
months = "yanul febul mazul aprul mayul yunul yulul gustul setul tobul novul dekul"
yesterday = "aedelo"

[negation]
negation = "nokolo"

[extraction]
spoken_by = "ob "

[extraction.guards]

[[extraction.statement]]
category = "identity"
predicate = "LIVES_IN"
opens = '''obik lodob in '''

[policy.cues]
small_talk = "glidis"
"""
TRY_IT = """
import sys
from pathlib import Path
from holdfast.languages import loader
loader.FOLDER = Path(sys.argv[1])
from holdfast.extraction.rules import RuleExtractor
from holdfast.extraction.vocabulary import vocabulary
from holdfast.models.entities.entity_patterns import PatternRecogniser
from holdfast.text.negation import differ, particulars
from holdfast.text.time_expressions import spans
from holdfast.text.tokens import query_terms
from holdfast.types import Memory, Scope
said = Memory(id="turn_1", scope=Scope("user", "x"), kind="turn", role="user",
    content="Obik lodob in Berlin zuo.", created_at=1, updated_at=1, event_time=1)
(fact,) = RuleExtractor().extract([said])
assert fact.triple.predicate == "LIVES_IN", fact
assert vocabulary("general").is_small_talk("Glidis!")
named = [span.text for span in spans("3 yulul 2023 / aedelo", 1_700_000_000_000_000)]
assert named == ["3 yulul 2023", "aedelo"], named
assert differ(particulars("obik binob gudik"), particulars("obik nokolo binob gudik"))
assert query_terms("plo obik qil domi") == ["domi"], query_terms("plo obik qil domi")
assert [one.name for one in PatternRecogniser().recognise("3 yulul 2023")] == ["2023-07-03"]
print("understood")
"""


def test_a_file_is_all_that_a_language_needs(tmp_path):
    """A made-up language is found in its folder and used by everything that knows words."""
    folder = tmp_path / "languages"
    copytree(FOLDER, folder)
    (folder / "vo.toml").write_text(MADE_UP, "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", TRY_IT, str(folder)], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "understood", done.stderr


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_section_read_by_itself_is_what_the_whole_file_says(file: Path):
    """Sections are cut out of the text; no pattern that looks like a header cuts one short."""
    whole = tomllib.loads(file.read_text("utf-8"))
    data = language(file.stem)
    sections = {name: table for name, table in whole.items() if isinstance(table, dict)}
    assert {name: data.section(name) for name in sections} == sections
    assert data.name == whole["name"]
    assert data.script in SCRIPTS


def test_sections_that_recall_needs_are_read_without_tomllib():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; from holdfast.retrieval.query import analyse;"
            "analyse('When did I last see Ann?', 1_700_000_000_000_000);"
            "print('tomllib' in sys.modules)",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"


def test_languages_come_by_rank():
    ranks = [each.rank for each in languages()]
    assert ranks == sorted(ranks)
    assert languages()[0].code == "en"


def test_an_unknown_section_is_empty_and_an_unknown_language_an_error():
    assert language("en").section("nonsense") == {}
    with pytest.raises(KeyError):
        language("xx")
