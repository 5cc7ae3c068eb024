"""Prints the milliseconds of calls on one list, in this package and in others.

`cargo xtask bindings --speed` runs it with the file of a call and a number of runs.
"""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import window_budget
from window_budget import _native

THREADS = 8
IMPORT = """
import sys, time
start = time.perf_counter()
import window_budget
print((time.perf_counter() - start) * 1e3)
"""


def show(name: str, runs: int, work: Callable[[], object]) -> None:
    """Prints a line for each run, after one that does not count."""
    work()
    for _ in range(runs):
        gc.collect()
        start = time.perf_counter()
        work()
        print(f"{name}\t{(time.perf_counter() - start) * 1e3:.3f}", flush=True)


def ours(text: str, runs: int) -> None:
    call = json.loads(text)
    messages, options = call["messages"], call["options"]
    show("python text", runs, lambda: _native.call(text))
    show(
        "python",
        runs,
        lambda: window_budget.compact(messages, format=call["format"], **options),
    )

    def calls(threads: int) -> None:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(_native.call, [text] * THREADS))

    show("8 calls, 1 thread", runs, lambda: calls(1))
    show("8 calls, 8 threads", runs, lambda: calls(THREADS))


def imports(runs: int) -> None:
    for _ in range(runs + 1):
        done = subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, check=True)
        print(f"import\t{float(done.stdout):.3f}", flush=True)


def langchain(messages: list[Any], runs: int) -> None:
    from langchain.agents.middleware import SummarizationMiddleware
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.messages import convert_to_messages

    model = FakeListChatModel(responses=["The ledger is summed."])
    middleware = SummarizationMiddleware(
        model=model, trigger=("tokens", 32_000), keep=("tokens", 16_000)
    )
    converted = convert_to_messages(messages)

    def work() -> None:
        state: Any = {"messages": list(converted)}
        assert middleware.before_model(state, None) is not None  # type: ignore[arg-type]

    show("langchain", runs, work)


def openai_agents(messages: list[Any], runs: int) -> None:
    from agents import SQLiteSession
    from agents.memory import OpenAIResponsesCompactionSession

    body = window_budget.convert(messages, "openai-responses", format="openai-chat").output
    assert isinstance(body, dict)
    kept = [{"role": "user", "content": "The ledger is summed."}]

    async def compact(**_: Any) -> Any:
        return SimpleNamespace(output=kept, usage=None, id="r")

    client: Any = SimpleNamespace(responses=SimpleNamespace(compact=compact))

    async def session() -> Any:
        inner = SQLiteSession("speed")
        await inner.add_items(body["input"])
        return OpenAIResponsesCompactionSession(
            "speed", inner, client=client, compaction_mode="input"
        )

    for _ in range(runs):
        held = asyncio.run(session())
        start = time.perf_counter()
        asyncio.run(held.run_compaction({"force": True}))
        print(f"openai-agents\t{(time.perf_counter() - start) * 1e3:.3f}", flush=True)
        assert len(asyncio.run(held.get_items())) == 1


def main() -> None:
    file, count = sys.argv[1:]
    with open(file, encoding="utf-8") as opened:
        text = opened.read()
    runs, messages = int(count), json.loads(text)["messages"]
    imports(runs)
    ours(text, runs)
    langchain(messages, runs)
    openai_agents(messages, runs)


if __name__ == "__main__":
    main()
