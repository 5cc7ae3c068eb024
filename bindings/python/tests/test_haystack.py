"""Haystack within a window of 32k."""

from __future__ import annotations

from typing import Any

import pytest
from checks import check_requests
from provider import ANSWER, PROMPT, WINDOW, Provider, page

pytest.importorskip("haystack")

from haystack.components.agents import Agent
from haystack.components.generators.chat import (
    OpenAIChatGenerator,
    OpenAIResponsesChatGenerator,
)
from haystack.core.serialization import allow_deserialization_module
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.hooks.compaction import CompactionHook
from haystack.token_counters import ApproximateTokenCounter
from haystack.tools import tool
from haystack.utils import Secret

from window_budget.integrations.haystack import DigestCompactor


@tool
def read_page(number: int) -> str:
    """Reads a page of the ledger."""
    return page(number)


def run(provider: Provider, generator: Any) -> dict[str, Any]:
    model = generator(
        model="scripted", api_base_url=f"{provider.url}/v1", api_key=Secret.from_token("none")
    )
    hook = CompactionHook(DigestCompactor(), context_window=WINDOW)
    agent = Agent(
        chat_generator=model, tools=[read_page], hooks={"before_llm": [hook]}, max_agent_steps=100
    )
    return agent.run([ChatMessage.from_user(PROMPT)])


@pytest.mark.parametrize("generator", [OpenAIChatGenerator, OpenAIResponsesChatGenerator])
def test_compactor_keeps_requests_within_the_window(provider: Provider, generator: Any) -> None:
    result = run(provider, generator)
    assert result["last_message"].text == ANSWER
    check_requests(provider)


def test_compactor_keeps_calls_of_one_turn_together(provider: Provider) -> None:
    provider.calls_per_turn = 3
    run(provider, OpenAIChatGenerator)
    check_requests(provider)


def test_hook_survives_serialization() -> None:
    allow_deserialization_module("window_budget.integrations.haystack")
    hook = CompactionHook(DigestCompactor(strategy="ladder"), context_window=WINDOW)
    assert CompactionHook.from_dict(hook.to_dict()).to_dict() == hook.to_dict()


def test_messages_that_no_request_can_hold_stay() -> None:
    nameless = ToolCall(tool_name="read_page", arguments={})
    messages = [ChatMessage.from_user(PROMPT), ChatMessage.from_assistant(tool_calls=[nameless])]
    counter = ApproximateTokenCounter()
    assert DigestCompactor().compact(messages, 1, counter) is None


def test_changed_results_keep_their_origin() -> None:
    call = ToolCall(tool_name="read_page", arguments={"number": 1}, id="call_1")
    messages = [
        ChatMessage.from_user(PROMPT),
        ChatMessage.from_assistant(tool_calls=[call]),
        ChatMessage.from_tool(page(1) * 20, call, error=True),
    ]
    compacted = DigestCompactor().compact(messages, 500, ApproximateTokenCounter())
    assert compacted is not None
    result = compacted[-1].tool_call_result
    assert result is not None and len(result.result) < 4000 and result.origin == call
