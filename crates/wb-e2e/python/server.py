"""A provider on the loopback address: it checks what it is asked and answers with the least that is valid."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from rules import findings

PATHS = [
    (r"/v1/chat/completions", "openai"),
    (r"/v1/responses", "openai-responses"),
    (r"/v1/messages", "anthropic"),
    (r"/v1(?:beta)?/models/([^:/]+):generateContent", "gemini"),
]
WORD = "Fine."

ANSWERS = {
    "openai": {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "logprobs": None,
                "message": {"role": "assistant", "content": WORD, "refusal": None},
            }
        ],
        "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
    },
    "openai-responses": {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": "m",
        "output": [
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": WORD, "annotations": []}],
            }
        ],
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
    },
    "anthropic": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": WORD}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 9, "output_tokens": 2},
    },
    "gemini": {
        "candidates": [
            {"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [{"text": WORD}]}}
        ],
        "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2, "totalTokenCount": 11},
        "modelVersion": "m",
        "responseId": "r",
    },
}


def refusal(dialect, why):
    if dialect == "anthropic":
        return {"type": "error", "error": {"type": "invalid_request_error", "message": why}}
    if dialect == "gemini":
        return {"error": {"code": 400, "message": why, "status": "INVALID_ARGUMENT"}}
    return {"error": {"message": why, "type": "invalid_request_error", "param": None, "code": None}}


def camel(value):
    """Takes names with underscores too, as providers that read protocol buffers do; what is in the caller's own words stays."""
    if isinstance(value, list):
        return [camel(each) for each in value]
    if not isinstance(value, dict):
        return value
    own = {"args", "response", "parameters", "parametersJsonSchema"}
    renamed = {re.sub(r"_([a-z])", lambda match: match[1].upper(), key): inner for key, inner in value.items()}
    return {key: inner if key in own else camel(inner) for key, inner in renamed.items()}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        text = self.rfile.read(int(self.headers.get("content-length", 0)))
        path = self.path.split("?")[0]
        matches = ((re.fullmatch(pattern, path), dialect) for pattern, dialect in PATHS)
        match, dialect = next(((match, dialect) for match, dialect in matches if match), (None, "openai"))
        if match is None:
            self.server.strays.append(path)
            return self.answer(404, refusal("openai", f"no such path: {path}"))
        body = camel(json.loads(text)) if dialect == "gemini" else json.loads(text)
        model = match[1] if match.groups() else body.get("model", "")
        found = findings(dialect, model if isinstance(model, str) else "", body)
        self.server.asked.append((dialect, model, body, found))
        if found:
            return self.answer(400, refusal(dialect, "; ".join(f"{at}: {word}: {why}" for at, word, why in found)))
        return self.answer(200, ANSWERS[dialect])

    def answer(self, status, value):
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *words):
        pass


def start():
    """Starts to listen on a free port; what was asked is in `asked`, and paths that no provider has in `strays`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.asked, server.strays = [], []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
