"""LangChain: a middleware of agents, and a function for the nodes of a graph."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AnyMessage, convert_to_messages, convert_to_openai_messages
from langchain_core.utils.function_calling import convert_to_openai_tool

from .._compactor import Compactor, log_unchanged, message_key


class MessageCompactor:
    """Returns the messages to send; those that it leaves alone stay the same objects."""

    def __init__(self, **options: Any) -> None:
        self._compactor = Compactor(format="openai-chat", **options)

    def __call__(self, messages: list[AnyMessage], *, overhead: Any = None) -> list[Any]:
        """Compacts messages; `overhead` is sent with them."""
        try:
            groups = [convert_to_openai_messages([old], include_id=True) for old in messages]
        except (AttributeError, ValueError) as error:
            log_unchanged(error)
            return messages
        head, start = self._compactor.fold_groups(groups, overhead=overhead)
        pairs = zip(groups[:start], messages, strict=False)
        same = {message_key(group): message for group, message in pairs if len(group) == 1}
        replaced = [same.get(message_key([i])) or convert_to_messages([i])[0] for i in head]
        return [*replaced, *messages[start:]]


class CompactionMiddleware(AgentMiddleware):
    """Compacts each request of an agent; the state keeps all messages."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self._compact = MessageCompactor(**options)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Calls the model with a request that fits."""
        return handler(self._fit(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Calls the model with a request that fits."""
        return await handler(self._fit(request))

    def _fit(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        tools = [convert_to_openai_tool(tool) for tool in request.tools]
        messages = self._compact(request.messages, overhead=[request.system_prompt, tools])
        return request.override(messages=messages)
