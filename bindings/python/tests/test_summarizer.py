"""A function of the caller writes the digest."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from provider import RULE, WINDOW
from test_calls import VECTORS, ledger

import window_budget
from window_budget import Compactor, Context, ModelRequest, Summarizer, WindowBudgetError, _native

OPTIONS: dict[str, Any] = {"format": "openai-chat", "window": WINDOW}
DIGEST = "# Objective\n- Sum the ledger.\n\n# Status\n- Pages 0 to 20 are summed: 42."
STAGES = sorted(VECTORS.glob("*.progress.json"))


class Model:
    """Answers with a digest, or raises; records what it is asked."""

    def __init__(self, *replies: Any) -> None:
        self.replies = replies or (DIGEST,)
        self.requests: list[ModelRequest] = []
        self.threads: list[int] = []

    def __call__(self, request: ModelRequest) -> Any:
        self.requests.append(request)
        self.threads.append(threading.get_ident())
        reply = self.replies[min(len(self.requests), len(self.replies)) - 1]
        if isinstance(reply, BaseException):
            raise reply
        return reply


class AsyncModel(Model):
    async def __call__(self, request: ModelRequest) -> Any:
        await asyncio.sleep(0)
        return super().__call__(request)


def test_function_writes_the_digest() -> None:
    model = Model()
    result = window_budget.compact(ledger(), summarizer=model, **OPTIONS)
    assert "Pages 0 to 20 are summed: 42." in result.report["digest"]
    assert RULE in json.dumps(result.messages) and not result.report["degraded"]
    assert result.report["requests"] == len(model.requests) == model.requests[-1].number
    assert [message["role"] for message in model.requests[0].messages] == ["system", "user"]
    assert result.messages is not None
    assert window_budget.validate(result.messages, format="openai-chat") == []


def test_window_and_instructions_reach_the_model() -> None:
    model = Model()
    summarizer = Summarizer(model, window=8_000, instructions="Keep all sums.")
    window_budget.compact(ledger(), summarizer=summarizer, **OPTIONS)
    assert len(model.requests) > 2
    for request in model.requests:
        assert request.prompt_tokens + request.max_output_tokens < 8_000
        assert "Keep all sums." in request.prompt


def test_error_of_the_function_gives_a_local_digest(caplog: pytest.LogCaptureFixture) -> None:
    model = Model(ConnectionError("no route to host"))
    report = window_budget.compact(ledger(), summarizer=model, **OPTIONS).report
    assert report["degraded"] and report["changed"] and len(model.requests) == 1
    assert report["reason"] == ("local digest: the model failed: ConnectionError: no route to host")
    assert "no route to host" in caplog.text
    plain = window_budget.compact(ledger(), **OPTIONS)
    assert report["digest"] == plain.report["digest"]


def test_cut_off_reply_is_used() -> None:
    model = Model({"cut_off": f"{DIGEST}\n- Page 21 has"})
    report = window_budget.compact(ledger(), summarizer=model, **OPTIONS).report
    assert "are summed: 42." in report["digest"] and "Page 21 has" not in report["digest"]


@pytest.mark.parametrize("reply", [None, 7, {"txt": ""}, b"digest"])
def test_wrong_reply_is_an_error_with_a_hint(reply: Any) -> None:
    with pytest.raises(WindowBudgetError) as caught:
        window_budget.compact(ledger(), summarizer=Model(reply), **OPTIONS)
    assert type(reply).__name__ in str(caught.value) and "cut_off" in caught.value.hint


def test_async_function_needs_await() -> None:
    with pytest.raises(WindowBudgetError) as caught:
        window_budget.compact(ledger(), summarizer=AsyncModel(), **OPTIONS)
    assert caught.value.hint == "await compact_async"
    with pytest.raises(WindowBudgetError):
        Context(summarizer="gpt-5", **OPTIONS)  # type: ignore[arg-type]


def test_interrupt_passes_and_nothing_changes() -> None:
    context = Context(summarizer=Model(KeyboardInterrupt()), **OPTIONS)
    context.push(*ledger())
    with pytest.raises(KeyboardInterrupt):
        context.compact()
    assert context.messages == ledger()


@pytest.mark.parametrize("kind", [Model, AsyncModel])
def test_awaited_calls_take_both_kinds_of_functions(kind: type[Model]) -> None:
    model = kind()
    result = asyncio.run(window_budget.compact_async(ledger(), summarizer=model, **OPTIONS))
    assert result == window_budget.compact(ledger(), summarizer=Model(), **OPTIONS)
    in_loop = set(model.threads) == {threading.get_ident()}
    assert in_loop == (kind is AsyncModel)


def test_awaited_call_without_a_function_is_the_same() -> None:
    result = asyncio.run(window_budget.compact_async(ledger(), **OPTIONS))
    assert result == window_budget.compact(ledger(), **OPTIONS)


def test_error_of_an_async_function_gives_a_local_digest() -> None:
    model = AsyncModel(TimeoutError("too slow"))
    result = asyncio.run(window_budget.compact_async(ledger(), summarizer=model, **OPTIONS))
    assert result.report["degraded"] and "TimeoutError: too slow" in result.report["reason"]


def test_cancelled_call_changes_nothing() -> None:
    async def cancelled() -> Context:
        started = asyncio.Event()

        async def hang(request: ModelRequest) -> str:
            started.set()
            await asyncio.sleep(3600)
            return DIGEST

        context = Context(summarizer=hang, **OPTIONS)
        context.push(*ledger())
        task = asyncio.create_task(context.compact_async())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return context

    context = asyncio.run(cancelled())
    assert context.messages == ledger()


def test_context_goes_on_while_its_model_writes() -> None:
    later = {"role": "user", "content": "And page 99."}

    async def scenario() -> Context:
        async def summarize(request: ModelRequest) -> str:
            if request.number == 1:
                context.push(later)
            return DIGEST

        context = Context(summarizer=summarize, **OPTIONS)
        context.push(*ledger())
        assert (await context.compact_async())["requests"] > 0
        return context

    context = asyncio.run(scenario())
    assert context.messages[-1] == later and "are summed: 42." in str(context.messages)
    assert context.undo() and context.messages == [*ledger(), later]


def test_compactor_asks_the_function() -> None:
    model = Model()
    compactor = Compactor(summarizer=model, **OPTIONS)
    assert "are summed: 42." in str(compactor(ledger())) and model.requests


@pytest.mark.parametrize("path", STAGES, ids=lambda path: path.name.split(".")[0])
def test_stages_are_the_same(path: Path) -> None:
    stages: list[str] = []
    call = path.with_name(path.name.replace(".progress.", ".call."))
    _native.call(call.read_text(), stages.append)
    assert f"[{','.join(stages)}]\n" == path.read_text()


def names(stages: list[dict[str, Any]]) -> list[str]:
    return [stage["stage"] for stage in stages]


def test_stages_are_reported_with_figures() -> None:
    stages: list[dict[str, Any]] = []
    report = window_budget.compact(ledger(), progress=stages.append, **OPTIONS).report
    assert names(stages) == ["counted", "cut", "applied"]
    assert stages[0]["tokens"] == report["tokens_before"]
    assert stages[2]["tokens"] == report["tokens_after"]
    stages.clear()
    window_budget.compact(ledger(1), progress=stages.append, **OPTIONS)
    assert names(stages) == ["counted", "unchanged"]


def test_stages_reach_the_loop() -> None:
    stages: list[dict[str, Any]] = []
    threads: set[int] = set()

    def progress(stage: dict[str, Any]) -> None:
        stages.append(stage)
        threads.add(threading.get_ident())

    context = Context(summarizer=AsyncModel(), progress=progress, **OPTIONS)
    context.push(*ledger())
    report = asyncio.run(context.compact_async())
    assert names(stages) == ["counted", "cut", *["asking"] * report["requests"], "applied"]
    assert threads == {threading.get_ident()}


@pytest.mark.parametrize("is_async", [False, True])
def test_error_of_progress_is_raised(is_async: bool) -> None:
    def progress(stage: dict[str, Any]) -> None:
        raise LookupError(stage["stage"])

    with pytest.raises(LookupError, match="counted"):
        if is_async:
            asyncio.run(window_budget.compact_async(ledger(), progress=progress, **OPTIONS))
        else:
            window_budget.compact(ledger(), progress=progress, **OPTIONS)


def test_progress_may_ask_its_context() -> None:
    seen: list[int] = []
    context = Context(progress=lambda stage: seen.append(context.gate()["tokens"]), **OPTIONS)
    context.push(*ledger())
    context.compact()
    assert len(seen) == 3 and seen[0] > seen[2]


def test_core_works_without_the_lock_of_the_interpreter() -> None:
    barrier = threading.Barrier(2, timeout=60)

    def summarize(request: ModelRequest) -> str:
        barrier.wait()
        return DIGEST

    runs = [
        threading.Thread(
            target=window_budget.compact,
            args=(ledger(),),
            kwargs={"summarizer": summarize, **OPTIONS, "window": 200_000, "force": True},
        )
        for _ in range(2)
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join(60)
    assert not any(run.is_alive() for run in runs) and not barrier.broken


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert asked["messages"][1]["role"] == "user"
        answer = json.dumps({"choices": [{"message": {"content": DIGEST}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        """Keeps the output of tests quiet."""


@pytest.fixture
def server() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1/chat/completions"
    server.shutdown()
    server.server_close()


def test_model_on_a_server_writes_the_digest(server: str) -> None:
    def summarize(request: ModelRequest) -> str:
        body = {"messages": request.messages, "max_tokens": request.max_output_tokens}
        with urlopen(Request(server, json.dumps(body).encode())) as answer:
            return json.load(answer)["choices"][0]["message"]["content"]

    report = window_budget.compact(ledger(), summarizer=summarize, **OPTIONS).report
    assert "are summed: 42." in report["digest"] and not report["degraded"]
