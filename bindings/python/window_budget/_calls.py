"""The calls of `wb api` as functions.

Messages are a list as a request of the format has it, a whole request (a dict), or the text of a
session file. Options are those of the schema of calls: `model`, `window`, `target_tokens`,
`overhead_tokens`, `trigger_ratio`, `keep_recent_tokens`, `reserve_tokens`, `force`, `strategy`,
`images`, `no_redact`, `recall_tool`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from . import _native
from ._errors import WindowBudgetError
from ._summarizer import Asked, Progress, Step, run, run_async

Messages: TypeAlias = list[Any] | dict[str, Any] | str
M = TypeVar("M", list[Any], dict[str, Any], str)


@dataclass(frozen=True)
class Compaction(Generic[M]):
    """The messages in the shape in which they came, or None if they stay as they are."""

    messages: M | None
    report: dict[str, Any]


@dataclass(frozen=True)
class Repair(Generic[M]):
    """The messages in the shape in which they came, or None if nothing changed."""

    messages: M | None
    fixed: list[dict[str, Any]]
    left: list[dict[str, Any]]


@dataclass(frozen=True)
class Conversion:
    """A request as a dict, or a session as text."""

    output: dict[str, Any] | str
    lost: list[str]
    violations: list[dict[str, Any]]


def call(operation: str, **fields: Any) -> Any:
    """Carries out any call and returns its result."""
    return _result(_native.call(_json({"operation": operation, **fields})))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _result(text: str) -> Any:
    answer = json.loads(text)
    if "error" in answer:
        raise WindowBudgetError(**answer["error"])
    return answer["result"]


def _input(messages: Messages, format: str | None, options: dict[str, Any]) -> dict[str, Any]:
    keys = {list: "messages", tuple: "messages", dict: "body", str: "session"}
    key = keys.get(type(messages), "messages")
    fields: dict[str, Any] = {key: messages}
    if format is not None:
        fields["format"] = format
    chosen = {name: value for name, value in options.items() if value is not None}
    if chosen:
        fields["options"] = chosen
    return fields


def _output(result: dict[str, Any]) -> Any:
    for key in ("messages", "body", "session"):
        if result.get(key) is not None:
            return result[key]
    return None


def weigh(messages: Messages, *, format: str | None = None, **options: Any) -> dict[str, Any]:
    """Weighs messages: `tokens`, `limit`, `over_budget` and more."""
    return call("weigh", **_input(messages, format, options))


def compact(
    messages: M,
    *,
    format: str | None = None,
    window: int | None = None,
    target_tokens: int | None = None,
    summarizer: Asked | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Compaction[M]:
    """Compacts messages that are over budget, or to about `target_tokens`.

    `summarizer` writes the digest: it takes a `ModelRequest` and returns a text. If it raises, the
    digest is local, and the report is `degraded`, with the reason. `progress` receives each stage
    as a dict.
    """
    options |= {"window": window, "target_tokens": target_tokens}
    return _compaction(run(_compact_step(messages, format, options), summarizer, progress))


async def compact_async(
    messages: M,
    *,
    format: str | None = None,
    window: int | None = None,
    target_tokens: int | None = None,
    summarizer: Asked | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Compaction[M]:
    """Compacts as `compact` does, in a thread; `summarizer` may be async."""
    options |= {"window": window, "target_tokens": target_tokens}
    step = _compact_step(messages, format, options)
    return _compaction(await run_async(step, summarizer, progress))


def _compact_step(messages: Messages, format: str | None, options: dict[str, Any]) -> Step:
    fields = _input(messages, format, options)
    chosen = fields.pop("options", {})
    text = _json({"operation": "compact", **fields})

    def step(summarizer: dict[str, Any] | None, on_progress: Any) -> dict[str, Any]:
        all_options = chosen if summarizer is None else {**chosen, "summarizer": summarizer}
        whole = "".join((text[:-1], ',"options":', _json(all_options), "}"))
        return _result(_native.call(whole, on_progress))

    return step


def _compaction(result: dict[str, Any]) -> Compaction[Any]:
    return Compaction(_output(result), result["report"])


def facts(messages: Messages, *, format: str | None = None, **options: Any) -> dict[str, Any]:
    """Returns the facts of messages: requests, constraints, tasks, files, failures, decisions."""
    return call("facts", **_input(messages, format, options))


def audit(
    messages: Messages, summary: str, *, format: str | None = None, **options: Any
) -> list[dict[str, Any]]:
    """Checks a summary against the messages that it replaces; returns what is wrong or missing."""
    return call("audit", summary=summary, **_input(messages, format, options))


def validate(
    messages: Messages, *, format: str | None = None, dialects: list[str] | None = None
) -> list[dict[str, Any]]:
    """Returns what a provider would refuse."""
    fields = _input(messages, format, {})
    return call("validate", dialects=dialects or [], **fields)["violations"]


def repair(messages: M, *, format: str | None = None) -> Repair[M]:
    """Repairs what a provider would refuse."""
    result = call("repair", **_input(messages, format, {}))
    return Repair(_output(result), result["fixed"], result["left"])


def convert(
    messages: Messages, to: str, *, format: str | None = None, **options: Any
) -> Conversion:
    """Writes messages in another format."""
    result = call("convert", to=to, **_input(messages, format, options))
    return Conversion(_output(result), result["lost"], result["violations"])


def recall(messages: Messages, question: str | dict[str, Any], *, format: str | None = None) -> str:
    """Looks up words, or a `message`, `file`, `command` or `turn`; returns excerpts."""
    asked = {"query": question} if isinstance(question, str) else question
    return call("recall", question=asked, **_input(messages, format, {}))["text"]


class Context:
    """The messages of a loop: they are remembered across compactions, which can be undone."""

    def __init__(
        self,
        *,
        format: str | None = None,
        summarizer: Asked | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> None:
        compact([], format=format, summarizer=summarizer, **options)
        settings: dict[str, Any] = {"options": {k: v for k, v in options.items() if v is not None}}
        if format is not None:
            settings["format"] = format
        self._format = format
        self._summarizer = summarizer
        self._progress = progress
        self._native = _native.Context(json.dumps(settings))

    def push(self, *messages: dict[str, Any]) -> None:
        """Adds messages."""
        try:
            self._native.push(json.dumps(messages, ensure_ascii=False))
        except ValueError:
            weigh(list(messages), format=self._format)
            raise

    @property
    def messages(self) -> list[Any]:
        """The messages to send."""
        return json.loads(self._native.messages())

    def gate(self) -> dict[str, Any]:
        """Weighs the messages: `tokens`, `limit`, `over_budget` and more."""
        return _result(self._native.gate())

    def compact(self) -> dict[str, Any]:
        """Compacts the messages if they are over budget; returns the report."""
        return run(self._step(), self._summarizer, self._progress)["report"]

    async def compact_async(self) -> dict[str, Any]:
        """Compacts as `compact` does, in a thread; the summarizer may be async.

        Messages may be added meanwhile, and stay.
        """
        return (await run_async(self._step(), self._summarizer, self._progress))["report"]

    def _step(self) -> Step:
        compaction = self._native.begin()

        def step(summarizer: dict[str, Any] | None, on_progress: Any) -> dict[str, Any]:
            option = None if summarizer is None else _json(summarizer)
            return _result(compaction.step(option, on_progress))

        return step

    def undo(self) -> bool:
        """Takes the last compaction back."""
        return self._native.undo()
