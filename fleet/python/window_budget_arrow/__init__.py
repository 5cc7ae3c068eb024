"""Sessions of LLM agents in Arrow: a row of figures, facts and compacted messages for each.

>>> import pyarrow as pa, window_budget_arrow as wb
>>> batch = pa.record_batch({"messages": ['[{"role": "user", "content": "Hello."}]']})
>>> pa.record_batch(wb.analyze(batch))["n_messages"]
<pyarrow.lib.Int64Array object at ...>
[
  1
]
"""

from __future__ import annotations

import json
from typing import Any

from . import _native


def analyze(batch: Any, options: dict[str, Any] | None = None) -> Any:
    """Returns a row for each row of a batch.

    A batch is anything with `__arrow_c_array__`, and so is the answer.
    """
    return _native.analyze(batch, json.dumps(options or {}))


def analyze_stream(batches: Any, options: dict[str, Any] | None = None) -> Any:
    """Returns the answers to a reader, a table or a frame, with few rows in memory at once.

    Batches are anything with `__arrow_c_stream__`, and so are the answers.
    """
    return _native.analyze_stream(batches, json.dumps(options or {}))


def schema() -> Any:
    """Returns the schema of answers, with `__arrow_c_schema__`."""
    return _native.schema()
