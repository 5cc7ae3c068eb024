"""The calls of the package, without a framework."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from provider import PROMPT, RULE, WINDOW, Provider, page

import window_budget
from window_budget import Compactor, Context, WindowBudgetError, _native

PACKAGE = Path(__file__).parent.parent
VECTORS = PACKAGE.parent.parent / "fixtures" / "bindings"
CALLS = sorted(VECTORS.glob("*.call.json"))


def ledger(pages: int = 60) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": PROMPT}]
    for number in range(pages):
        function = {"name": "read_page", "arguments": json.dumps({"number": number})}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        result = {"role": "tool", "tool_call_id": call["id"], "content": page(number)}
        messages.append(result)
    return messages


def test_vectors_are_there() -> None:
    assert len(CALLS) > 20


@pytest.mark.parametrize("path", CALLS, ids=lambda path: path.name.split(".")[0])
def test_answer_is_the_same_to_the_byte(path: Path) -> None:
    answer = path.with_name(path.name.replace(".call.", ".answer.")).read_text().rstrip("\n")
    assert _native.call(path.read_text()) == answer
    assert _native.is_error(answer) == path.name.startswith("error-")


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("call", {"windw": 1}),
        ("option", {"trigger_ratio": 2}),
        ("call", {"window": -1}),
        ("call", {"strategy": "none"}),
    ],
)
def test_wrong_options_are_errors(kind: str, options: dict[str, Any]) -> None:
    with pytest.raises(WindowBudgetError) as caught:
        window_budget.compact(ledger(1), format="openai-chat", **options)
    assert caught.value.kind == kind and caught.value.message and caught.value.hint
    assert isinstance(caught.value, ValueError)


def test_unreadable_input_is_an_error() -> None:
    with pytest.raises(WindowBudgetError) as caught:
        window_budget.weigh("not a session")
    assert caught.value.kind == "input"
    with pytest.raises(WindowBudgetError):
        window_budget.weigh(ledger(1), format="no-such-format")


def test_input_comes_back_in_its_shape() -> None:
    messages = ledger()
    options: dict[str, Any] = {"format": "openai-chat", "window": WINDOW}
    assert isinstance(window_budget.compact(messages, **options).messages, list)
    body = window_budget.compact({"model": "m", "messages": messages}, **options).messages
    assert isinstance(body, dict) and body["model"] == "m"
    session = window_budget.convert(messages, "native", format="openai-chat").output
    assert isinstance(session, str)
    compacted = window_budget.compact(session, window=WINDOW).messages
    assert isinstance(compacted, str) and len(compacted) < len(session)


def test_nothing_to_do_is_none() -> None:
    assert window_budget.compact(ledger(1), format="openai-chat").messages is None
    assert window_budget.repair(ledger(1), format="openai-chat").messages is None


def test_repair_and_validate_agree() -> None:
    broken = [*ledger(2), ledger(3)[-2]]
    assert window_budget.validate(broken, format="openai-chat")
    repaired = window_budget.repair(broken, format="openai-chat")
    assert repaired.fixed and repaired.messages is not None
    assert window_budget.validate(repaired.messages, format="openai-chat") == []


def test_conversion_keeps_ids() -> None:
    body = window_budget.convert(ledger(2), "anthropic", format="openai-chat").output
    assert isinstance(body, dict) and "call_1" in json.dumps(body["messages"])
    assert window_budget.validate(body, format="anthropic-messages") == []


def test_digest_passes_its_audit_and_page_is_found() -> None:
    messages = ledger()
    report = window_budget.compact(messages, format="openai-chat", window=WINDOW).report
    assert window_budget.audit(messages, report["digest"], format="openai-chat") == []
    assert "page 7 row" in window_budget.recall(messages, "page 7 row 3", format="openai-chat")
    facts = window_budget.facts(messages, format="openai-chat")
    assert RULE in json.dumps(facts["constraints"])


def test_context_stays_within_its_window_and_undoes() -> None:
    context = Context(format="openai-chat", window=WINDOW)
    for message in ledger():
        context.push(message)
        if message["role"] == "tool" and context.gate()["over_budget"]:
            assert context.compact()["changed"]
        assert not context.gate()["over_budget"]
    assert RULE in json.dumps(context.messages)
    assert window_budget.validate(context.messages, format="openai-chat") == []
    compactions = context.gate()["compactions"]
    assert compactions > 1 and all(context.undo() for _ in range(compactions))
    assert context.messages == ledger() and not context.undo()


def test_wrong_settings_of_a_context_are_errors() -> None:
    with pytest.raises(WindowBudgetError) as caught:
        Context(format="openai-chat", windw=1)
    assert caught.value.kind == "call"


def test_unreadable_message_of_a_context_is_an_error() -> None:
    context = Context(format="openai-chat")
    with pytest.raises(WindowBudgetError) as caught:
        context.push("text")  # type: ignore[arg-type]
    assert caught.value.kind == "input" and context.messages == []


def test_threads_give_equal_answers() -> None:
    text = json.dumps({"operation": "compact", "messages": ledger(), "options": {"window": WINDOW}})
    with ThreadPoolExecutor(8) as threads:
        answers = set(threads.map(_native.call, [text] * 64))
    assert len(answers) == 1 and not _native.is_error(answers.pop())


def test_compactor_serves_threads() -> None:
    compactor = Compactor(format="openai-chat", window=WINDOW)
    histories = [ledger(pages) for pages in range(30, 46)] * 4
    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(compactor, histories))
    for history, result in zip(histories, results, strict=True):
        assert result[-1] == history[-1] and RULE in str(result)
        assert not window_budget.weigh(result, format="openai-chat", window=WINDOW)["over_budget"]


def test_compactor_repeats_the_same_head() -> None:
    compactor = Compactor(format="openai-chat", window=WINDOW)
    first, later = compactor(ledger(40)), compactor(ledger(42))
    assert later[: len(first)] == first and later[-4:] == ledger(42)[-4:]


@pytest.mark.parametrize("strategy", ["window-budget", "three-level", "policy", "ladder"])
def test_compactor_keeps_a_loop_valid(strategy: str) -> None:
    compactor, history = Compactor(format="openai-chat", window=WINDOW, strategy=strategy), ledger()
    for end in range(1, len(history) + 1, 2):
        request = compactor(history[:end])
        assert window_budget.validate(request, format="openai-chat") == []
        assert not window_budget.weigh(request, format="openai-chat", window=WINDOW)["over_budget"]
        assert RULE in json.dumps(request)


def test_compactor_counts_what_is_sent_with_the_messages() -> None:
    messages = ledger(20)
    compactor = Compactor(format="openai-chat", window=WINDOW)
    assert compactor(messages) == messages
    assert len(compactor(messages, overhead="A tool. " * 4_000)) < len(messages)


def test_compactor_refuses_options_and_leaves_unreadable_messages(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(WindowBudgetError):
        Compactor(format="openai-chat", windw=1)
    odd = [{"role": "user", "content": object()}]
    assert Compactor(format="openai-chat", window=WINDOW)(odd) == odd
    assert "stay as they are" in caplog.text


def examples() -> list[str]:
    text = (PACKAGE / "README.md").read_text()
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def framework(example: str) -> str:
    if "from openai import" in example:
        return "openai"
    module = re.search(r"window_budget\.integrations\.(\w+)", example)
    names = {"openai_agents": "agents", "langchain": "langchain_openai", "google_adk": "google.adk"}
    return names.get(module[1], module[1]) if module else "window_budget"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("example", examples(), ids=framework)
def test_readme_example_runs(
    example: str, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(framework(example))
    provider.calls = 0
    monkeypatch.setenv("OPENAI_BASE_URL", f"{provider.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_AGENTS_DISABLE_TRACING", "1")
    exec(example, {"messages": ledger()})


def test_shorter_history_keeps_its_last_message() -> None:
    compactor = Compactor(format="openai-chat", window=WINDOW)
    for pages in range(46, 20, -1):
        history = ledger(pages)
        assert compactor(history)[-1] == history[-1], pages
