"""What every adapter promises about the requests of a run."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

from provider import RULE, WINDOW, Provider, Request, page

BYTES_PER_TOKEN = 3.5
ID = re.compile(r'"(?:call_id|tool_call_id|tool_use_id)": "([^"]+)"')


def check_requests(provider: Provider) -> None:
    """Checks that requests fit, are valid, keep their IDs and contain the user's first rule."""
    assert len(provider.requests) == provider.turns
    issued = {f"call_{number}" for number in range(provider.calls + 1)}
    for request in provider.requests:
        text = json.dumps(request.body)
        assert request.violations == []
        assert request.size / BYTES_PER_TOKEN <= WINDOW
        assert RULE in text
        assert set(ID.findall(text)) <= issued
        _check_type(request)
    assert _was_compacted(provider)
    _check_steady(provider)


def _was_compacted(provider: Provider) -> bool:
    sizes = [request.size for request in provider.requests]
    whole = sum(len(page(number)) for number in range(provider.calls))
    return max(sizes) < whole / 2 and any(later < earlier for earlier, later in pairwise(sizes))


def _check_steady(provider: Provider) -> None:
    """Checks that few requests differ from the one before by more than what was added."""
    lists = [_messages(request) for request in provider.requests]
    changed = sum(earlier != later[: len(earlier)] for earlier, later in pairwise(lists))
    assert changed <= provider.calls // 5


def _messages(request: Request) -> list[Any]:
    body = request.body
    return next(body[key] for key in ("messages", "input", "contents") if key in body)


def _check_type(request: Request) -> None:
    """Checks messages by the types of the provider's library."""
    from pydantic import TypeAdapter

    adapter = TypeAdapter(_message_type(request.format))
    for message in _messages(request):
        adapter.validate_python(message)


def _message_type(format: str) -> Any:
    if format == "openai-chat":
        from openai.types.chat import ChatCompletionMessageParam

        return ChatCompletionMessageParam
    if format == "openai-responses":
        from openai.types.responses import ResponseInputItemParam

        return ResponseInputItemParam
    if format == "anthropic-messages":
        from anthropic.types import MessageParam

        return MessageParam
    from google.genai.types import Content

    return Content
