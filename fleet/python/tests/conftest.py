"""Sessions in a folder, and the answers of the command to them."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

WINDOW = 8000
N_ROWS = 42


def session(seed: int) -> str:
    """A session of up to 60 steps; every tenth cannot be read."""
    chance = random.Random(seed)
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Fix the rounding in src/cart.rs. Never touch src/billing.rs."}
    ]
    for step in range(chance.randrange(60)):
        name, path = f"call_{step}", f"src/part_{chance.randrange(30)}.rs"
        function = {"name": "read_file", "arguments": json.dumps({"path": path})}
        call = {"id": name, "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        text = f"pub fn total_{step}(cents: u64) -> u64 {{ cents * 2 }}\n" * chance.randrange(1, 40)
        messages.append({"role": "tool", "tool_call_id": name, "content": text})
    messages.append({"role": "assistant", "content": "All parts are read."})
    text = json.dumps(messages)
    return text[: len(text) // 2] if seed % 10 == 9 else text


@pytest.fixture(scope="session")
def rows() -> list[dict[str, str]]:
    return [{"id": f"s{seed:03}", "messages": session(seed)} for seed in range(N_ROWS)]


@pytest.fixture(scope="session")
def parquet(rows: list[dict[str, str]], tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("parquet")
    for part in range(3):
        table = pa.Table.from_pylist(rows[part::3])
        pq.write_table(table, folder / f"part-{part}.parquet", row_group_size=4)
    return str(folder)


@pytest.fixture(scope="session")
def json_lines(rows: list[dict[str, str]], tmp_path_factory: pytest.TempPathFactory) -> str:
    """Lines with nested messages, where they are JSON."""
    folder = tmp_path_factory.mktemp("lines")
    for part in range(3):
        with (folder / f"part-{part}.jsonl").open("w") as file:
            for nth, row in enumerate(rows[part::3]):
                is_whole = (part + 3 * nth) % 10 != 9
                messages = json.loads(row["messages"]) if is_whole else row["messages"]
                file.write(json.dumps({"id": row["id"], "messages": messages}) + "\n")
    return str(folder)


@pytest.fixture(scope="session")
def expected(rows: list[dict[str, str]]) -> dict[str, dict[str, Any]]:
    """The answers of `wb api` by id."""
    program = os.environ.get("WB_PROGRAM")
    if not program:
        pytest.fail("WB_PROGRAM is not set; `cargo xtask fleet` sets it")
    return {row["id"]: answer(program, row["messages"]) for row in rows}


def answer(program: str, messages: str) -> dict[str, Any]:
    def call(operation: str, **fields: Any) -> dict[str, Any]:
        head = json.dumps({"operation": operation, **fields})[:-1]
        text = f'{head}, "messages": {messages}}}'
        done = subprocess.run([program, "api"], input=text, capture_output=True, text=True)
        return json.loads(done.stdout)

    options = {"window": WINDOW}
    weighed = call("weigh", options=options)
    if "error" in weighed:
        return {"error": True}
    weighed, compacted = weighed["result"], call("compact", options=options)["result"]
    return {
        "error": False,
        "format": weighed["format"],
        "n_messages": weighed["messages"],
        "tokens": weighed["tokens"],
        "token_limit": weighed["limit"],
        "fits": not weighed["over_budget"],
        "n_violations": len(call("validate")["result"]["violations"]),
        "facts": call("facts", options=options)["result"],
        "compacted": compacted["report"]["changed"],
        "tokens_after": compacted["report"]["tokens_after"],
        "digest": compacted["report"]["digest"],
        "compacted_messages": compacted["messages"],
    }


def comparable(table: pa.Table) -> dict[str, dict[str, Any]]:
    """The rows of an engine as `answer` has them, by id."""
    by_id = {}
    for row in table.to_pylist():
        assert row["id"] not in by_id, "an engine answered a row twice"
        if row["error"] is not None and row["error"]["kind"] is not None:
            by_id[row["id"]] = {"error": True}
            continue
        keys = [
            "format",
            "n_messages",
            "tokens",
            "token_limit",
            "fits",
            "n_violations",
            "compacted",
        ]
        same = {key: row[key] for key in [*keys, "tokens_after", "digest"]}
        parsed = {key: row[key] and json.loads(row[key]) for key in ["facts", "compacted_messages"]}
        by_id[row["id"]] = {"error": False, **same, **parsed}
    return by_id


@pytest.fixture(scope="session", autouse=True)
def path_of_workers() -> None:
    """Workers of Spark and Ray find the interpreter, the package, the examples and the tests."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    here = str(Path(__file__).parent.parent)
    os.environ["PYTHONPATH"] = os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])
