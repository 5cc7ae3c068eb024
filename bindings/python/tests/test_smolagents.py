"""smolagents within a window of 32k."""

from __future__ import annotations

from typing import Any

import pytest
from checks import check_requests
from provider import ANSWER, PROMPT, RULE, WINDOW, Provider, page

pytest.importorskip("smolagents")

from PIL import Image
from smolagents import CodeAgent, OpenAIModel, ToolCallingAgent, tool
from smolagents.memory import ActionStep, ToolCall
from smolagents.models import ChatMessage, MessageRole, Model
from smolagents.monitoring import Timing

from window_budget.integrations.smolagents import CompactionCallback


@tool
def read_page(number: int) -> str:
    """Reads a page of the ledger.

    Args:
        number: The number of the page.
    """
    return page(number)


def test_callback_keeps_requests_within_the_window(provider: Provider) -> None:
    provider.final_tool = "final_answer"
    model = OpenAIModel("scripted", api_base=f"{provider.url}/v1", api_key="none")
    callback = CompactionCallback(window=WINDOW)
    agent = ToolCallingAgent([read_page], model, step_callbacks=[callback], verbosity_level=0)
    result = agent.run(PROMPT, max_steps=100, return_full_result=True)
    assert result.output == ANSWER
    assert result.token_usage.output_tokens == 20 * (provider.calls + 1)
    assert sum(isinstance(step, ActionStep) for step in agent.memory.steps) == provider.calls + 1
    check_requests(provider)


def test_callback_keeps_calls_of_one_turn_together(provider: Provider) -> None:
    provider.final_tool, provider.calls_per_turn = "final_answer", 3
    model = OpenAIModel("scripted", api_base=f"{provider.url}/v1", api_key="none")
    callback = CompactionCallback(window=WINDOW)
    agent = ToolCallingAgent([read_page], model, step_callbacks=[callback], verbosity_level=0)
    assert agent.run(PROMPT, max_steps=100) == ANSWER
    check_requests(provider)


def test_images_of_a_step_count() -> None:
    agent = ToolCallingAgent([read_page], Coder(), verbosity_level=0)
    call = ToolCall("read_page", {"number": 1}, "call_1")
    for number in range(60):
        image = Image.new("RGB", (64, 64))
        step = ActionStep(number, Timing(0.0), tool_calls=[call], observations_images=[image])
        CompactionCallback(window=WINDOW)(step, agent)
        agent.memory.steps.append(step)
    shown = [message for step in agent.memory.steps for message in step.to_messages()]
    assert 0 < sum(message.role == MessageRole.USER for message in shown) < 30


class Coder(Model):
    """Writes one line of Python per request."""

    def __init__(self) -> None:
        super().__init__(model_id="scripted")
        self.requests: list[list[ChatMessage]] = []

    def generate(self, messages: list[ChatMessage], **_: Any) -> ChatMessage:
        """Returns the next line."""
        self.requests.append(messages)
        number = len(self.requests) - 1
        line = f"print(read_page({number}))" if number < 60 else f"final_answer('{ANSWER}')"
        return ChatMessage(MessageRole.ASSISTANT, f"Thought: next.\n<code>\n{line}\n</code>")


def test_callback_serves_agents_that_write_code() -> None:
    model, callback = Coder(), CompactionCallback(window=WINDOW)
    agent = CodeAgent([read_page], model, step_callbacks=[callback], verbosity_level=0)
    assert agent.run(PROMPT, max_steps=100) == ANSWER
    sizes = [len(str(messages)) for messages in model.requests]
    assert max(sizes) / 3.5 <= WINDOW and len(sizes) == 61
    assert all(RULE in str(messages) for messages in model.requests)
    assert "# Objective" in str(model.requests[-1])
