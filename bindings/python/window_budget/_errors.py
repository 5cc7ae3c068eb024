"""The error of a call."""

from __future__ import annotations


class WindowBudgetError(ValueError):
    """A call that has no result: `kind`, `message` and `hint`."""

    def __init__(self, kind: str, message: str, hint: str) -> None:
        super().__init__(f"{message}; {hint}")
        self.kind = kind
        self.message = message
        self.hint = hint
