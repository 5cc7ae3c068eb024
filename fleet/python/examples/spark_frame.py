"""Spark: `mapInArrow`. Run it with `python -m examples.spark_frame FOLDER`."""

import sys
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

import window_budget_arrow as wb

OPTIONS = {"options": {"window": 8000}}
LINES = "id string, format string, messages string, summary string"


def answers(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        table = pa.Table.from_batches([batch])
        yield from pa.RecordBatchReader.from_stream(wb.analyze_stream(table, OPTIONS))


def run(folder: str, partitions: int, spark: SparkSession) -> DataFrame:
    lines = spark.read.schema(LINES).json(folder, pathGlobFilter="*.jsonl")
    rows = spark.read.parquet(folder) if not lines.head(1) else lines
    schema = from_arrow_schema(pa.schema(wb.schema()))
    return rows.repartition(partitions).mapInArrow(answers, schema)


if __name__ == "__main__":
    session = SparkSession.builder.master("local[2]").getOrCreate()
    run(sys.argv[1], 2, session).select("id", "tokens", "fits", "error.message").show()
