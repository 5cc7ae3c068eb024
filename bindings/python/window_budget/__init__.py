"""Keeps the messages of LLM agents within their context window.

>>> import window_budget
>>> messages = [{"role": "user", "content": "Hello."}]
>>> window_budget.compact(messages, format="openai-chat", window=128_000).messages is None
True
"""

from ._calls import (
    Compaction,
    Context,
    Conversion,
    Repair,
    audit,
    call,
    compact,
    compact_async,
    convert,
    facts,
    recall,
    repair,
    validate,
    weigh,
)
from ._compactor import Compactor, Fold
from ._errors import WindowBudgetError
from ._summarizer import ModelRequest, Summarizer

__all__ = [
    "Compaction",
    "Compactor",
    "Context",
    "Conversion",
    "Fold",
    "ModelRequest",
    "Repair",
    "Summarizer",
    "WindowBudgetError",
    "audit",
    "call",
    "compact",
    "compact_async",
    "convert",
    "facts",
    "recall",
    "repair",
    "validate",
    "weigh",
]
