"""Seed 002 in a running agent: when memory is built, what the agent is told of it, and what /memory
does to it.
"""

from __future__ import annotations

import asyncio
import threading

import pytest
from projects import DECIDED, PATIENCE, SECOND
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from textual.widgets import Static

from holdfast import config
from holdfast.agents.autonomous import pursue
from holdfast.agents.conversation import Conversation
from holdfast.agents.conversation_project import ProjectMemory
from holdfast.agents.tui.chat_app import ChatApp
from holdfast.agents.tui.panel import MemoryPanel
from holdfast.agents.tui.prompt import Prompt
from holdfast.client import Holdfast
from holdfast.extraction.progress import is_unread
from holdfast.types import Scope, system_clock

EMPTY = "Memory payload is empty (memories disabled or no memory summary found)."
CLEARED = "Memory data cleared and system prompt refreshed."
USAGE = "Usage: /memory <view|clear|reset|enqueue|rebuild>"


class Listening:
    """A model that notes what it is told, reads `url` if it is given one, and answers."""

    def __init__(self, url=""):
        self.told, self.tools, self.returned = [], [], ""
        self.url, self.model = url, FunctionModel(self._answer)

    def _answer(self, messages, info):
        self.told.append(info.instructions)
        self.tools.append({tool.name for tool in info.function_tools})
        returned = [part.content for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        if self.url and not returned:
            return ModelResponse(parts=[ToolCallPart("read", {"url": self.url})])
        self.returned = returned[0] if returned else ""
        return ModelResponse(parts=[TextPart("ok")])


@pytest.fixture
def today(clock):
    """The agents' clock shows what that of the project shows."""
    clock.now = system_clock()


@pytest.fixture
def begin(agent_of, write_role, today):
    """Begins a conversation in the project, as `holdfast run` does."""
    begun = []

    def begin_(model=None, **options):
        conversation = Conversation(agent_of(write_role(), (model or Listening()).model, **options))
        conversation.project.begin()
        begun.append(conversation)
        return conversation

    yield begin_
    for conversation in begun:
        conversation.end()


def built():
    """Waits until nothing is being built any more."""
    for thread in threading.enumerate():
        if thread.name == "holdfast-project":
            thread.join(PATIENCE)
            assert not thread.is_alive()


# What the agent is told


def test_op_02_two_calls_in_the_background_and_the_next_session_knows(shop, builder, begin):
    shop.enable(model=builder)
    shop.talk("thread-1")
    first, second = Listening(), Listening()
    talk = begin(first)
    built()
    assert builder.calls == (1, 1)
    talk.say("hello")
    talk.say("hello again")
    talk.end()
    assert not any("Memory Guidance" in told for told in first.told), (
        "what is built meanwhile is for the next session"
    )
    begin(second).say("hello")
    assert "# Memory Guidance" in second.told[0]
    assert "Use pnpm." in second.told[0]
    assert builder.calls == (1, 1), "OP-03: nothing changed, nothing is asked"


def test_the_prompt_is_the_same_to_the_byte_while_the_files_change(shop, begin):
    shop.enable()
    shop.talk("thread-1")
    shop.project.build()
    model = Listening()
    talk = begin(model)
    talk.say("one")
    shop.talk("thread-2", "We decided to use Vite instead of webpack because it starts faster.")
    shop.project.build()
    talk.say("two")
    assert model.told[0] == model.told[1]
    assert "pnpm" in model.told[0]
    assert str(shop.project.folder) not in model.told[0]
    later = Listening()
    begin(later).say("three")
    assert "Vite" in later.told[0]


def test_op_19_without_a_summary_nothing_is_told_and_nothing_can_be_read(shop, begin):
    shop.enable()
    model = Listening()
    begin(model).say("hello")
    assert model.told == ["You are a helpful assistant."]
    assert "read" not in model.tools[0]


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("memory://root", "pnpm"),
        ("memory://root/MEMORY.md", "## Decisions"),
        ("memory://root/../x", "Path traversal (..) is not allowed in memory:// URLs"),
        ("memory://root/no.md", "Memory file not found: memory://root/no.md"),
    ],
)
def test_op_20_the_agent_reads_what_the_guidance_names(shop, begin, url, told):
    shop.enable()
    shop.talk("thread-1")
    shop.project.build()
    model = Listening(url)
    begin(model).say("How do we install packages?")
    assert told in model.returned


