"""Polars: `map_batches`. Run it with `python -m examples.polars_frame FOLDER`."""

import sys

import polars as pl
import pyarrow as pa

import window_budget_arrow as wb

OPTIONS = {"options": {"window": 8000}}
SCHEMA = pl.from_arrow(pa.schema(wb.schema()).empty_table()).schema


def answers(frame: pl.DataFrame) -> pl.DataFrame:
    return pl.DataFrame(pa.table(wb.analyze_stream(frame, OPTIONS)))


def run(folder: str) -> pl.LazyFrame:
    rows = pl.scan_parquet(f"{folder}/*.parquet")
    return rows.map_batches(answers, schema=SCHEMA, streamable=True)


if __name__ == "__main__":
    print(run(sys.argv[1]).select("id", "tokens", "fits").collect(engine="streaming"))
