"""Daft: `@daft.func.batch`. Run it with `python -m examples.daft_frame FOLDER`."""

import sys

import daft
import pyarrow as pa
from daft import DataType, Series

import window_budget_arrow as wb

OPTIONS = {"options": {"window": 8000}}
ANSWER = DataType.from_arrow_type(pa.struct(pa.schema(wb.schema())))


def run(folder: str, batch_size: int = 256) -> daft.DataFrame:
    @daft.func.batch(return_dtype=ANSWER, unnest=True, batch_size=batch_size)
    def window_budget(id: Series, messages: Series) -> pa.Array:
        batch = pa.record_batch({"id": id.to_arrow(), "messages": messages.to_arrow()})
        return pa.record_batch(wb.analyze(batch, OPTIONS)).to_struct_array()

    rows = daft.read_parquet(f"{folder}/*.parquet")
    return rows.select(window_budget(rows["id"], rows["messages"]))


if __name__ == "__main__":
    run(sys.argv[1]).select("id", "tokens", "fits").show()
