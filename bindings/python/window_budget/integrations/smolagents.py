"""smolagents: a step callback that folds the older steps of an agent's memory."""

from __future__ import annotations

import json
from typing import Any

from smolagents import ChatMessage, MessageRole
from smolagents.memory import ActionStep, MemoryStep
from smolagents.models import get_clean_message_list, get_tool_json_schema, tool_role_conversions

from .._compactor import Compactor


class CompactionCallback:
    """Compacts what the model sees; the steps stay in the memory, with their tokens and code."""

    def __init__(self, **options: Any) -> None:
        self._compactor = Compactor(format="openai-chat", **options)

    def __call__(self, memory_step: MemoryStep, agent: Any) -> None:
        """Folds steps, if the next request would be too large."""
        steps = [*agent.memory.steps, memory_step]
        tools = [get_tool_json_schema(tool) for tool in agent.tools.values()]
        overhead = [agent.memory.system_prompt.system_prompt, tools]
        head, start = self._compactor.fold_groups([_items(s) for s in steps], overhead=overhead)
        for index, step in enumerate(steps[:start]):
            setattr(step, "to_messages", _Shown(head if index == 0 else []))


class _Shown:
    """What a folded step contributes to a request."""

    def __init__(self, items: list[dict[str, Any]]) -> None:
        self.items = items

    def __call__(self, summary_mode: bool = False) -> list[ChatMessage]:
        return [_message(item) for item in self.items]


def _items(step: MemoryStep) -> list[dict[str, Any]]:
    if isinstance(step.to_messages, _Shown):
        return step.to_messages.items
    if not (isinstance(step, ActionStep) and step.tool_calls):
        return get_clean_message_list(step.to_messages(), tool_role_conversions, True)
    calls = [_call(call.dict(), step.step_number) for call in step.tool_calls]
    texts = [str(step.observations or step.error or ""), *[""] * (len(calls) - 1)]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": text}
               for call, text in zip(calls, texts, strict=True)]
    return [{"role": "assistant", "content": step.model_output, "tool_calls": calls}, *results]


def _call(call: dict[str, Any], number: int) -> dict[str, Any]:
    arguments = call["function"]["arguments"]
    arguments = json.dumps({"code": arguments} if isinstance(arguments, str) else arguments)
    function = {"name": call["function"]["name"], "arguments": arguments}
    return {"id": f"{call['id']}-{number}", "type": "function", "function": function}


def _message(item: dict[str, Any]) -> ChatMessage:
    content = item.get("content") or ""
    if item["role"] == "tool":
        return _text(MessageRole.TOOL_RESPONSE, f"Observation:\n{content}")
    if item.get("tool_calls"):
        return _text(MessageRole.TOOL_CALL, f"{content}Calling tools:\n{item['tool_calls']}")
    if isinstance(content, str):
        return _text(MessageRole(item["role"]), content)
    return ChatMessage(role=MessageRole(item["role"]), content=content)


def _text(role: MessageRole, text: str) -> ChatMessage:
    return ChatMessage(role=role, content=[{"type": "text", "text": text}])
