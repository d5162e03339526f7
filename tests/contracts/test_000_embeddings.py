"""Seed 000, models: which one embeds, what happens when it changes, and what is said when a key is
missing.
"""

from __future__ import annotations

import pytest

from holdfast.agents.embeddings import choose
from holdfast.agents.models import answering, consolidating
from holdfast.agents.role import load_role
from holdfast.errors import (
    DimensionMismatchError,
    EmbedderError,
    EmbeddingModelChangedError,
    InvalidInput,
    MissingKey,
)


@pytest.mark.parametrize(
    ("model", "embeddings", "specs"),
    [
        ("{provider: openai, name: x}", "{}", ["openai:text-embedding-3-small"]),
        ("{provider: anthropic, name: x}", "{}", ["openai:text-embedding-3-small"]),
        ("{provider: google, name: x}", "{}", ["google:text-embedding-004"]),
        ("{provider: ollama, name: x}", "{}", ["ollama:nomic-embed-text"]),
        ("{provider: anthropic, name: x}", "{provider: google}", ["google:text-embedding-004"]),
        (
            "{provider: openai, name: x}",
            "{model: text-embedding-3-large}",
            ["openai:text-embedding-3-large"],
        ),
        (
            "{provider: anthropic, name: x}",
            "{model: text-embedding-3-large}",
            ["openai:text-embedding-3-large"],
        ),
        ("{provider: openai, name: x}", "{model: 'google:embed'}", ["google:embed"]),
        (
            "{provider: openai, name: x}",
            "{provider: ollama, model: 'nomic:v2'}",
            ["ollama:nomic:v2"],
        ),
        (
            "{provider: openai, name: x}",
            "{provider: openai, model: 'openai:some'}",
            ["openai:some"],
        ),
        (
            "{provider: ollama, name: x}",
            "{model: 'nomic-embed-text:v1.5'}",
            ["ollama:nomic-embed-text:v1.5"],
        ),
        (
            "{provider: openai, name: x}",
            "{model: 'local:memory-embed-s3'}",
            ["local:memory-embed-s3"],
        ),
        ("{provider: openai, name: x}", "{provider: local}", ["static", "encoder"]),
        ("{provider: offline}", "{}", ["static", "encoder"]),
        ("{provider: groq, name: x}", "{}", ["static", "encoder"]),
        ("{provider: offline}", "{provider: local, model: static}", ["static"]),
    ],
)
def test_the_embedding_model_follows_from_model_then_provider_then_the_agent_s_own(
    write_role, model, embeddings, specs
):
    chosen = choose(load_role(write_role(f"{{embeddings: {embeddings}}}", model=model)))
    assert list(chosen.specs) == specs


def test_an_address_of_one_s_own_and_its_key_are_used(write_role, memory_of, provider, monkeypatch):
    monkeypatch.setenv("MY_KEY", "secret-of-mine")
    config = (
        f"{{embeddings: {{provider: openai, model: m, base_url: '{provider.url}', "
        f"api_key_env: MY_KEY}}}}"
    )
    memory = memory_of(write_role(config))
    memory.check()
    memory.remember("semantic", "likes tea")
    assert provider.keys == ["Bearer secret-of-mine"]
    assert next(iter(memory.hf.store.vectors.dimensions([memory.scope]).values())) == 8


def test_an_address_without_a_model_is_not_passed_over(cli, write_role):
    role = write_role("{embeddings: {base_url: 'http://localhost:9/v1'}}")
    done = cli("memory", "list", role)
    assert done.code == 0, "there is nothing to embed yet"
    done = cli("run", role, "-p", "hello?")
    assert done.code == 2
    assert "spec.memory.embeddings.base_url in role.yaml" in done.err


def test_shorter_vectors_of_a_model_can_be_had(write_role, memory_of, provider):
    """Seed 001: text-embedding-3-large in 256 dimensions, at a twelfth of the storage."""
    memory = memory_of(
        write_role(f"{{embeddings: {{provider: openai, model: m@4, base_url: '{provider.url}'}}}}")
    )
    memory.remember("semantic", "likes tea")
    assert list(memory.hf.store.vectors.dimensions([memory.scope]).values()) == [4]


def test_a_missing_embedding_key_is_named_before_any_work(write_role, memory_of):
    memory = memory_of(write_role("{}", model="{provider: anthropic, name: x}"))
    with pytest.raises(EmbedderError) as caught:
        memory.check()
    for words in (
        "OPENAI_API_KEY",
        "Anthropic",
        "spec.memory.embeddings.api_key_env",
        "provider: local",
    ):
        assert words in str(caught.value)


def test_another_model_is_refused_and_reembedding_is_the_way_out(write_role, memory_of, provider):
    """IR-17, D3."""
    memory = memory_of(write_role("{embeddings: {provider: fake}}"))
    memory.remember("semantic", "likes tea")
    memory.close()
    moved = memory_of(
        write_role(f"{{embeddings: {{provider: openai, model: m, base_url: '{provider.url}'}}}}")
    )
    with pytest.raises(EmbeddingModelChangedError, match=r"holdfast memory reembed \S+role\.yaml"):
        moved.check()
    assert sum(moved.reembed().values()) == 1
    moved.check()
    assert list(moved.hf.store.vectors.dimensions([moved.scope])) == [
        next(iter(moved.tiers)).identity
    ]


def test_the_same_length_does_not_hide_another_model(write_role, memory_of, provider):
    """IR-17: what counts is who made the vectors."""
    config = "{{embeddings: {{provider: openai, model: {model}, base_url: '{url}'}}}}"
    memory = memory_of(write_role(config.format(model="one", url=provider.url)))
    memory.remember("semantic", "likes tea")
    memory.close()
    with pytest.raises(EmbeddingModelChangedError):
        memory_of(write_role(config.format(model="two", url=provider.url))).check()


