"""DuckDB: a stream in and out of SQL. Run it with `python -m examples.duckdb_query FOLDER`."""

import sys

import duckdb
import pyarrow as pa

import window_budget_arrow as wb

OPTIONS = {"options": {"window": 8000}}
LINES = "{id: 'VARCHAR', format: 'VARCHAR', messages: 'JSON', summary: 'VARCHAR'}"


def run(folder: str, kind: str = "parquet") -> pa.RecordBatchReader:
    lines = f"read_json('{folder}/*.jsonl', format = 'newline_delimited', columns = {LINES})"
    source = f"'{folder}/*.parquet'" if kind == "parquet" else lines
    rows = duckdb.sql(f"SELECT id, messages::VARCHAR AS messages FROM {source}")
    # As a stream by itself, a query has batches of a million rows.
    batches = rows.to_arrow_reader(1000)
    return pa.RecordBatchReader.from_stream(wb.analyze_stream(batches, OPTIONS))


if __name__ == "__main__":
    answers = run(sys.argv[1])
    print(duckdb.sql("SELECT id, tokens, fits FROM answers ORDER BY tokens DESC LIMIT 10"))
