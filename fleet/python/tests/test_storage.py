"""The program on an interface of S3, which a server on this machine has."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BUCKET = "traces"


@pytest.fixture(scope="module")
def storage(parquet: str) -> Iterator[dict[str, str]]:
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    keys = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_REGION": "us-east-1"}
    variables = {"AWS_ENDPOINT_URL": f"http://{host}:{port}", **keys}
    client = boto3.client(
        "s3",
        endpoint_url=variables["AWS_ENDPOINT_URL"],
        region_name="us-east-1",
        aws_access_key_id="any",
        aws_secret_access_key="any",
    )
    client.create_bucket(Bucket=BUCKET)
    for file in Path(parquet).iterdir():
        client.upload_file(str(file), BUCKET, f"2026/{file.name}")
    yield variables
    server.stop()


def report(source: str, variables: dict[str, str]) -> dict[str, Any]:
    program = os.environ["WB_FLEET_PROGRAM"]
    words = [program, "report", source, "--json", "--window", "8000", "--partitions", "2"]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **variables})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_bucket_has_the_report_of_its_folder(parquet: str, storage: dict[str, str]) -> None:
    bucket, folder = report(f"s3://{BUCKET}/2026/", storage), report(parquet, {})
    assert bucket.pop("inputs") != folder.pop("inputs")
    assert bucket == folder
    assert bucket["totals"]["read"] == 38