def test_a_store_without_vectors_takes_any_model(write_role, memory_of):
    """IR-17: the first to embed is recorded, no error."""
    memory = memory_of(write_role("{embeddings: {provider: none}}"))
    memory.remember("semantic", "likes tea")
    memory.close()
    other = memory_of(write_role("{embeddings: {provider: fake}}"))
    other.check()
    other.remember("semantic", "likes cake")
    assert list(other.hf.store.vectors.dimensions([other.scope])) == ["fake:bag-of-words"]


def test_a_server_that_changes_its_vectors_length_is_told_and_the_text_is_kept(
    write_role, memory_of, provider
):
    config = f"{{embeddings: {{provider: openai, model: m, base_url: '{provider.url}'}}}}"
    memory = memory_of(write_role(config))
    memory.remember("semantic", "likes tea")
    memory.close()
    provider.width = 16
    again = memory_of(write_role(config))
    again.check()
    with pytest.raises(
        DimensionMismatchError, match=r"8 numbers .* makes 16 now.*memory reembed \S+role\.yaml"
    ):
        again.remember("semantic", "likes cake")
    assert [one.content for one in again.listed()] == ["likes cake", "likes tea"]
    assert again.reembed() == {next(iter(again.tiers)).identity: 2}
    again.check()


def test_an_embedding_server_that_is_down_loses_no_memory(write_role, memory_of, provider):
    memory = memory_of(
        write_role(f"{{embeddings: {{provider: openai, model: m, base_url: '{provider.url}'}}}}")
    )
    provider.status = 400
    memory.remember("semantic", "likes tea")
    assert memory.recall("tea")[0].memory.content == "likes tea"


def test_reembedding_of_a_role_is_a_command(cli, write_role, memory_of):
    memory = memory_of(write_role("{embeddings: {provider: fake}}"))
    memory.remember("semantic", "likes tea")
    memory.close()
    path = write_role("{embeddings: {provider: local, model: static}}")
    done = cli("run", path, "-p", "hello?")
    assert done.code == 1
    assert f"holdfast memory reembed {path}" in done.err
    assert cli("memory", "reembed", path).out == "1 embedded by local:memory-static-8M2.\n"
    assert cli("run", path, "-p", "what about tea?").out == "From memory:\n- likes tea\n"


@pytest.mark.parametrize(
    ("provider_", "variable"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("google", "GOOGLE_API_KEY"),
        ("openrouter", "OPENROUTER_API_KEY"),
    ],
)
def test_a_missing_model_key_is_named_with_the_ways_to_do_without(
    cli, write_role, provider_, variable
):
    path = write_role(
        "{embeddings: {provider: none}}", model=f"{{provider: {provider_}, name: some-model}}"
    )
    done = cli("run", path, "-p", "hello")
    assert done.code == 1
    assert variable in done.err
    assert "ollama" in done.err
    assert "offline" in done.err
    assert done.out == ""


def test_a_key_variable_of_one_s_own_that_is_not_set_is_named(write_role):
    role = load_role(write_role(model="{provider: openai, name: x, api_key_env: TEAM_KEY}"))
    with pytest.raises(MissingKey, match="TEAM_KEY"):
        answering(role, {})


def test_an_unknown_provider_is_refused_with_what_works(cli, write_role):
    done = cli("run", write_role(model="{provider: opnai, name: x}"), "-p", "hello")
    assert done.code == 2
    assert "opnai" in done.err
    assert "offline" in done.err


def test_consolidation_may_have_a_model_of_its_own(write_role, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    role = load_role(
        write_role(
            "{consolidation: {model_override: 'openai:gpt-5-nano'}}",
            model="{provider: ollama, name: x}",
        )
    )
    assert consolidating(role, {}).model_name == "gpt-5-nano"
    role = load_role(
        write_role(
            "{consolidation: {model_override: smaller}}", model="{provider: ollama, name: x}"
        )
    )
    assert consolidating(role, {}).model_name == "smaller"
    role = load_role(write_role("{}", model="{provider: ollama, name: x}"))
    assert consolidating(role, {}).model_name == "x"


@pytest.mark.parametrize(
    ("own", "override", "model", "at"),
    [
        ("{provider: ollama, name: x}", "llama3.2:3b", "llama3.2:3b", "11434"),
        ("{provider: ollama, name: x}", "ollama:llama3.2:3b", "llama3.2:3b", "11434"),
        ("{provider: openai, name: x}", "ollama:llama3.2:3b", "llama3.2:3b", "11434"),
        (
            "{provider: openai, name: x}",
            "ft:gpt-4o:team::id",
            "ft:gpt-4o:team::id",
            "api.openai.com",
        ),
        ("{provider: openai, name: x}", "offline", "offline", "None"),
    ],
)
def test_names_of_models_may_have_colons(write_role, monkeypatch, own, override, model, at):
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    found = consolidating(
        load_role(write_role(f"{{consolidation: {{model_override: '{override}'}}}}", model=own)), {}
    )
    assert found.model_name == model
    assert at in str(found.base_url)


def test_a_misspelt_provider_is_not_taken_for_a_model(write_role):
    config = "{consolidation: {model_override: 'opnai:gpt-5-nano'}}"
    with pytest.raises(
        InvalidInput, match=r"model_override in role\.yaml is opnai:gpt-5-nano: Unknown provider"
    ):
        consolidating(load_role(write_role(config, model="{provider: openai, name: x}")), {})
