//! The page.

use std::collections::HashSet;
use std::fmt::Write as _;

use wb_message::number::grouped;

use crate::measure::{Figures, Mutations};
use crate::overhead::Overheads;
use crate::recorded::{Group, Recorded, RecordedRun};
use crate::simulation::{CORE_HOUR, FILE_MB, PETABYTE_MB, Simulated, simulate};

/// The cores of the simulation.
const CORES: [usize; 3] = [1, 100, 10_000];
/// The parts of a full analysis, as runs have them.
pub(crate) const ALL: &str = "weigh,validate,facts,audit,compact";

/// All that was measured.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) formats: Vec<Figures>,
    /// The most MB of a process by its rows.
    pub(crate) memory: Vec<(usize, f64)>,
    pub(crate) mutations: Mutations,
    pub(crate) overheads: Overheads,
    pub(crate) recorded: Recorded,
}

impl Page {
    /// Renders the page.
    pub(crate) fn text(&self) -> String {
        let sections = [
            self.throughput(),
            self.engine(),
            self.long_runs(),
            self.memory(),
            self.damaged(),
            self.simulation(),
            NOT_MEASURED.to_owned(),
        ];
        sections.join("\n")
    }

    fn throughput(&self) -> String {
        let rows: usize = self.formats.iter().map(|it| it.rows).sum();
        let n_bytes: u64 = self.formats.iter().map(|it| it.n_bytes).sum();
        let compacted: usize = self.formats.iter().map(|it| it.compacted).sum();
        let mut text = format!(
            "# Fleets\n\nThe function of [arrow.md](../reference/arrow.md) on generated sessions, in seconds of the processor, on a \
             shared machine with two cores. `fleet/wb-fleet/examples/figures` wrote this page and says how.\n\n\
             ## Throughput of a core\n\nMB of JSON a second, of {} sessions of about {} bytes, {} MB in all; the quickest of three. \
             `Value` parses each row into `serde_json::Value`; DuckDB reads the rows as JSON lines and takes the length of each list. \
             *Validate* and *facts* also weigh; *all* also compacts with `force`, which changes {} of the rows.\n\n| format | `Value` | DuckDB | weigh | validate | facts | all | all, rows a second | seconds \
             for a GB |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
            grouped(rows as u64),
            n_bytes / rows.max(1) as u64,
            n_bytes / 1_000_000,
            grouped(compacted as u64),
        );
        for it in &self.formats {
            let speed = |seconds: f64| it.n_bytes as f64 / seconds / 1e6;
            let _ = writeln!(
                text,
                "| `{}` | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.1} | {:.0} | {:.0} |",
                it.format,
                speed(it.parse),
                speed(it.duckdb),
                speed(it.weigh),
                speed(it.validate),
                speed(it.facts),
                speed(it.all),
                it.rows as f64 / it.all,
                1000.0 / speed(it.all)
            );
        }
        text
    }

    fn engine(&self) -> String {
        let mut text = "## An engine next to a loop\n\nThe same Parquet file with all parts: a loop of Rust over its batches, and \
            DataFusion with one partition (target: 80 %).\n\n| format | loop, s | DataFusion, s | DataFusion's share of the \
            loop's throughput |\n|---|---:|---:|---:|\n"
            .to_owned();
        for it in &self.formats {
            let share = it.bare_parquet / it.engine * 100.0;
            let _ = writeln!(
                text,
                "| `{}` | {:.2} | {:.2} | {share:.0} % |",
                it.format, it.bare_parquet, it.engine
            );
        }
        text
    }

    fn long_runs(&self) -> String {
        let mut text = "## Long runs\n\nRows of all four formats, generated while they are analyzed. DataFusion has two threads; DuckDB gets \
            the rows from another process and hands them to the function for Python. The time for generating or receiving them is \
            subtracted. Engines are shown by their share of the loop's throughput, memory in MB after 5 % of the rows and at the end. \
            [All figures](data/fleet-runs.tsv).\n\n| sessions | bytes | parts | loop, MB/s | DataFusion with 1 · \
            2 · 7 partitions | DuckDB | memory: loop · DataFusion · DuckDB | answers |\n|---:|---:|---|---:|---|---|---|---|\n"
            .to_owned();
        self.recorded.groups().iter().for_each(|group| text.push_str(&self.long_run(group)));
        text
    }

