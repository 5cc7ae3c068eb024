"""pydantic-ai within a window of 32k."""

from __future__ import annotations

from typing import Any

import pytest
from checks import check_requests
from provider import PROMPT, WINDOW, Provider, page

pytest.importorskip("pydantic_ai")

from pydantic_ai import Agent, UsageLimits
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessagesTypeAdapter

from window_budget.integrations.pydantic_ai import Compaction, HistoryCompactor

LIMITS = UsageLimits(request_limit=100)


def chat(provider: Provider) -> Any:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    server = OpenAIProvider(base_url=f"{provider.url}/v1", api_key="none")
    return OpenAIChatModel("scripted", provider=server)


def responses(provider: Provider) -> Any:
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    server = OpenAIProvider(base_url=f"{provider.url}/v1", api_key="none")
    return OpenAIResponsesModel("scripted", provider=server)


def anthropic(provider: Provider) -> Any:
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = AsyncAnthropic(base_url=provider.url, api_key="none")
    return AnthropicModel("scripted", provider=AnthropicProvider(anthropic_client=client))


def run(provider: Provider, model: Any, capability: Any) -> Any:
    agent = Agent(model(provider), capabilities=[capability], instructions="Be exact.")

    @agent.tool_plain
    def read_page(number: int) -> str:
        """Reads a page of the ledger."""
        return page(number)

    return agent.run_sync(PROMPT, usage_limits=LIMITS)


@pytest.mark.parametrize("model", [chat, responses, anthropic])
def test_capability_keeps_requests_within_the_window(provider: Provider, model: Any) -> None:
    result = run(provider, model, Compaction(window=WINDOW))
    assert result.output == "The sum is 42."
    assert len(result.all_messages()) == 2 * provider.calls + 2
    check_requests(provider)


@pytest.mark.parametrize("model", [chat, anthropic])
def test_capability_keeps_calls_of_one_turn_together(provider: Provider, model: Any) -> None:
    provider.calls_per_turn = 3
    run(provider, model, Compaction(window=WINDOW))
    check_requests(provider)


def test_processor_compacts_the_history_of_the_run(provider: Provider) -> None:
    result = run(provider, chat, ProcessHistory(HistoryCompactor(window=WINDOW)))
    check_requests(provider)
    stored = result.all_messages_json()
    assert len(ModelMessagesTypeAdapter.validate_json(stored)) < provider.calls
