//! The page.

use std::fmt::Write as _;

use wb_message::number::grouped;

use crate::measure::{Figures, Mutations};

/// US dollars for an hour of a core.
const CORE_HOUR: f64 = 0.04;

/// Renders the page.
pub(crate) fn page(formats: &[Figures], memory: &[(usize, u64)], mutations: &Mutations) -> String {
    let rows: usize = formats.iter().map(|it| it.rows).sum();
    let n_bytes: u64 = formats.iter().map(|it| it.n_bytes).sum();
    let mut text = format!(
        "# Fleets\n\nThe function of [arrow.md](../reference/arrow.md) on {} generated sessions of about {} bytes, {} MB in all. \
         Seconds are those of the processor, of a shared machine with two cores, in the quickest of three; all in one run of\n\n```text\ncargo run --release -p \
         wb-fleet --example figures -- PYTHON OUT ROWS\n```\n\nin `fleet/`, which wrote this page.\n\n## Throughput of a core\n\nMB of \
         JSON a second. `Value` parses each row into `serde_json::Value`; DuckDB reads the same rows as JSON lines and takes the \
         length of each list. *Weigh* reads and weighs; *all* also validates, collects facts and compacts with \
         `force`, which changes {} of the rows.\n\n| format | `Value` | DuckDB | weigh | all | all, rows a second | seconds for a GB |\n|---|---:|---:|---:|---:|---:|---:|\n",
        grouped(rows as u64),
        n_bytes / rows.max(1) as u64,
        n_bytes / 1_000_000,
        grouped(formats.iter().map(|it| it.compacted as u64).sum()),
    );
    for it in formats {
        let speed = |seconds: f64| it.n_bytes as f64 / seconds / 1e6;
        let _ = writeln!(
            text,
            "| `{}` | {:.0} | {:.0} | {:.0} | {:.1} | {:.0} | {:.0} |",
            it.format,
            speed(it.parse),
            speed(it.duckdb),
            speed(it.weigh),
            speed(it.all),
            it.rows as f64 / it.all,
            1000.0 / speed(it.all)
        );
    }
    text.push_str(
        "\n## An engine next to a loop\n\nThe same Parquet file with all parts: a loop of Rust over its batches, and DataFusion with one \
         partition. The target is 80 %.\n\n| format | loop, s | DataFusion, s | DataFusion's share of the loop's throughput |\n|---|---:|---:|---:|\n",
    );
    for it in formats {
        let share = it.bare_parquet / it.engine * 100.0;
        let _ =
            writeln!(text, "| `{}` | {:.2} | {:.2} | {share:.0} % |", it.format, it.bare_parquet, it.engine);
    }
    text.push_str("\n## Memory\n\nThe most memory of a process that generates and analyzes rows in slices.\n\n| rows | MB |\n|---:|---:|\n");
    for (rows, n_bytes) in memory {
        let _ = writeln!(text, "| {} | {:.1} |", grouped(*rows as u64), *n_bytes as f64 / 1e6);
    }
    let _ = write!(
        text,
        "\n## Damaged rows\n\n{} sessions with bytes replaced, removed or repeated gave {} rows: {} errors as data, of which {} panics. \
         The others could be read in spite of the damage.\n",
        grouped(mutations.rows as u64),
        grouped(mutations.rows as u64),
        grouped(mutations.errors as u64),
        mutations.panics
    );
    simulate(&mut text, formats);
    text
}

/// Adds what follows for more cores.
fn simulate(text: &mut String, formats: &[Figures]) {
    let rows: usize = formats.iter().map(|it| it.rows).sum();
    let seconds: f64 = formats.iter().map(|it| it.engine).sum();
    let n_bytes: u64 = formats.iter().map(|it| it.n_bytes).sum();
    let per_row = seconds / rows.max(1) as f64;
    let _ = write!(
        text,
        "\n## More cores: a calculation\n\nFrom DataFusion's figures above, {:.2} ms a session, for ten million sessions of this size. \
         A core-hour is assumed to cost ${CORE_HOUR}; a million sessions then cost ${:.3}, on any number of cores. Rows do not \
         depend on each other, so the calculation is a division; reading is what the storage must then deliver.\n\n| cores | ten \
         million sessions | JSON to deliver |\n|---:|---:|---:|\n",
        per_row * 1e3,
        per_row * 1e6 / 3600.0 * CORE_HOUR
    );
    for cores in [1.0, 100.0, 10_000.0] {
        let all = per_row * 1e7 / cores;
        let speed = n_bytes as f64 / seconds * cores / 1e6;
        let _ = writeln!(text, "| {cores:.0} | {} | {} |", time(all), rate(speed));
    }
    text.push_str(
        "\nWhat breaks first: with 100 cores nothing that was measured here. With 10,000 the job takes seconds, less than an engine \
         needs to start its workers and to list the files, and a prefix of an object store that answers some thousand requests a \
         second limits how many small files can be opened; files of 100 MB or more avoid that. One session of hundreds of MB keeps \
         its worker busy while the others are done.\n\n## Not measured\n\nA cluster, a network, S3 itself, real sessions in bulk, \
         several cores at once, other machines. Generated sessions are shorter and more alike than real ones; a long session costs \
         more than its share, mostly for facts. The tests compare results of Spark, Daft, Ray, Polars and DuckDB, not their speed.\n",
    );
}

fn time(seconds: f64) -> String {
    match seconds {
        _ if seconds >= 7200.0 => format!("{:.1} hours", seconds / 3600.0),
        _ if seconds >= 120.0 => format!("{:.0} minutes", seconds / 60.0),
        _ => format!("{seconds:.1} seconds"),
    }
}

fn rate(mb: f64) -> String {
    if mb >= 1000.0 { format!("{:.1} GB/s", mb / 1000.0) } else { format!("{mb:.1} MB/s") }
}
