"""pydantic-ai: a capability that compacts requests, and a history processor."""

from __future__ import annotations

from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import RunContext

from .._compactor import Compactor


class HistoryCompactor:
    """The processor of a `ProcessHistory`: the run keeps the compacted history."""

    def __init__(self, **options: Any) -> None:
        self._compactor = Compactor(format="pydantic-ai", **options)

    def __call__(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        """Returns the messages to send."""
        return self.compact(messages)

    def compact(self, messages: list[ModelMessage], overhead: Any = None) -> list[ModelMessage]:
        """Compacts messages; `overhead` is sent with them."""
        items = ModelMessagesTypeAdapter.dump_python(messages, mode="json")
        head, start = self._compactor.fold(items, overhead=overhead)
        return [*ModelMessagesTypeAdapter.validate_python(head), *messages[start:]]


class Compaction(AbstractCapability[Any]):
    """Compacts each request of an agent; the run keeps the whole history."""

    def __init__(self, **options: Any) -> None:
        self._history = HistoryCompactor(**options)

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Replaces the messages of a request."""
        sent = request_context.model_request_parameters
        fixed = [sent.function_tools, sent.output_tools, sent.instruction_parts]
        request_context.messages = self._history.compact(request_context.messages, fixed)
        return request_context
