"""Google ADK within a window of 32k."""

from __future__ import annotations

import asyncio
from typing import Any
from unittest.mock import Mock

import pytest
from checks import check_requests
from provider import ANSWER, PROMPT, RULE, WINDOW, Provider, page

pytest.importorskip("google.adk")

from google.adk.agents import LlmAgent
from google.adk.apps.app import App, EventsCompactionConfig
from google.adk.models import Gemini
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import InMemoryRunner
from google.genai.types import Blob, Content, FunctionCall, FunctionResponse, Part

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


def test_signatures_and_images_survive_in_what_is_shortened() -> None:
    image = Part(inline_data=Blob(data=b"\xff\xd8", mime_type="image/png"))
    contents = [Content(role="user", parts=[Part(text=PROMPT), image])]
    for number in range(40):
        call = FunctionCall(id=f"call_{number}", name="read_page", args={"number": number})
        signed = Part(function_call=call, thought_signature=b"\xff" * (number + 1))
        result = FunctionResponse(id=call.id, name=call.name, response={"result": page(number)})
        contents.append(Content(role="model", parts=[signed]))
        contents.append(Content(role="user", parts=[Part(function_response=result)]))
    request = LlmRequest(contents=list(contents))
    plugin = CompactionPlugin(window=WINDOW, strategy="three-level")
    asyncio.run(plugin.before_model_callback(callback_context=Mock(), llm_request=request))
    signed_calls = [c for c in request.contents if c.parts and c.parts[0].function_call]
    assert request.contents[0] == contents[0] and any(c not in contents for c in request.contents)
    assert len(signed_calls) > 4 and all(content in contents for content in signed_calls)


def test_summarizer_writes_a_digest_into_the_session(provider: Provider) -> None:
    config = EventsCompactionConfig(
        summarizer=EventsSummarizer(), token_threshold=20_000, event_retention_size=6
    )
    asyncio.run(run(InMemoryRunner(app=app(provider, events_compaction_config=config))))
    check_requests(provider)
    assert RULE in provider.requests[-1].body["contents"][0]["parts"][0]["text"]
