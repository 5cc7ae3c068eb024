"""A scripted provider on loopback: it checks each request and answers with the next tool call."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from typing import Any

import window_budget

CALLS = 60
WINDOW = 32_000
TOOL = "read_page"
RULE = "Never write to legacy/."
PROMPT = f"{RULE} Read every page of the ledger, one after the other, and sum them."
ANSWER = "The sum is 42."
BYTES_PER_TOKEN = 3.5
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
    final_tool: str | None = None

    def answer(self, path: str, text: bytes) -> dict[str, Any]:
        """Records a request and returns the next answer."""
        name = next(suffix for suffix in SHAPES if path.split("?")[0].endswith(suffix))
        shape, body = SHAPES[name], json.loads(text)
        violations = window_budget.validate(body, format=shape.format)
        self.requests.append(Request(shape.format, body, len(text), violations))
        number = len(self.requests) - 1
        return shape.meter(self._next(shape, number), number, len(text) // BYTES_PER_COUNTED_TOKEN)

    def _next(self, shape: Shape, number: int) -> dict[str, Any]:
        if number < self.calls:
            return shape.call(number, TOOL, {"number": number})
        if self.final_tool is not None:
            return shape.call(number, self.final_tool, {"answer": ANSWER})
        return shape.done(ANSWER)


@dataclass(frozen=True)
class Shape:
    """How one provider words a tool call and a last answer."""

    format: str
    call: Callable[[int, str, dict[str, Any]], dict[str, Any]]
    done: Callable[[str], dict[str, Any]]
    id: str
    usage: tuple[str, str, str]

    def meter(self, answer: dict[str, Any], number: int, tokens: int) -> dict[str, Any]:
        """Gives an answer its ID and its usage."""
        key, sent, received = self.usage
        usage = {**answer.get(key, {}), sent: tokens, received: 20}
        return {**answer, self.id: f"answer_{number}", key: usage}


def _chat(message: dict[str, Any], reason: str) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
    head = {"object": "chat.completion", "created": 1, "model": "scripted"}
    return {**head, "choices": [choice], "usage": {"total_tokens": 0}}


def _chat_call(number: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    return _chat({"content": None, "tool_calls": [call]}, "tool_calls")


def _chat_done(text: str) -> dict[str, Any]:
    return _chat({"content": text}, "stop")


def _responses(item: dict[str, Any]) -> dict[str, Any]:
    details = {"input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}}
    details |= {"output_tokens_details": {"reasoning_tokens": 0}}
    usage = {"total_tokens": 0, **details}
    head = {"object": "response", "created_at": 1, "model": "scripted"}
    settings = {"parallel_tool_calls": False, "tool_choice": "auto", "tools": []}
    return {**head, **settings, "status": "completed", "output": [item], "usage": usage}


def _responses_call(number: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
    call |= {"name": name, "arguments": json.dumps(arguments), "status": "completed"}
    return _responses(call)


def _responses_done(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    return _responses({**message, "content": content})


def _anthropic(block: dict[str, Any], reason: str) -> dict[str, Any]:
    head = {"type": "message", "role": "assistant", "model": "scripted"}
    return {**head, "content": [block], "stop_reason": reason}


def _anthropic_call(number: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments}
    return _anthropic(call, "tool_use")


def _anthropic_done(text: str) -> dict[str, Any]:
    return _anthropic({"type": "text", "text": text}, "end_turn")


def _gemini(part: dict[str, Any]) -> dict[str, Any]:
    content = {"role": "model", "parts": [part]}
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "modelVersion": "scripted"}


def _gemini_call(number: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    call = {"id": f"call_{number}", "name": name, "args": arguments}
    return _gemini({"functionCall": call})


def _gemini_done(text: str) -> dict[str, Any]:
    return _gemini({"text": text})


CHAT = ("usage", "prompt_tokens", "completion_tokens")
TOKENS = ("usage", "input_tokens", "output_tokens")
COUNTS = ("usageMetadata", "promptTokenCount", "candidatesTokenCount")
SHAPES = {
    "/chat/completions": Shape("openai-chat", _chat_call, _chat_done, "id", CHAT),
    "/responses": Shape("openai-responses", _responses_call, _responses_done, "id", TOKENS),
    "/messages": Shape("anthropic-messages", _anthropic_call, _anthropic_done, "id", TOKENS),
    ":generateContent": Shape("gemini-contents", _gemini_call, _gemini_done, "responseId", COUNTS),
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


def check_requests(provider: Provider) -> None:
    """Checks what every framework promises: size, validity, and the user's first rule."""
    assert len(provider.requests) == provider.calls + 1
    for request in provider.requests:
        assert request.violations == []
        assert request.size / BYTES_PER_TOKEN <= WINDOW
        assert RULE in json.dumps(request.body)
    assert _was_compacted(provider)
    _check_steady(provider)


def _was_compacted(provider: Provider) -> bool:
    sizes = [request.size for request in provider.requests]
    whole = sum(len(page(number)) for number in range(provider.calls))
    return max(sizes) < whole / 2 and any(b < a for a, b in pairwise(sizes))


def _check_steady(provider: Provider) -> None:
    """Checks that few requests differ from the one before by more than what was added."""
    texts = [_messages(request) for request in provider.requests]
    changed = sum(a != b[: len(a)] for a, b in pairwise(texts))
    assert changed <= provider.calls // 5


def _messages(request: Request) -> list[Any]:
    body = request.body
    return next(body[key] for key in ("messages", "input", "contents") if key in body)
