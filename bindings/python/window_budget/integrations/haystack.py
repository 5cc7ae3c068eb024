"""Haystack: the compactor of a `CompactionHook`."""

from __future__ import annotations

from typing import Any

from haystack.core.serialization import default_to_dict
from haystack.dataclasses import ChatMessage, ToolCallResult
from haystack.hooks.compaction.types import Compactor
from haystack.token_counters import TokenCounter

from .._calls import compact
from .._compactor import log_unchanged, message_key


class DigestCompactor(Compactor):
    """Replaces the oldest messages by a digest; the hook says when, and how much may remain."""

    def __init__(self, **options: Any) -> None:
        compact([], format="openai-chat", **options)
        self._options = options

    def compact(
        self, messages: list[ChatMessage], target_tokens: int, token_counter: TokenCounter
    ) -> list[ChatMessage] | None:
        """Returns lighter messages, or None if they stay as they are."""
        options = {**self._options, "target_tokens": max(target_tokens, 1)}
        try:
            items = [message.to_openai_dict_format() for message in messages]
            compacted = compact(items, format="openai-chat", **options).messages
        except ValueError as error:
            log_unchanged(error)
            return None
        kept = {message_key(item): old for item, old in zip(items, messages, strict=True)}
        results = {r.origin.id: r for message in messages for r in message.tool_call_results}
        return compacted and [kept.get(message_key(i)) or _message(i, results) for i in compacted]

    def to_dict(self) -> dict[str, Any]:
        """Returns the class and its options."""
        return default_to_dict(self, **self._options)


def _message(item: dict[str, Any], results: dict[str | None, ToolCallResult]) -> ChatMessage:
    old = results.get(item.get("tool_call_id"))
    if old is None:
        return ChatMessage.from_openai_dict_format(item)
    return ChatMessage.from_tool(item["content"], old.origin, error=old.error)
