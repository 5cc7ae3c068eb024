"""OpenAI Agents within a window of 32k."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from checks import check_requests
from provider import PROMPT, RULE, WINDOW, Provider, page

pytest.importorskip("agents")

from agents import Agent, RunConfig, Runner, SQLiteSession, function_tool, set_tracing_disabled
from agents.models.openai_chatcompletions import OpenAIChatCompletionsModel
from agents.models.openai_responses import OpenAIResponsesModel
from openai import AsyncOpenAI

from window_budget.integrations.openai_agents import CompactingSession, CompactionFilter

set_tracing_disabled(True)
MODELS = [OpenAIResponsesModel, OpenAIChatCompletionsModel]


@function_tool
def read_page(number: int) -> str:
    """Reads a page of the ledger."""
    return page(number)


def run(provider: Provider, model: Any, session: Any = None) -> str:
    client = AsyncOpenAI(base_url=f"{provider.url}/v1", api_key="none")
    agent = Agent(name="clerk", tools=[read_page], model=model("scripted", client))
    config = RunConfig(call_model_input_filter=CompactionFilter(window=WINDOW))
    running = Runner.run(agent, PROMPT, run_config=config, session=session, max_turns=100)
    return asyncio.run(running).final_output


@pytest.mark.parametrize("model", MODELS)
def test_filter_keeps_requests_within_the_window(provider: Provider, model: Any) -> None:
    assert run(provider, model) == "The sum is 42."
    check_requests(provider)


def test_filter_keeps_calls_of_one_turn_together(provider: Provider) -> None:
    provider.calls_per_turn = 3
    run(provider, OpenAIResponsesModel)
    check_requests(provider)


def test_session_shows_less_and_keeps_all(provider: Provider) -> None:
    inner = SQLiteSession("ledger")
    session = CompactingSession(inner, window=WINDOW)
    run(provider, OpenAIResponsesModel, session)
    kept, shown = asyncio.run(inner.get_items()), asyncio.run(session.get_items())
    assert len(kept) == 1 + 2 * provider.calls + 1
    assert len(shown) < len(kept) / 2 and shown[-1] == kept[-1]
    assert RULE in str(shown[0])


def test_session_continues_in_a_second_run(provider: Provider) -> None:
    session = CompactingSession(SQLiteSession("ledger"), window=WINDOW)
    run(provider, OpenAIResponsesModel, session)
    run(provider, OpenAIResponsesModel, session)
    last = provider.requests[-1]
    assert last.violations == [] and len(provider.requests) == provider.calls + 2
