"""Every engine gives the answers of the command, row for row, whatever the partitions."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import window_budget_arrow as wb
from conftest import N_ROWS, comparable
from examples import daft_frame, duckdb_query, polars_frame, ray_data, spark_frame

PARTITIONS = [1, 2, 7]


def test_the_function_gives_the_answers_of_the_command(rows: Any, expected: Any) -> None:
    table = pa.Table.from_pylist(rows)
    answers = pa.table(wb.analyze_stream(table, spark_frame.OPTIONS))
    assert comparable(answers) == expected
    assert sum(row["error"] for row in expected.values()) == 4
    assert sum(row.get("compacted", False) for row in expected.values()) > 5
    assert answers.column("id").to_pylist() == [row["id"] for row in rows]


def test_polars(parquet: str, expected: Any) -> None:
    for engine in ["in-memory", "streaming"]:
        frame = polars_frame.run(parquet).collect(engine=engine)
        assert comparable(frame.to_arrow()) == expected, engine


@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_duckdb(parquet: str, json_lines: str, expected: Any, kind: str) -> None:
    folder = parquet if kind == "parquet" else json_lines
    assert comparable(duckdb_query.run(folder, kind).read_all()) == expected


@pytest.mark.parametrize("batch_size", [1, 5, 256])
def test_daft(parquet: str, expected: Any, batch_size: int) -> None:
    assert comparable(daft_frame.run(parquet, batch_size).to_arrow()) == expected


@pytest.fixture(scope="module")
def ray() -> Iterator[None]:
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_ray(parquet: str, expected: Any, partitions: int, ray: None) -> None:
    batches = ray_data.run(parquet, partitions).iter_batches(
        batch_format="pyarrow", batch_size=None
    )
    assert comparable(pa.concat_tables(list(batches))) == expected


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    # A task that fails is tried again, as on a cluster.
    builder = SparkSession.builder.master("local[2,4]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
    session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.mark.parametrize("partitions", PARTITIONS)
def test_spark(parquet: str, expected: Any, partitions: int, spark: Any) -> None:
    assert comparable(spark_frame.run(parquet, partitions, spark).toArrow()) == expected


def test_spark_with_json_lines(json_lines: str, expected: Any, spark: Any) -> None:
    assert comparable(spark_frame.run(json_lines, 2, spark).toArrow()) == expected


def test_a_killed_worker_of_spark_loses_nothing(
    parquet: str, expected: Any, spark: Any, tmp_path: Path
) -> None:
    from pyspark.sql.pandas.types import from_arrow_schema

    killed = str(tmp_path / "killed")

    def answers(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for nth, answer in enumerate(spark_frame.answers(batches)):
            yield answer
            if nth == 0 and not os.path.exists(killed):
                Path(killed).touch()
                os.kill(os.getpid(), signal.SIGKILL)

    schema = from_arrow_schema(pa.schema(wb.schema()))
    rows = spark.read.parquet(parquet).repartition(3).mapInArrow(answers, schema)
    table = rows.toArrow()
    assert os.path.exists(killed)
    assert table.num_rows == N_ROWS
    assert comparable(table) == expected
