"""Agents of LangChain, LangGraph and deepagents within a window of 32k."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from checks import check_requests
from provider import PROMPT, WINDOW, Provider, page

pytest.importorskip("langchain")

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from window_budget.integrations.langchain import CompactionMiddleware, MessageCompactor

LIMIT: Any = {"recursion_limit": 400}
INPUT: Any = {"messages": [{"role": "user", "content": PROMPT}]}


@tool
def read_page(number: int) -> str:
    """Reads a page of the ledger."""
    return page(number)


def openai(provider: Provider) -> Any:
    models = pytest.importorskip("langchain_openai")
    return models.ChatOpenAI(model="scripted", base_url=f"{provider.url}/v1", api_key="none")


def openai_responses(provider: Provider) -> Any:
    models = pytest.importorskip("langchain_openai")
    url = f"{provider.url}/v1"
    return models.ChatOpenAI(model="scripted", base_url=url, api_key="none", use_responses_api=True)


def anthropic(provider: Provider) -> Any:
    models = pytest.importorskip("langchain_anthropic")
    return models.ChatAnthropic(model="scripted", base_url=provider.url, api_key="none")


@pytest.mark.parametrize("model", [openai, openai_responses, anthropic])
def test_middleware_keeps_requests_within_the_window(provider: Provider, model: Any) -> None:
    middleware = CompactionMiddleware(window=WINDOW)
    agent = create_agent(model(provider), [read_page], middleware=[middleware])
    messages = agent.invoke(INPUT, LIMIT)["messages"]
    assert messages[-1].text == "The sum is 42."
    assert len(messages) == 2 * provider.calls + 2
    check_requests(provider)


@pytest.mark.parametrize("model", [openai, anthropic])
def test_middleware_keeps_calls_of_one_turn_together(provider: Provider, model: Any) -> None:
    provider.calls_per_turn = 3
    middleware = CompactionMiddleware(window=WINDOW)
    create_agent(model(provider), [read_page], middleware=[middleware]).invoke(INPUT, LIMIT)
    check_requests(provider)


def test_middleware_works_in_async_agents(provider: Provider) -> None:
    middleware = CompactionMiddleware(window=WINDOW)
    agent = create_agent(openai(provider), [read_page], middleware=[middleware])
    asyncio.run(agent.ainvoke(INPUT, LIMIT))
    check_requests(provider)


def test_function_serves_the_node_of_a_graph(provider: Provider) -> None:
    compact, model = MessageCompactor(window=WINDOW), openai(provider).bind_tools([read_page])

    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(compact(state["messages"]))]}

    graph = StateGraph(MessagesState).add_node("ask", ask).add_node("tools", ToolNode([read_page]))
    graph.set_entry_point("ask").add_conditional_edges("ask", tools_condition)
    graph.add_edge("tools", "ask").compile().invoke(INPUT, LIMIT)
    check_requests(provider)


def test_middleware_serves_deepagents(provider: Provider) -> None:
    deepagents = pytest.importorskip("deepagents")
    middleware = CompactionMiddleware(window=WINDOW)
    agent = deepagents.create_deep_agent(
        model=openai(provider), tools=[read_page], middleware=[middleware]
    )
    agent.invoke(INPUT, LIMIT)
    check_requests(provider)


def test_messages_without_a_form_in_chat_stay() -> None:
    messages = [HumanMessage([{"type": "image"}]), *history()]
    assert MessageCompactor(window=WINDOW)(messages) == messages


def history() -> list[AnyMessage]:
    messages: list[AnyMessage] = [HumanMessage(PROMPT, id="h")]
    for number in range(60):
        call = {"name": "read_page", "args": {"number": number}, "id": f"call_{number}"}
        thought = {"type": "thinking", "thinking": "Next.", "signature": f"s{number}"}
        messages.append(AIMessage([thought], tool_calls=[call], id=f"a{number}"))
        result = ToolMessage(page(number), tool_call_id=f"call_{number}", id=f"t{number}")
        messages.append(result)
    return messages


def test_kept_messages_are_the_same_objects() -> None:
    messages = history()
    compacted = MessageCompactor(window=WINDOW)(messages)
    kept = [message for message in compacted if any(message is old for old in messages)]
    assert len(kept) >= 4 and kept[-1] is messages[-1]
    calls = {call["id"] for m in compacted if isinstance(m, AIMessage) for call in m.tool_calls}
    assert calls == {m.tool_call_id for m in compacted if isinstance(m, ToolMessage)}