def test_an_agent_on_its_own_is_told_too(shop, agent_of, write_role, today):
    shop.enable()
    shop.talk("thread-1")
    shop.project.build()
    told = []

    def answer(messages, info):
        told.append(info.instructions)
        ended = isinstance(messages[-1].parts[0], ToolReturnPart)
        return ModelResponse(
            parts=[TextPart("ok") if ended else ToolCallPart("finish_task", {"summary": "done"})]
        )

    pursue(agent_of(write_role(), FunctionModel(answer)), "Install the packages")
    assert "pnpm" in told[0]


# When nothing is built


def disabled(shop, builder, agent):
    (shop.folder / config.PROJECT_FILE).write_text('{"models": {"default": "openai:builder"}}')


def switched_off(shop, builder, agent):
    with Holdfast.open(scope=shop.scope, background=False) as hf:
        hf.sessions.set_profile(enabled=False)


def without_memory(shop, builder, agent):
    agent["use_memory"] = False


def incognito(shop, builder, agent):
    agent["mode"] = "incognito"


def unopenable(shop, builder, agent):
    shop.close()
    store = config.default_store()
    for file in store.parent.glob("memory.db*"):
        file.unlink()
    store.mkdir(parents=True)


def misspelt(shop, builder, agent):
    (shop.folder / config.PROJECT_FILE).write_text("memories: {enabeld: true}")


@pytest.mark.parametrize(
    "why",
    [disabled, switched_off, without_memory, incognito, unopenable, misspelt],
    ids=lambda why: why.__name__,
)
def test_op_01_no_model_is_asked_and_the_session_starts_as_always(shop, builder, begin, why):
    shop.enable(model=builder)
    shop.talk("thread-1")
    options = {}
    why(shop, builder, options)
    model = Listening()
    talk = begin(model, **options)
    assert talk.say("hello").text == "ok"
    built()
    assert builder.chats == []
    assert model.told == ["You are a helpful assistant."]


def test_op_01_a_sub_agent_and_a_prompt_that_leaves_no_session_build_nothing(
    shop, builder, agent_of, write_role, cli
):
    shop.enable(model=builder)
    shop.talk("thread-1")
    model = Listening()
    agent_of(write_role(), model.model, chain=("boss",)).run("hello")
    assert model.told == ["You are a helpful assistant."]
    assert cli("run", write_role(), "-p", "hello").code == 0
    assert builder.chats == []


def test_the_session_that_goes_on_is_not_read(shop, agent_of, write_role, today):
    shop.enable()
    shop.talk("thread-1")
    for session, outputs in (("thread-1", 0), ("thread-2", 1)):
        project = ProjectMemory(
            agent_of(write_role(), Listening().model), shop.folder, session=session
        )
        project.begin()
        built()
        project.end()
        assert shop.project.standing().outputs == outputs


def test_leaving_does_not_wait_and_gives_back_what_was_begun(shop, builder, begin):
    """Also not for a model that does not answer: the next session does it, at once."""
    shop.enable(model=builder)
    shop.talk("thread-1")
    held = builder.hold("first")
    talk = begin()
    held.come()
    talk.end()
    built()
    assert shop.jobs() == {"project-extract thread-1": "pending"}
    begin()
    built()
    assert shop.text("memory_summary.md") == "Use pnpm.\n"


def test_leaving_in_the_second_phase_leaves_the_old_files(shop, builder, begin):
    shop.enable(model=builder)
    shop.talk("thread-1")
    begin().say("hello")
    built()
    shop.talk("thread-2")
    builder.built = builder.built | {"memory_summary": "Newer."}
    held = builder.hold(SECOND)
    talk = begin()
    held.come()
    talk.end()
    built()
    assert shop.text("memory_summary.md") == "Use pnpm.\n"
    assert shop.jobs()["project-build memory"] == "pending"


# /memory


@pytest.fixture
def talk(shop, begin):
    """A conversation in a project that knows something."""
    shop.enable()
    shop.talk("thread-1")
    shop.project.build()
    return begin()


def test_op_22_alone_it_is_view(talk):
    shown = talk.slash("")
    assert shown == talk.slash("view") == talk.slash(" VIEW ")
    assert shown.startswith("Memory Injection Payload\n\n")
    assert "# Memory Guidance" in shown
    assert "pnpm" in shown


