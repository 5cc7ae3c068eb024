"""Ray Data: `map_batches`. Run it with `python -m examples.ray_data FOLDER`."""

import sys

import pyarrow as pa
import ray

import window_budget_arrow as wb

OPTIONS = {"options": {"window": 8000}}


def answers(table: pa.Table) -> pa.Table:
    return pa.table(wb.analyze_stream(table, OPTIONS))


def run(folder: str, partitions: int) -> ray.data.Dataset:
    rows = ray.data.read_parquet(folder).repartition(partitions)
    return rows.map_batches(answers, batch_format="pyarrow", batch_size=256)


if __name__ == "__main__":
    ray.init(num_cpus=2)
    run(sys.argv[1], 2).select_columns(["id", "tokens", "fits"]).show()
