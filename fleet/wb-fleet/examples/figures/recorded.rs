//! The long runs that were recorded.

use std::path::Path;

use crate::rows::Outcome;

/// A line of `fleet-runs.tsv`.
#[derive(Clone, Debug)]
pub(crate) struct RecordedRun {
    pub(crate) engine: String,
    pub(crate) partitions: usize,
    pub(crate) parts: String,
    pub(crate) rows: usize,
    pub(crate) row_bytes: usize,
    mb: f64,
    pub(crate) seconds: f64,
    pub(crate) errors: usize,
    pub(crate) sum: String,
}

/// A line of `fleet-memory.tsv`.
#[derive(Clone, Debug)]
struct Sample {
    run: String,
    mb: f64,
}

/// All runs, and their memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorded {
    runs: Vec<RecordedRun>,
    samples: Vec<Sample>,
}

/// Runs over the same rows with the same parts.
#[derive(Clone, Debug)]
pub(crate) struct Group<'a> {
    pub(crate) rows: usize,
    pub(crate) row_bytes: usize,
    pub(crate) parts: &'a str,
    pub(crate) runs: Vec<&'a RecordedRun>,
    /// The MB of JSON.
    pub(crate) mb: f64,
    /// The processor seconds in which the rows are generated.
    pub(crate) generating: f64,
    /// The processor seconds in which another process receives them.
    receiving: f64,
}

impl Group<'_> {
    /// Returns the seconds of a run without those for its rows: DuckDB receives them.
    pub(crate) fn net(&self, run: &RecordedRun) -> f64 {
        run.seconds - if run.engine == "duckdb" { self.receiving } else { self.generating }
    }

    pub(crate) fn bare(&self) -> Option<&RecordedRun> {
        self.runs.iter().find(|run| run.engine == "loop").copied()
    }
}

impl Recorded {
    pub(crate) fn read(folder: &Path) -> Outcome<Self> {
        let lines = |name: &str| -> Outcome<Vec<Vec<String>>> {
            let text = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
            Ok(text.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect()).collect())
        };
        let run = |line: &Vec<String>| -> Outcome<RecordedRun> {
            let [engine, partitions, parts, rows, row_bytes, mb, seconds, _, _, errors, sum] = &line[..]
            else {
                return Err(format!("no run: {line:?}").into());
            };
            Ok(RecordedRun {
                engine: engine.clone(),
                partitions: partitions.parse()?,
                parts: parts.clone(),
                rows: rows.parse()?,
                row_bytes: row_bytes.parse()?,
                mb: mb.parse()?,
                seconds: seconds.parse()?,
                errors: errors.parse()?,
                sum: sum.clone(),
            })
        };
        let sample = |line: &Vec<String>| -> Outcome<Sample> {
            let [run, _, mb] = &line[..] else { return Err(format!("no sample: {line:?}").into()) };
            Ok(Sample { run: run.clone(), mb: mb.parse()? })
        };
        Ok(Self {
            runs: lines("fleet-runs.tsv")?.iter().map(run).collect::<Outcome<_>>()?,
            samples: lines("fleet-memory.tsv")?.iter().map(sample).collect::<Outcome<_>>()?,
        })
    }

    /// Returns the runs in groups, in the order in which they were recorded.
    pub(crate) fn groups(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        for run in self.runs.iter().filter(|run| run.engine == "generate") {
            let same = |it: &&RecordedRun| {
                (it.rows, it.row_bytes, &it.parts) == (run.rows, run.row_bytes, &run.parts)
                    && it.engine != "generate"
            };
            let (received, runs): (Vec<_>, Vec<_>) =
                self.runs.iter().filter(same).partition(|it| it.engine == "receive");
            let receiving = received.first().map_or(0.0, |it| it.seconds);
            let RecordedRun { rows, row_bytes, ref parts, mb, seconds: generating, .. } = *run;
            groups.push(Group { rows, row_bytes, parts, runs, mb, generating, receiving });
        }
        groups
    }

    /// Returns the memory of a run after the first twentieth of the rows and after all.
    pub(crate) fn memory(&self, run: &RecordedRun) -> Option<[f64; 2]> {
        let RecordedRun { engine, partitions, parts, rows, row_bytes, .. } = run;
        let name = format!("{engine} {partitions} {parts} {rows} {row_bytes}");
        let mut samples = self.samples.iter().filter(|it| it.run == name).map(|it| it.mb);
        let first = samples.next()?;
        Some([first, samples.next_back().unwrap_or(first)])
    }

    /// Returns the throughput of each run of the loop with some parts, in MB a second.
    pub(crate) fn speeds(&self, parts: &str) -> Vec<f64> {
        let groups = self.groups();
        let speed = |group: &Group<'_>| {
            let bare = group.bare().filter(|run| run.parts == parts)?;
            Some(group.mb / group.net(bare))
        };
        groups.iter().filter_map(speed).collect()
    }
}