def test_view_says_when_the_next_session_will_know_more(shop, talk):
    shop.talk("thread-2", "We decided to use Vite instead of webpack because it starts faster.")
    shop.project.build()
    assert talk.slash("view").endswith(
        "What was built since this session began is told to the next one."
    )


def test_op_22_without_any_memory_it_says_so(shop, begin):
    shop.enable()
    assert begin().slash("") == EMPTY
    (shop.folder / config.PROJECT_FILE).unlink()
    disabled = begin()
    assert disabled.slash("view") == EMPTY
    assert disabled.slash("") is None, "what the agent remembers is listed, as always"


@pytest.mark.parametrize("word", ["clear", "reset"])
def test_op_22_clear_asks_and_touches_this_project_alone(shop, talk, word):
    other = Scope("project", "blog-5e6f7a8b")
    shop.talk("thread-9", scope=other)
    talk.agent.memory.remember("semantic", "Ann likes tea")
    asked = talk.slash(word)
    assert "1 of 1 past session" in asked
    assert talk.waiting
    assert shop.project.guidance()
    assert talk.say("yes").text == CLEARED
    assert (talk.agent.guidance, shop.project.guidance(), shop.project.standing().outputs) == (
        "",
        "",
        0,
    )
    assert shop.jobs() == {}
    assert len(shop.project.memory.store.sessions.list([other])) == 1
    assert [one.content for one in talk.agent.memory.listed()] == ["Ann likes tea"]
    assert shop.project.build().read == 1, "the sessions stay, and are read anew"


@pytest.mark.parametrize(
    ("said", "reply"), [("no", "Okay, nothing was cleared."), ("", "Okay, nothing was cleared.")]
)
def test_clear_without_a_yes_clears_nothing(shop, talk, said, reply):
    talk.slash("clear")
    assert talk.say(said).text == reply
    assert shop.project.guidance()


def test_an_answer_to_something_else_is_none(shop, talk):
    talk.slash("clear")
    assert talk.say("How do we deploy?").text == "ok"
    assert talk.say("yes").text == "ok"
    talk.slash("clear")
    talk.slash("stats")
    assert talk.say("yes").text == "ok"
    assert shop.project.guidance()


@pytest.mark.parametrize("word", ["enqueue", "rebuild"])
def test_op_22_enqueue_has_the_next_session_build(shop, talk, begin, word):
    built()
    (shop.project.folder / "MEMORY.md").unlink()
    assert talk.slash(word) == "Memory consolidation enqueued."
    assert shop.jobs()["project-build memory"] == "pending"
    begin()
    built()
    assert "pnpm" in shop.text("MEMORY.md")


def test_stats_and_diagnose(shop, talk):
    built()
    assert (
        f"project: {shop.scope}\nfolder: {shop.project.folder}\nsessions: 1\nthat taught: 1\n"
        in talk.slash("stats")
    )
    assert talk.slash("diagnose") == f"All is well: {shop.project.folder}"
    shop.talk("thread-2")
    assert talk.slash("diagnose") == "1 session to read. Run `holdfast project build`."


def test_diagnose_says_what_went_wrong(shop, builder, begin):
    shop.enable(model=builder)
    shop.talk("thread-1")
    builder.status = 500
    talk = begin()
    built()
    assert "thread-1: stage1 model error" in talk.slash("diagnose")


def test_what_fails_is_told(shop, builder, begin):
    unopenable(shop, builder, {})
    talk = begin()
    assert talk.slash("clear").startswith("Memory clear failed: ")
    assert talk.slash("rebuild").startswith("Memory enqueue failed: ")
    assert not talk.waiting


def test_a_guest_has_none(shop, begin):
    shop.enable()
    for options in ({"use_memory": False}, {"mode": "incognito"}):
        assert "guest mode" in begin(**options).slash("clear")


def test_op_22_the_other_forms_and_a_search_are_what_they_were(talk):
    assert talk.slash("status").startswith("I have 0 facts")
    assert talk.slash("list facts") == "I don't have any saved facts for you right now."
    assert "/memory clear facts|sessions|rules|all" in talk.slash("forget")
    assert talk.slash("clear facts") == "I don't have any saved facts for you right now."
    assert talk.slash("recall off") == "Proactive recall is now off."
    assert talk.slash("clear up the table") == talk.slash("forget"), "which says how"
    assert talk.slash("foo") is None
    assert talk.slash("green tea") is None


