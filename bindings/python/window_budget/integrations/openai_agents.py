"""OpenAI Agents: a filter of each request, and a session."""

from __future__ import annotations

from typing import Any

from agents import SessionABC
from agents.memory import Session, SessionSettings
from agents.run import CallModelData, ModelInputData

from .._compactor import Compactor


class CompactionFilter:
    """The `call_model_input_filter` of a `RunConfig`: each request fits the window."""

    def __init__(self, **options: Any) -> None:
        self._compactor = Compactor(format="openai-responses", **options)

    def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """Returns the input of the next request."""
        instructions = data.model_data.instructions
        tools = [getattr(tool, "params_json_schema", str(tool)) for tool in data.agent.tools]
        overhead = [instructions, [tool.name for tool in data.agent.tools], tools]
        items = self._compactor(list(data.model_data.input), overhead=overhead)
        return ModelInputData(input=items, instructions=instructions)


class CompactingSession(SessionABC):
    """Shows another session's items compacted; that session keeps all of them."""

    def __init__(self, session: Session, **options: Any) -> None:
        self._session = session
        self._compactor = Compactor(format="openai-responses", **options)
        self.session_id = session.session_id
        self.session_settings: SessionSettings | None = session.session_settings

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Returns the items to send, or the latest `limit` as they are."""
        items = list(await self._session.get_items(limit))
        return self._compactor(items) if limit is None else items

    async def add_items(self, items: list[Any]) -> None:
        """Adds items to the other session."""
        await self._session.add_items(items)

    async def pop_item(self) -> Any:
        """Takes the latest item from the other session."""
        return await self._session.pop_item()

    async def clear_session(self) -> None:
        """Empties the other session."""
        await self._session.clear_session()
