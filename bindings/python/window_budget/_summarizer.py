"""A function of the caller that writes the digests: the rounds between it and the core."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeAlias

from ._errors import WindowBudgetError

Reply: TypeAlias = str | Mapping[str, str]
Progress: TypeAlias = Callable[[dict[str, Any]], object]
log = logging.getLogger("window_budget")


@dataclass(frozen=True)
class ModelRequest:
    """What a summarizer is asked. A long head takes several requests; `number` counts from 1."""

    number: int
    system: str
    prompt: str
    prompt_tokens: int
    max_output_tokens: int

    @property
    def messages(self) -> list[dict[str, str]]:
        """System prompt and prompt as messages of Chat Completions."""
        return [
            {"role": "system", "content": self.system},
            {"role": "user", "content": self.prompt},
        ]


@dataclass(frozen=True)
class Summarizer:
    """A summarizer with the window of its model in tokens, and what the user wants of a digest."""

    ask: Callable[[ModelRequest], Reply | Awaitable[Reply]]
    window: int | None = None
    instructions: str | None = None


Asked: TypeAlias = Summarizer | Callable[[ModelRequest], Reply | Awaitable[Reply]]


class Step(Protocol):
    """One call of the core: the option `summarizer`, and a function for stages in JSON."""

    def __call__(
        self, summarizer: dict[str, Any] | None, on_progress: Callable[[str], object] | None
    ) -> dict[str, Any]: ...


def run(step: Step, summarizer: Asked | None, progress: Progress | None) -> dict[str, Any]:
    """Takes steps until the core has no request."""
    on_progress = None if progress is None else lambda stage: progress(json.loads(stage))
    if summarizer is None:
        return step(None, on_progress)
    rounds = _Rounds(summarizer)
    while "request" in (result := step(rounds.option(), on_progress)):
        rounds.reply(ModelRequest(**result["request"]))
    return result


async def run_async(
    step: Step, summarizer: Asked | None, progress: Progress | None
) -> dict[str, Any]:
    """Takes steps in threads; `progress` and an async summarizer run in the loop."""
    import asyncio

    watcher = None if progress is None else _Watcher(progress, asyncio.get_running_loop())
    rounds = None if summarizer is None else _Rounds(summarizer)
    while True:
        option = None if rounds is None else rounds.option()
        result = await asyncio.to_thread(step, option, watcher)
        if watcher is not None and watcher.raised is not None:
            raise watcher.raised
        if rounds is None or "request" not in result:
            return result
        await rounds.reply_async(ModelRequest(**result["request"]))


class _Watcher:
    """Hands the stages of a thread to a function in a loop."""

    def __init__(self, progress: Progress, loop: Any) -> None:
        self._progress = progress
        self._loop = loop
        self.raised: BaseException | None = None

    def __call__(self, stage: str) -> None:
        self._loop.call_soon_threadsafe(self._deliver, stage)

    def _deliver(self, stage: str) -> None:
        if self.raised is None:
            try:
                self._progress(json.loads(stage))
            except Exception as error:
                self.raised = error


class _Rounds:
    """The replies of a summarizer in one compaction. An error of it is a reply, too."""

    def __init__(self, summarizer: Asked) -> None:
        if not isinstance(summarizer, Summarizer):
            summarizer = Summarizer(summarizer)
        self._summarizer = summarizer
        if not callable(self._summarizer.ask):
            kind = type(self._summarizer.ask).__name__
            raise _wrong(f"the summarizer is a {kind}", "pass a function that takes a ModelRequest")
        self._replies: list[dict[str, str]] = []

    def option(self) -> dict[str, Any]:
        option = asdict(self._summarizer, dict_factory=_known)
        return {**option, "replies": self._replies}

    def reply(self, request: ModelRequest) -> None:
        try:
            reply = self._summarizer.ask(request)
        except Exception as error:
            self._failed(error)
            return
        if isinstance(reply, Awaitable):
            getattr(reply, "close", lambda: None)()
            raise _wrong("the summarizer is async", "await compact_async")
        self._replied(reply)

    async def reply_async(self, request: ModelRequest) -> None:
        import asyncio

        ask = self._summarizer.ask
        try:
            if _is_async(ask):
                reply = ask(request)
            else:
                reply = await asyncio.to_thread(ask, request)
            if isinstance(reply, Awaitable):
                reply = await reply
        except Exception as error:
            self._failed(error)
        else:
            self._replied(reply)

    def _failed(self, error: Exception) -> None:
        log.warning("the summarizer failed, so the digest is local: %r", error, exc_info=error)
        self._replies.append({"error": f"{type(error).__name__}: {error}"})

    def _replied(self, reply: Any) -> None:
        if isinstance(reply, str):
            self._replies.append({"text": reply})
        elif isinstance(reply, Mapping) and list(reply) in (["text"], ["cut_off"]):
            self._replies.append(dict(reply))
        else:
            kind = type(reply).__name__
            hint = 'return a str, or {"cut_off": text} for a reply that reached its limit'
            raise _wrong(f"the summarizer returned a {kind}", hint)


def _known(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in fields if name != "ask" and value is not None}


def _is_async(ask: Any) -> bool:
    import inspect

    return inspect.iscoroutinefunction(ask) or inspect.iscoroutinefunction(ask.__call__)


def _wrong(message: str, hint: str) -> WindowBudgetError:
    return WindowBudgetError("call", message, hint)
