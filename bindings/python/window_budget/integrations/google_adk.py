"""Google ADK: a plugin that compacts each request, and a summarizer of a session's events."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.apps.base_events_summarizer import BaseEventsSummarizer
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions, EventCompaction
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.genai.types import Content, Part
from pydantic_core import to_jsonable_python

from .._calls import compact
from .._compactor import Compactor

_plain = partial(to_jsonable_python, by_alias=True, exclude_none=True, fallback=str)


class CompactionPlugin(BasePlugin):
    """Compacts each request; the session keeps all events."""

    def __init__(self, name: str = "window_budget", **options: Any) -> None:
        super().__init__(name)
        self._compactor = Compactor(format="gemini-contents", **options)

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        """Replaces the contents of a request."""
        config, contents = llm_request.config, llm_request.contents
        fixed = _plain([config.system_instruction, config.tools])
        head, start = self._compactor.fold(_plain(contents), overhead=fixed)
        restored = [Content.model_validate_json(json.dumps(content)) for content in head]
        llm_request.contents = [*restored, *contents[start:]]


class EventsSummarizer(BaseEventsSummarizer):
    """The summarizer of an `EventsCompactionConfig`: a digest without a model."""

    async def maybe_summarize_events(self, *, events: list[Event]) -> Event | None:
        """Returns an event with the digest of events."""
        contents = [content for event in events if (content := _content(event)) is not None]
        ended = [*_plain(contents), {"role": "user", "parts": [{"text": "Continue."}]}]
        result = compact(ended, format="gemini-contents", force=True, keep_recent_tokens=0)
        if not result.messages:
            return None
        digest = Content(role="user", parts=[Part(text=result.messages[0]["parts"][0]["text"])])
        times = {"start_timestamp": events[0].timestamp, "end_timestamp": events[-1].timestamp}
        actions = EventActions(compaction=EventCompaction(**times, compacted_content=digest))
        return Event(author="user", actions=actions, invocation_id=Event.new_id())


def _content(event: Event) -> Content | None:
    past = event.actions.compaction
    return past.compacted_content if past else event.content