def test_op_22_in_the_terminal(shop, write_role, cli):
    shop.enable()
    shop.talk("thread-1")
    shop.project.build()
    role = write_role()
    said = (
        "I like green tea.\n/memory foo\n/memory tea\n/memory\n/memory clear\n\n/memory "
        "reset\nyes\n/memory\n"
    )
    out = cli("run", role, "-i", stdin=said).out
    assert f"\n{USAGE}\n" in out
    assert "I like green tea" in out.split(USAGE)[1].split("Memory Injection Payload")[0]
    assert (
        out.index("Memory Injection Payload")
        < out.index("nothing was cleared")
        < out.index(CLEARED)
    )
    assert out.rstrip().endswith(EMPTY)
    (shop.folder / config.PROJECT_FILE).unlink()
    assert (
        cli("run", role, "-i", stdin="/memory foo bar\n/memory qqq\n").out
        == "No memories found.\n" * 2
    )


def test_op_22_on_the_screen(shop, begin):
    shop.enable()
    shop.talk("thread-1", DECIDED)
    shop.project.build()
    talk = begin()

    async def sitting():
        app = ChatApp(lambda tell: talk)
        async with app.run_test(size=(120, 40)) as pilot:
            while not app.query(MemoryPanel):
                await pilot.pause()
            for said in ("/memory", "/memory foo", "/memory clear", "yes"):
                app.query_one(Prompt).insert(said)
                await pilot.press("enter")
                await pilot.pause()
                await app.workers.wait_for_complete()
            await pilot.pause()
            return [str(line.content) for line in app.query("#talk Static").results(Static)]

    shown = asyncio.run(sitting())
    assert any(line.startswith("Memory Injection Payload") for line in shown)
    assert USAGE in shown
    assert talk.agent.guidance == ""


# Our own sessions count, and the model they are held with serves


def test_a_conversation_of_our_own_is_a_past_session_of_the_project(shop, begin, clock):
    shop.enable()
    talk = begin()
    talk.say(DECIDED)
    talk.end()
    with Holdfast.open(scope=shop.scope, background=False) as hf:
        (session,) = hf.sessions.list()
        assert (session.agent, [turn.content for turn in hf.list(kinds=["turn"])]) == (
            "assistant",
            ["ok", DECIDED],
        )
        assert not is_unread(hf.store, session), "nothing else learns from it"
    clock.forward(hours=13)
    assert "pnpm" in begin_and_build(begin, shop)


def begin_and_build(begin, shop):
    begin().end()  # a session that begins builds what is due, and gives back what it has not done
    shop.project.of_any_age().build()
    return (shop.project.folder / "MEMORY.md").read_text()


def test_nothing_is_kept_of_what_was_not_to_be_remembered_nor_where_memories_are_not_enabled(
    shop, begin
):
    begin().say(DECIDED)
    shop.enable()
    talk = begin()
    talk.say("We decided to use a key that nobody may know.")
    talk.say("don't remember that")
    talk.end()
    begin(use_memory=False).say(DECIDED)
    with Holdfast.open(scope=shop.scope, background=False) as hf:
        assert hf.sessions.list() == []


def test_what_memory_tools_said_is_no_part_of_a_past_session(shop, begin):
    shop.enable()
    shop.talk("thread-1")
    shop.project.build()
    talk = begin(Listening("memory://root"))
    talk.say("what do we use?")
    talk.end()
    with Holdfast.open(scope=shop.scope, background=False) as hf:
        own = [turn.content for turn in hf.list(kinds=["turn"]) if turn.session != "thread-1"]
    assert own == ["ok", "what do we use?"]


def test_without_a_named_model_the_one_of_the_session_builds_and_an_empty_name_means_rules(
    shop, builder, agent_of, write_role, today
):
    role = write_role(model=f"{{provider: openai, name: own, base_url: '{builder.url}'}}")
    for named, calls in ((None, (1, 1)), ("", (1, 1))):
        shop.enable(named=named)
        shop.talk(
            f"thread-{named}",
            f"We decided to use pnpm {named} instead of npm because npm breaks the lock file.",
        )
        talk = Conversation(agent_of(role))
        talk.project.begin()
        built()
        talk.end(hurry=True)
        assert builder.calls == calls
