"""Resources: the files of project memory, every memory, and the knowledge graph, by URL."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from ...client import Holdfast
from ...errors import HoldfastError, NotFound
from ...records.memory_urls import NAMESPACE, SCHEME, SUMMARY
from ...types import Memory
from .read_tools import memory_text

if TYPE_CHECKING:
    from ...namespaces.project_view import Project

ROOT = f"{SCHEME}{NAMESPACE}"
MARKDOWN = "text/markdown"
GRAPH = f"{SCHEME}knowledge-graph"
GRAPH_RESOURCE = {
    "uri": GRAPH,
    "name": "knowledge-graph",
    "title": "The whole knowledge graph",
    "description": "Entities with their observations, and relations.",
    "mimeType": "application/json",
}
TEMPLATES: list[dict[str, Any]] = [
    {
        "uriTemplate": f"{SCHEME}{{scope}}/{{kind}}/{{id}}",
        "name": "memory",
        "title": "A memory",
        "description": "One memory in full, e.g. memory://user%3Aalice/fact/fact_01k9…",
        "mimeType": MARKDOWN,
    },
    {
        "uriTemplate": f"{ROOT}/skills/{{name}}/SKILL.md",
        "name": "skill",
        "title": "A skill of this project",
        "description": "Steps that past sessions of this project have taught.",
        "mimeType": MARKDOWN,
    },
]


def listed(hf: Holdfast) -> list[dict[str, Any]]:
    """Return the existing files of project memory, in a fixed order; none outside a project."""
    project = _project(hf)
    if project is None or not project.folder.is_dir():
        return []
    files = [
        (SUMMARY, ROOT, "What past sessions taught, in short"),
        ("MEMORY.md", f"{ROOT}/MEMORY.md", "What past sessions taught"),
        *(
            (f"skills/{name}/SKILL.md", f"{ROOT}/skills/{quote(name)}/SKILL.md", f"Skill: {name}")
            for name in skills(hf)
        ),
    ]
    return [
        {"uri": url, "name": name, "title": title, "mimeType": MARKDOWN}
        for name, url, title in files
        if (project.folder / name).is_file()
    ]


def skills(hf: Holdfast) -> list[str]:
    """Return the names of the project's skills; none outside a project."""
    project = _project(hf)
    found = project.folder.glob("skills/*/SKILL.md") if project else ()
    return sorted(file.parent.name for file in found)


def read(hf: Holdfast, uri: str) -> dict[str, Any]:
    """Return what a URL names; NotFound if there is nothing."""
    if uri == GRAPH:
        # Imported here: only clients of the graph need it.
        from ...integrations.knowledge_graph import Graph  # noqa: PLC0415

        graph = json.dumps(Graph(hf).read(), indent=2, ensure_ascii=False)
        return {"uri": uri, "mimeType": GRAPH_RESOURCE["mimeType"], "text": graph}
    if uri == ROOT or uri.startswith(f"{ROOT}/"):
        project = _project(hf)
        if project is None:
            raise NotFound(f"There is no project here whose memory {uri} could be.")
        artifact = project.read(uri)
        return {"uri": uri, "mimeType": artifact.type, "text": artifact.text}
    return {"uri": uri, "mimeType": MARKDOWN, "text": memory_text(_named(hf, uri))}


def url_of(memory: Memory) -> str:
    """Return the URL of a memory."""
    return f"{SCHEME}{quote(str(memory.scope), safe='')}/{memory.kind}/{quote(memory.id)}"


def _project(hf: Holdfast) -> Project | None:
    """Return the project among the scopes, unless its memory is disabled."""
    # Imported here: it can also build memories and loads slowly.
    from ...namespaces.project_view import project_of  # noqa: PLC0415

    try:
        project = project_of(hf)
    except HoldfastError:
        return None
    return project if project.is_on else None


def _named(hf: Holdfast, uri: str) -> Memory:
    scope, *steps = (unquote(step) for step in uri.removeprefix(SCHEME).split("/"))
    memory = hf.get(steps[1]) if uri.startswith(SCHEME) and len(steps) == 2 else None
    if memory is None or (str(memory.scope), memory.kind) != (scope, steps[0]):
        raise NotFound(
            f"There is no memory {uri}. Write it like {TEMPLATES[0]['uriTemplate']}.", id=uri
        )
    return memory
