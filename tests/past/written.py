"""Sessions written as four coding agents keep them, in the folders in which they keep them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from past.tidewatch import SESSIONS, Edit, Past, Run

START = datetime(2026, 5, 4, 9, tzinfo=UTC)


def write_all(home: Path, cwd: Path, sessions: Sequence[Past] = SESSIONS) -> list[Path]:
    """Every session as its agent would have kept it; where they are."""
    return [WRITERS[past.agent](home, cwd, past) for past in sessions]


def _times(past: Past) -> Iterator[str]:
    at = START + timedelta(days=past.day)
    while True:
        yield at.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        at += timedelta(seconds=35)


def _lines(path: Path, records: Sequence[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), "utf-8"
    )
    return path


def claude_code(home: Path, cwd: Path, past: Past) -> Path:
    folder = home / ".claude" / "projects" / "".join(c if c.isalnum() else "-" for c in str(cwd))
    times, records, parent = _times(past), [], None
    common = {
        "isSidechain": False,
        "userType": "external",
        "cwd": str(cwd),
        "sessionId": past.id,
        "version": "2.1.230",
    }

    def add(kind: str, content: Any) -> None:
        nonlocal parent
        uuid = f"{past.id[-4:]}-{len(records)}"
        message = {"role": kind, "content": content}
        records.append(
            {
                "parentUuid": parent,
                **common,
                "gitBranch": "work",
                "type": kind,
                "message": message,
                "uuid": uuid,
                "timestamp": next(times),
            }
        )
        parent = uuid

    for number, entry in enumerate(past.entries):
        match entry:
            case Run(command, status, output):
                call = {
                    "type": "tool_use",
                    "id": f"t{number}",
                    "name": "Bash",
                    "input": {"command": command},
                }
                add("assistant", [call])
                text = output if not status else f"Exit code {status}\n{output}"
                result = {
                    "type": "tool_result",
                    "tool_use_id": f"t{number}",
                    "content": text,
                    "is_error": bool(status),
                }
                add("user", [result])
            case Edit(path):
                call = {
                    "type": "tool_use",
                    "id": f"t{number}",
                    "name": "Edit",
                    "input": {"file_path": path},
                }
                add("assistant", [call])
                add(
                    "user",
                    [
                        {
                            "type": "tool_result",
                            "tool_use_id": f"t{number}",
                            "content": "The file was updated.",
                        }
                    ],
                )
            case (role, text):
                add(role, text if role == "user" else [{"type": "text", "text": text}])
    records.append({"type": "summary", "summary": past.title, "leafUuid": parent})
    return _lines(folder / f"{past.id}.jsonl", records)


def codex(home: Path, cwd: Path, past: Past) -> Path:
    times, at = _times(past), START + timedelta(days=past.day)
    meta = {
        "id": past.id,
        "cwd": str(cwd),
        "originator": "codex-tui",
        "cli_version": "0.128.0",
        "source": "cli",
    }
    records = [{"timestamp": next(times), "type": "session_meta", "payload": meta}]

    def add(**payload: Any) -> None:
        records.append({"timestamp": next(times), "type": "response_item", "payload": payload})

    context = f"<environment_context>\n  <cwd>{cwd}</cwd>\n</environment_context>"
    add(type="message", role="user", content=[{"type": "input_text", "text": context}])
    for number, entry in enumerate(past.entries):
        match entry:
            case Run(command, status, output):
                add(
                    type="function_call",
                    name="shell",
                    call_id=f"c{number}",
                    arguments=json.dumps({"command": ["bash", "-lc", command]}),
                )
                told = json.dumps(
                    {"output": output, "metadata": {"exit_code": status, "duration_seconds": 0.8}}
                )
                add(type="function_call_output", call_id=f"c{number}", output=told)
            case Edit(path):
                patch = f"*** Begin Patch\n*** Update File: {path}\n*** End Patch"
                add(type="custom_tool_call", name="apply_patch", call_id=f"c{number}", input=patch)
                add(
                    type="custom_tool_call_output",
                    call_id=f"c{number}",
                    output=json.dumps({"output": "Success.", "metadata": {"exit_code": 0}}),
                )
            case (role, text):
                part = "input_text" if role == "user" else "output_text"
                add(type="message", role=role, content=[{"type": part, "text": text}])
    name = f"rollout-{at:%Y-%m-%dT%H-%M-%S}-{past.id}.jsonl"
    return _lines(home / ".codex" / "sessions" / f"{at:%Y/%m/%d}" / name, records)


def pi(home: Path, cwd: Path, past: Past) -> Path:
    times, at = _times(past), START + timedelta(days=past.day)
    records: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": past.id, "timestamp": next(times), "cwd": str(cwd)}
    ]

    def add(**message: Any) -> None:
        place = {
            "id": f"e{len(records)}",
            "parentId": records[-1]["id"] if len(records) > 1 else None,
        }
        records.append({"type": "message", **place, "timestamp": next(times), "message": message})

    for number, entry in enumerate(past.entries):
        match entry:
            case Run(command, status, output):
                call = {
                    "type": "toolCall",
                    "id": f"c{number}",
                    "name": "bash",
                    "arguments": {"command": command},
                }
                add(role="assistant", content=[call], stopReason="toolUse")
                told = [{"type": "text", "text": output}]
                add(
                    role="toolResult",
                    toolCallId=f"c{number}",
                    toolName="bash",
                    content=told,
                    isError=bool(status),
                )
            case Edit(path):
                call = {
                    "type": "toolCall",
                    "id": f"c{number}",
                    "name": "edit",
                    "arguments": {"path": path},
                }
                add(role="assistant", content=[call], stopReason="toolUse")
                told = [{"type": "text", "text": "Edited."}]
                add(
                    role="toolResult",
                    toolCallId=f"c{number}",
                    toolName="edit",
                    content=told,
                    isError=False,
                )
            case (role, text):
                add(role=role, content=[{"type": "text", "text": text}])
    folder = home / ".pi" / "agent" / "sessions" / f"--{str(cwd).strip('/').replace('/', '-')}--"
    return _lines(folder / f"{at:%Y-%m-%dT%H-%M-%S}-000Z_{past.id}.jsonl", records)


def gemini(home: Path, cwd: Path, past: Past) -> Path:
    times, at = _times(past), START + timedelta(days=past.day)
    first = next(times)
    records: list[dict[str, Any]] = [
        {
            "sessionId": past.id,
            "projectHash": "5a1f",
            "startTime": first,
            "lastUpdated": first,
            "kind": "main",
            "directories": [str(cwd)],
        }
    ]
    for number, entry in enumerate(past.entries):
        common = {"id": f"g{number}", "timestamp": next(times)}
        match entry:
            case Run(command, status, output):
                told = {
                    "id": f"r{number}",
                    "name": "run_shell_command",
                    "response": {"output": output},
                }
                done = [{"functionResponse": told}]
                call = {
                    "id": f"r{number}",
                    "name": "run_shell_command",
                    "args": {"command": command},
                    "result": done,
                    "status": "error" if status else "success",
                    "timestamp": common["timestamp"],
                }
                records.append({**common, "type": "gemini", "content": "", "toolCalls": [call]})
            case Edit(path):
                done = [
                    {
                        "functionResponse": {
                            "id": f"r{number}",
                            "name": "replace",
                            "response": {"output": "ok"},
                        }
                    }
                ]
                call = {
                    "id": f"r{number}",
                    "name": "replace",
                    "args": {"file_path": path},
                    "result": done,
                    "status": "success",
                    "timestamp": common["timestamp"],
                }
                records.append({**common, "type": "gemini", "content": "", "toolCalls": [call]})
            case ("user", text):
                records.append({**common, "type": "user", "content": [{"text": text}]})
            case (_, text):
                records.append({**common, "type": "gemini", "content": text})
    folder = home / ".gemini" / "tmp" / "tidewatch" / "chats"
    (folder.parent).mkdir(parents=True, exist_ok=True)
    (folder.parent / ".project_root").write_text(str(cwd), "utf-8")
    return _lines(folder / f"session-{at:%Y-%m-%dT%H-%M}-{past.id[:8]}.jsonl", records)


WRITERS = {"claude-code": claude_code, "codex": codex, "pi": pi, "gemini": gemini}
