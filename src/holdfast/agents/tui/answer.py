"""An answer of the agent on the screen, as Markdown that can do nothing."""

from __future__ import annotations

from markdown_it import MarkdownIt
from textual.widgets import Markdown

from ...text.terminal import plain


class Answer(Markdown):
    """The agent's text. Links and HTML are shown as written and do nothing."""

    def __init__(self, text: str = "") -> None:
        super().__init__(
            plain(text),
            parser_factory=_harmless_markdown,
            open_links=False,
        )


def _harmless_markdown() -> MarkdownIt:
    # A model could hide a link or a picture behind other words.
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return parser.disable(["link", "image", "autolink", "reference", "html_inline", "html_block"])
