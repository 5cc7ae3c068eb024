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

Messages: TypeAlias = list[Any] | dict[str, Any] | str
M = TypeVar("M", list[Any], dict[str, Any], str)


class WindowBudgetError(ValueError):
    """A call that has no result: `kind`, `message` and `hint`."""

    def __init__(self, kind: str, message: str, hint: str) -> None:
        super().__init__(f"{message}; {hint}")
        self.kind = kind
        self.message = message
        self.hint = hint


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
    text = json.dumps({"operation": operation, **fields}, ensure_ascii=False, separators=(",", ":"))
    return _result(_native.call(text))


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
    **options: Any,
) -> Compaction[M]:
    """Compacts messages that are over budget, or to about `target_tokens`."""
    options |= {"window": window, "target_tokens": target_tokens}
    result = call("compact", **_input(messages, format, options))
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

    def __init__(self, *, format: str | None = None, **options: Any) -> None:
        compact([], format=format, **options)
        settings: dict[str, Any] = {"options": {k: v for k, v in options.items() if v is not None}}
        if format is not None:
            settings["format"] = format
        self._format = format
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
        return _result(self._native.compact())["report"]

    def undo(self) -> bool:
        """Takes the last compaction back."""
        return self._native.undo()
