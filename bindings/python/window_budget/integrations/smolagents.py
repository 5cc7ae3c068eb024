"""smolagents: a step callback that folds the older steps of an agent's memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from smolagents import ChatMessage, MessageRole
from smolagents.memory import ActionStep, MemoryStep
from smolagents.models import get_clean_message_list, get_tool_json_schema

from .._compactor import Compactor

_SPEAKERS = dict.fromkeys(["tool-call", "tool-response"], MessageRole.ASSISTANT)


class CompactionCallback:
    """Compacts what the model sees; the steps stay in the memory, with their tokens and code."""

    def __init__(self, **options: Any) -> None:
        self._compactor = Compactor(format="openai-chat", **options)

    def __call__(self, memory_step: MemoryStep, agent: Any) -> None:
        """Folds steps, if the next request would be too large."""
        steps = [*agent.memory.steps, memory_step]
        fixed = [agent.system_prompt, *map(get_tool_json_schema, agent.tools.values())]
        head, start = self._compactor.fold_groups([*map(_items, steps)], overhead=fixed)
        for index, step in enumerate(steps[:start]):
            step.to_messages = _Shown(head if index == 0 else [])


@dataclass
class _Shown:
    items: list[dict[str, Any]]

    def __call__(self, summary_mode: bool = False) -> list[ChatMessage]:
        return [_message(item) for item in self.items]


def _items(step: MemoryStep) -> list[dict[str, Any]]:
    if isinstance(step.to_messages, _Shown):
        return step.to_messages.items
    if not (isinstance(step, ActionStep) and step.tool_calls):
        return get_clean_message_list(step.to_messages(), _SPEAKERS, True)
    calls = [call.dict() | {"id": f"{call.id}-{step.step_number}"} for call in step.tool_calls]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": ""} for call in calls]
    results[0]["content"] = str(step.observations or step.error or "")
    images = [message for message in step.to_messages() if message.role == MessageRole.USER]
    results += get_clean_message_list(images, {}, True)
    return [{"role": "assistant", "content": step.model_output, "tool_calls": calls}, *results]


def _message(item: dict[str, Any]) -> ChatMessage:
    role, content = item["role"], item.get("content") or ""
    if item.get("tool_calls"):
        role, content = "tool-call", f"{content}Calling tools:\n{item['tool_calls']}"
    elif role == "tool":
        role, content = "tool-response", f"Observation:\n{content}"
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    return ChatMessage(role=MessageRole(role), content=parts)
