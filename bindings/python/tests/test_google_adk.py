"""Google ADK within a window of 32k."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from checks import check_requests
from provider import ANSWER, PROMPT, RULE, WINDOW, Provider, page

pytest.importorskip("google.adk")

from google.adk.agents import LlmAgent
from google.adk.apps.app import App, EventsCompactionConfig
from google.adk.models import Gemini
from google.adk.runners import InMemoryRunner
from google.genai.types import Content, Part

from window_budget.integrations.google_adk import CompactionPlugin, EventsSummarizer


def read_page(number: int) -> str:
    """Reads a page of the ledger."""
    return page(number)


def app(provider: Provider, **settings: Any) -> App:
    model = Gemini(model="gemini-2.5-flash", base_url=provider.url)
    agent = LlmAgent(name="clerk", model=model, tools=[read_page])
    return App(name="ledger", root_agent=agent, **settings)


async def run(runner: InMemoryRunner) -> list[Any]:
    session = await runner.session_service.create_session(app_name="ledger", user_id="u")
    message = Content(role="user", parts=[Part(text=PROMPT)])
    stream = runner.run_async(user_id="u", session_id=session.id, new_message=message)
    return [event async for event in stream]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "none")


def test_plugin_keeps_requests_within_the_window(provider: Provider) -> None:
    runner = InMemoryRunner(app=app(provider, plugins=[CompactionPlugin(window=WINDOW)]))
    events = asyncio.run(run(runner))
    assert events[-1].content.parts[0].text == ANSWER
    assert len(events) == 2 * provider.calls + 1
    check_requests(provider)


def test_plugin_keeps_calls_of_one_turn_together(provider: Provider) -> None:
    provider.calls_per_turn = 3
    asyncio.run(run(InMemoryRunner(app=app(provider, plugins=[CompactionPlugin(window=WINDOW)]))))
    check_requests(provider)


def test_summarizer_writes_a_digest_into_the_session(provider: Provider) -> None:
    config = EventsCompactionConfig(
        summarizer=EventsSummarizer(), token_threshold=20_000, event_retention_size=6
    )
    asyncio.run(run(InMemoryRunner(app=app(provider, events_compaction_config=config))))
    check_requests(provider)
    assert RULE in provider.requests[-1].body["contents"][0]["parts"][0]["text"]
