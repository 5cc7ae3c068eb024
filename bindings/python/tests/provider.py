"""A scripted provider on loopback: it checks each request and answers with the next tool call."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import window_budget

CALLS = 60
WINDOW = 32_000
TOOL = "read_page"
RULE = "Never write to legacy/."
PROMPT = f"{RULE} Read every page of the ledger, one after the other, and sum them."
ANSWER = "The sum is 42."
BYTES_PER_COUNTED_TOKEN = 4


def page(number: int) -> str:
    """The result of the tool: about 900 tokens."""
    rows = (f"page {number} row {row}: {number * 37 + row * 11} cents" for row in range(120))
    return "\n".join(rows)


@dataclass
class Request:
    """A request, and what is wrong with it."""

    format: str
    body: dict[str, Any]
    size: int
    violations: list[dict[str, Any]]


@dataclass
class Provider:
    """The answers of a server, and the requests that it received."""

    url: str = ""
    requests: list[Request] = field(default_factory=list)
    calls: int = CALLS
    calls_per_turn: int = 1
    final_tool: str | None = None

    def answer(self, path: str, text: bytes) -> dict[str, Any]:
        """Records a request and returns the next answer."""
        name = next(suffix for suffix in SHAPES if path.split("?")[0].endswith(suffix))
        shape, body = SHAPES[name], json.loads(text)
        violations = window_budget.validate(body, format=shape.format)
        self.requests.append(Request(shape.format, body, len(text), violations))
        number = len(self.requests) - 1
        return shape.meter(self._next(shape, number), number, len(text) // BYTES_PER_COUNTED_TOKEN)

    def _next(self, shape: Shape, turn: int) -> dict[str, Any]:
        first = turn * self.calls_per_turn
        numbers = range(first, min(first + self.calls_per_turn, self.calls))
        calls = [Call(number, TOOL, {"number": number}) for number in numbers]
        if not calls and self.final_tool is not None:
            calls = [Call(first, self.final_tool, {"answer": ANSWER})]
        return shape.answer([shape.call(call) for call in calls] or [shape.text(ANSWER)])

    @property
    def turns(self) -> int:
        """How many requests a run sends."""
        return -(-self.calls // self.calls_per_turn) + 1


@dataclass(frozen=True)
class Call:
    """A call of a tool."""

    number: int
    name: str
    arguments: dict[str, Any]

    @property
    def id(self) -> str:
        """The ID that its result names."""
        return f"call_{self.number}"


@dataclass(frozen=True)
class Shape:
    """How one provider words calls, a text, and an answer with either of them."""

    format: str
    call: Callable[[Call], dict[str, Any]]
    text: Callable[[str], dict[str, Any]]
    answer: Callable[[list[dict[str, Any]]], dict[str, Any]]
    id: str
    usage: tuple[str, str, str]

    def meter(self, answer: dict[str, Any], number: int, tokens: int) -> dict[str, Any]:
        """Gives an answer its ID and its usage."""
        key, sent, received = self.usage
        usage = {**answer.get(key, {}), sent: tokens, received: 20}
        return {**answer, self.id: f"answer_{number}", key: usage}


def _chat_call(call: Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": json.dumps(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _chat_text(text: str) -> dict[str, Any]:
    return {"text": text}


def _chat(items: list[dict[str, Any]]) -> dict[str, Any]:
    calls = [item for item in items if "function" in item]
    message = {"content": None, "tool_calls": calls} if calls else {"content": items[0]["text"]}
    reason = "tool_calls" if calls else "stop"
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
    head = {"object": "chat.completion", "created": 1, "model": "scripted"}
    return {**head, "choices": [choice], "usage": {"total_tokens": 0}}


def _responses_call(call: Call) -> dict[str, Any]:
    head = {"type": "function_call", "id": f"fc_{call.number}", "call_id": call.id}
    arguments = json.dumps(call.arguments)
    return {**head, "name": call.name, "arguments": arguments, "status": "completed"}


def _responses_text(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    return {**message, "content": content}


def _responses(items: list[dict[str, Any]]) -> dict[str, Any]:
    details: dict[str, Any] = {
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}
    }
    details |= {"output_tokens_details": {"reasoning_tokens": 0}}
    head = {"object": "response", "created_at": 1, "model": "scripted", "status": "completed"}
    settings = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return {**head, **settings, "output": items, "usage": {"total_tokens": 0, **details}}


def _anthropic_call(call: Call) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}


def _anthropic_text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _anthropic(items: list[dict[str, Any]]) -> dict[str, Any]:
    head = {"type": "message", "role": "assistant", "model": "scripted"}
    reason = "tool_use" if items[0]["type"] == "tool_use" else "end_turn"
    return {**head, "content": items, "stop_reason": reason}


def _gemini_call(call: Call) -> dict[str, Any]:
    return {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}}


def _gemini_text(text: str) -> dict[str, Any]:
    return {"text": text}


def _gemini(items: list[dict[str, Any]]) -> dict[str, Any]:
    content = {"role": "model", "parts": items}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "modelVersion": "scripted"}


CHAT = ("usage", "prompt_tokens", "completion_tokens")
TOKENS = ("usage", "input_tokens", "output_tokens")
COUNTS = ("usageMetadata", "promptTokenCount", "candidatesTokenCount")
SHAPES = {
    "/chat/completions": Shape("openai-chat", _chat_call, _chat_text, _chat, "id", CHAT),
    "/responses": Shape(
        "openai-responses", _responses_call, _responses_text, _responses, "id", TOKENS
    ),
    "/messages": Shape(
        "anthropic-messages", _anthropic_call, _anthropic_text, _anthropic, "id", TOKENS
    ),
    ":generateContent": Shape(
        "gemini-contents", _gemini_call, _gemini_text, _gemini, "responseId", COUNTS
    ),
}


class Server(ThreadingHTTPServer):
    """Serves a provider on a free port of loopback."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.provider = Provider(url=f"http://127.0.0.1:{self.server_port}")
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"]))
        answer = json.dumps(self.server.provider.answer(self.path, text)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        """Keeps the output of tests quiet."""
