"""Compaction for hosts that hand over the whole history before every request."""

from __future__ import annotations

import json
import logging
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

from ._calls import compact, weigh

_CONVERSATIONS = 256
log = logging.getLogger("window_budget")
message_key = partial(json.dumps, sort_keys=True, default=str)


class Fold(NamedTuple):
    """A compacted history: `head` replaces what precedes index `start`, the rest stays."""

    head: list[Any]
    start: int


class Compactor:
    """Compacts a history that the host keeps whole.

    What was folded once stays folded, so that consecutive requests begin with the same bytes, and
    a history is compacted only when it outgrows the window again. One compactor serves any number
    of conversations and threads. A history that cannot be read is logged and left alone.
    """

    def __init__(self, *, format: str | None = None, **options: Any) -> None:
        compact([], format=format, **options)
        self._format = format
        self._options = options
        self._heads: OrderedDict[str, list[Any]] = OrderedDict()

    def __call__(self, messages: list[Any], *, overhead: Any = None) -> list[Any]:
        """Returns the messages to send; `overhead` is sent with them: system prompt and tools."""
        head, start = self.fold(messages, overhead=overhead)
        return [*head, *messages[start:]]

    def fold(self, messages: list[Any], *, overhead: Any = None) -> Fold:
        """Returns what replaces the oldest messages."""
        prefixes = list(_prefixes(messages))
        known = self._known(prefixes)
        current = [*known.head, *messages[known.start :]]
        compacted = self._compact(current, overhead)
        if compacted is None:
            return known
        tail = _common_tail(current, compacted, len(messages) - known.start)
        fold = Fold(compacted[: len(compacted) - tail], len(messages) - tail)
        self._heads.pop(prefixes[known.start], None)
        self._remember(prefixes[fold.start], fold.head)
        return fold

    def fold_groups(self, groups: list[list[Any]], *, overhead: Any = None) -> Fold:
        """Folds messages of which a host's message holds several; `start` counts groups."""
        flat = [message for group in groups for message in group]
        head, start = self.fold(flat, overhead=overhead)
        ends = list(accumulate((len(group) for group in groups), initial=0))
        index = bisect_left(ends, start)
        return Fold([*head, *flat[start : ends[index]]], index)

    def _compact(self, messages: list[Any], overhead: Any) -> list[Any] | None:
        options = {**self._options}
        options["overhead_tokens"] = (options.get("overhead_tokens") or 0) + _tokens(overhead)
        try:
            result = compact(messages, format=self._format, **options)
        except (TypeError, ValueError) as error:
            log_unchanged(error)
            return None
        log.debug("%s", result.report)
        return result.messages

    def _known(self, prefixes: list[str]) -> Fold:
        # A fold of this whole history is of a longer one, and leaves no message.
        for start in range(len(prefixes) - 2, 0, -1):
            head = self._heads.get(prefixes[start])
            if head is not None:
                return Fold(head, start)
        return Fold([], 0)

    def _remember(self, prefix: str, head: list[Any]) -> None:
        self._heads[prefix] = head
        while len(self._heads) > _CONVERSATIONS:
            self._heads.popitem(last=False)


def log_unchanged(error: Exception) -> None:
    """Warns that messages are sent as they are."""
    log.warning("the messages stay as they are: %s", error)


def _prefixes(messages: list[Any]) -> Iterator[str]:
    """Yields a fingerprint of the first 0, 1, 2, … messages."""
    import hashlib  # It takes long to load, and only this needs it.

    state = hashlib.sha256()
    yield state.hexdigest()
    for message in messages:
        state.update(message_key(message).encode())
        yield state.hexdigest()


def _common_tail(before: list[Any], after: list[Any], most: int) -> int:
    most = min(most, len(after), len(before))
    pairs = zip(reversed(before), reversed(after), strict=False)
    same = 0
    for old, new in pairs:
        if same == most or old != new:
            break
        same += 1
    return same


def _tokens(overhead: Any) -> int:
    if not overhead:
        return 0
    text = json.dumps(overhead, ensure_ascii=False, default=str)
    return weigh([{"role": "system", "content": text}], format="openai-chat")["tokens"]