    fn long_run(&self, group: &Group<'_>) -> String {
        let find = |engine: &str, partitions: usize| {
            group.runs.iter().find(|it| it.engine == engine && it.partitions == partitions).copied()
        };
        let bare = group.bare();
        let share = |run: Option<&RecordedRun>| {
            let share = bare.zip(run).map(|(bare, run)| group.net(bare) / group.net(run) * 100.0);
            share.map_or_else(|| "–".to_owned(), |share| format!("{share:.0} %"))
        };
        let memory = |run: Option<&RecordedRun>| {
            let mb = run.and_then(|run| self.recorded.memory(run));
            mb.map_or_else(|| "–".to_owned(), |[first, last]| format!("{first:.0} to {last:.0}"))
        };
        let answers: HashSet<_> = group.runs.iter().map(|run| (&run.sum, run.errors)).collect();
        let (engines, duckdb) = ([1, 2, 7].map(|n| find("datafusion", n)), find("duckdb", 2));
        format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
            grouped(group.rows as u64),
            grouped(group.row_bytes as u64),
            if group.parts == ALL { "all" } else { group.parts },
            bare.map_or_else(|| "–".to_owned(), |bare| format!("{:.0}", group.mb / group.net(bare))),
            engines.map(share).join(" · "),
            share(duckdb),
            [bare, engines[1], duckdb].map(memory).join(" · "),
            if answers.len() == 1 { "equal" } else { "**differ**" },
        )
    }

    fn memory(&self) -> String {
        let mut text = "## Memory of a worker\n\nThe most memory of a process that analyzes rows of 4 kB with all parts in slices; \
            [samples](data/fleet-memory.tsv) of the long runs.\n\n| rows | MB |\n|---:|---:|\n"
            .to_owned();
        for (rows, mb) in &self.memory {
            let _ = writeln!(text, "| {} | {mb:.1} |", grouped(*rows as u64));
        }
        text
    }

    fn damaged(&self) -> String {
        let Mutations { rows, errors, panics } = self.mutations;
        format!(
            "## Damaged rows\n\n{} sessions with bytes replaced, removed or repeated gave {} rows: {} errors as data, of which {panics} \
             panics; the others could still be read.\n",
            grouped(rows as u64),
            grouped(rows as u64),
            grouped(errors as u64),
        )
    }

    fn simulation(&self) -> String {
        let Overheads { start, file, spark_start, spark_task } = self.overheads;
        let mut text = format!(
            "## More cores: a simulation\n\nA petabyte of JSON in files of {FILE_MB:.0} MB, each a task of the next free core, with one of \
             the throughputs above, at random from a seed. Measured overheads are added, in seconds: {spark_start:.1} until Spark answered the \
             first task, {spark_task:.3} for each task of Spark in a worker of Python, {file:.4} for each file of Parquet; DataFusion \
             takes {start:.2} until its first row. A core-hour is assumed to cost ${CORE_HOUR}.\n\n| parts | cores | time | core time without analysis | cost | JSON to deliver |\n|---|---:|---:|---:|---:|---:|\n",
        );
        for parts in ["weigh", ALL] {
            let speeds = self.speeds(parts);
            for cores in CORES {
                let Simulated { cores, hours, overhead, dollars, mb_per_second } =
                    simulate(PETABYTE_MB, cores, &speeds, &self.overheads);
                let _ = writeln!(
                    text,
                    "| {} | {} | {} | {:.1} % | ${} | {} |",
                    if parts == ALL { "all" } else { parts },
                    grouped(cores as u64),
                    time(hours),
                    overhead * 100.0,
                    grouped(whole(dollars)),
                    rate(mb_per_second)
                );
            }
        }
        text.push_str(&self.cost_of_sessions());
        text.push_str(WHAT_BREAKS);
        text
    }

    fn cost_of_sessions(&self) -> String {
        let cost = |parts: &str, n_bytes: f64| {
            let speeds = self.speeds(parts);
            let seconds_of_mb =
                speeds.iter().map(|speed| 1.0 / speed).sum::<f64>() / speeds.len().max(1) as f64;
            n_bytes * seconds_of_mb / 3600.0 * CORE_HOUR
        };
        format!(
            "\nA million sessions of 4 kB cost ${:.4} to weigh and ${:.3} with all parts; a million of 1 MB ${:.2} and ${:.2}.\n",
            cost("weigh", 4e3),
            cost(ALL, 4e3),
            cost("weigh", 1e6),
            cost(ALL, 1e6)
        )
    }

    /// Returns the throughputs of a core with some parts, in MB a second.
    fn speeds(&self, parts: &str) -> Vec<f64> {
        let seconds = |it: &Figures| if parts == ALL { it.bare_parquet } else { it.weigh };
        let formats = self.formats.iter().map(|it| it.n_bytes as f64 / seconds(it) / 1e6);
        formats.chain(self.recorded.speeds(parts)).collect()
    }
}

const WHAT_BREAKS: &str = "\nWith 10,000 cores the storage breaks first: it must deliver the last column, and an object store limits \
    requests, so write files of 100 MB or more. One session of hundreds of MB keeps its worker busy while the others are done.\n";

const NOT_MEASURED: &str = "## Not measured\n\nA cluster, a network, S3 itself, real sessions in bulk (generated ones are more alike), compressed \
    Parquet, more than two cores at once. Tests compare results of Spark, Daft, Ray, Polars and DuckDB; only DuckDB's speed was measured.\n";

fn time(hours: f64) -> String {
    match hours {
        _ if hours >= 48.0 => format!("{:.0} days", hours / 24.0),
        _ if hours >= 2.0 => format!("{hours:.1} hours"),
        _ => format!("{:.0} minutes", hours * 60.0),
    }
}

fn rate(mb: f64) -> String {
    if mb >= 1000.0 { format!("{:.1} GB/s", mb / 1000.0) } else { format!("{mb:.1} MB/s") }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a sum of money")]
fn whole(dollars: f64) -> u64 {
    dollars.round() as u64
}
