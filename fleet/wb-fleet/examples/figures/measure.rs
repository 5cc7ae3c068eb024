//! The measurements.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch, StringArray, cast::AsArray};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use futures::StreamExt;
use serde_json::{Value, json};
use wb_arrow::{Options, analyze, slices};
use wb_fleet::{Job, answers};

use crate::process::{peak_megabytes, processor_seconds};
use crate::rows::{Outcome, text_bytes};
use crate::sessions::{FORMATS, mutated, session};

/// The approximate bytes of a session.
const BYTES: usize = 4000;
/// The rows of a batch.
const BATCH_ROWS: usize = 256;
/// The runs of each measurement, of which the quickest counts.
const RUNS: usize = 3;
/// Reads the lines of a file with one thread, and looks at each list.
const DUCKDB: &str = "
import duckdb, sys, time
duckdb.sql('SET threads = 1')
columns = \"{id: 'VARCHAR', messages: 'JSON'}\"
start = time.process_time()
query = 'SELECT sum(json_array_length(messages)) FROM read_json(?, format = \\'newline_delimited\\', columns = ' + columns + ')'
duckdb.execute(query, [sys.argv[1]]).fetchall()
print(time.process_time() - start)";

/// The figures of a format: seconds for all rows on one core.
#[derive(Debug)]
pub(crate) struct Figures {
    pub(crate) format: &'static str,
    pub(crate) rows: usize,
    pub(crate) n_bytes: u64,
    pub(crate) parse: f64,
    pub(crate) duckdb: f64,
    pub(crate) weigh: f64,
    /// With a validation.
    pub(crate) validate: f64,
    /// With facts.
    pub(crate) facts: f64,
    pub(crate) all: f64,
    pub(crate) bare_parquet: f64,
    pub(crate) engine: f64,
    pub(crate) compacted: usize,
}

impl Figures {
    pub(crate) fn new(format: &'static str, rows: usize, python: &str, folder: &Path) -> Outcome<Self> {
        let files = Files::write(format, rows, folder)?;
        let batches: Vec<RecordBatch> =
            ParquetRecordBatchReaderBuilder::try_new(File::open(&files.parquet)?)?
                .with_batch_size(BATCH_ROWS)
                .build()?
                .collect::<Result<_, _>>()?;
        let all = options(&["weigh", "validate", "facts", "audit", "compact"]);
        let seconds = |options: &Options| quickest(|| batches.iter().try_for_each(|it| bare(it, options)));
        let duckdb = || {
            let output = Command::new(python).args(["-c", DUCKDB]).arg(&files.lines).output()?;
            Ok(String::from_utf8(output.stdout)?.trim().parse()?)
        };
        let figures = Self {
            format,
            rows,
            n_bytes: batches.iter().map(text_bytes).sum(),
            parse: quickest(|| parse(&batches))?,
            duckdb: (0..RUNS)
                .map(|_| duckdb())
                .collect::<Outcome<Vec<f64>>>()?
                .into_iter()
                .fold(f64::MAX, f64::min),
            weigh: seconds(&options(&["weigh"]))?,
            validate: seconds(&options(&["weigh", "validate"]))?,
            facts: seconds(&options(&["weigh", "facts"]))?,
            all: seconds(&all)?,
            bare_parquet: quickest(|| bare_parquet(&files.parquet, &all))?,
            engine: quickest(|| engine(&files.parquet, rows))?,
            compacted: batches.iter().map(|batch| compacted(batch, &all)).sum::<Outcome<usize>>()?,
        };
        std::fs::remove_file(files.lines)?;
        std::fs::remove_file(files.parquet)?;
        Ok(figures)
    }
}

/// The same rows as JSON lines and as Parquet.
struct Files {
    lines: PathBuf,
    parquet: PathBuf,
}

impl Files {
    fn write(format: &str, rows: usize, folder: &Path) -> Outcome<Self> {
        let (lines, parquet) = (folder.join("rows.jsonl"), folder.join("rows.parquet"));
        let mut text = BufWriter::new(File::create(&lines)?);
        let mut writer = ArrowWriter::try_new(File::create(&parquet)?, batch(format, 0..0)?.schema(), None)?;
        for start in (0..rows).step_by(BATCH_ROWS) {
            let batch = batch(format, start..(start + BATCH_ROWS).min(rows))?;
            let messages = batch["messages"].as_string::<i32>();
            for messages in messages.iter().flatten() {
                writeln!(text, "{{\"id\":\"x\",\"messages\":{messages}}}")?;
            }
            writer.write(&batch)?;
        }
        text.flush()?;
        writer.close()?;
        Ok(Self { lines, parquet })
    }
}

fn batch(format: &str, rows: std::ops::Range<usize>) -> Outcome<RecordBatch> {
    let ids: StringArray = rows.clone().map(|nth| Some(format!("{format}-{nth}"))).collect();
    let messages: StringArray = rows.clone().map(|nth| Some(session(format, nth as u64, BYTES))).collect();
    let formats: StringArray = rows.map(|_| Some(format)).collect();
    let columns = [("id", ids), ("format", formats), ("messages", messages)];
    Ok(RecordBatch::try_from_iter(columns.map(|(name, column)| (name, Arc::new(column) as ArrayRef)))?)
}

fn options(parts: &[&str]) -> Options {
    Options::parse(&text_of(parts)).unwrap_or_default()
}

/// Asks for a compaction whatever the size, with a short tail.
fn text_of(parts: &[&str]) -> String {
    json!({ "parts": parts, "options": { "force": true, "keep_recent_tokens": 300 } }).to_string()
}

/// Returns the least seconds of the processor that a run takes, in all of its threads.
fn quickest(mut run: impl FnMut() -> Outcome<()>) -> Outcome<f64> {
    let mut least = f64::MAX;
    for _ in 0..RUNS {
        let start = processor_seconds(None)?;
        run()?;
        least = least.min(processor_seconds(None)? - start);
    }
    Ok(least)
}

fn compacted(batch: &RecordBatch, options: &Options) -> Outcome<usize> {
    Ok(analyze(batch, options)?["compacted"].as_boolean().true_count())
}

fn parse(batches: &[RecordBatch]) -> Outcome<()> {
    for text in batches.iter().flat_map(|batch| batch["messages"].as_string::<i32>().iter().flatten()) {
        std::hint::black_box(serde_json::from_str::<Value>(text)?);
    }
    Ok(())
}

fn bare(batch: &RecordBatch, options: &Options) -> Outcome<()> {
    std::hint::black_box(analyze(batch, options)?);
    Ok(())
}

fn bare_parquet(file: &Path, options: &Options) -> Outcome<()> {
    let reader =
        ParquetRecordBatchReaderBuilder::try_new(File::open(file)?)?.with_batch_size(BATCH_ROWS).build()?;
    reader.into_iter().try_for_each(|batch| bare(&batch?, options))
}

/// Runs the same in DataFusion with one partition.
fn engine(file: &Path, rows: usize) -> Outcome<()> {
    let parts = ["weigh", "validate", "facts", "audit", "compact"];
    let job = Job { inputs: vec![file.display().to_string()], options: text_of(&parts), partitions: 1 };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build()?;
    let n_rows = runtime.block_on(async {
        let mut stream = answers(&job.context(), &job).await?.execute_stream().await?;
        let mut n_rows = 0;
        while let Some(batch) = stream.next().await {
            n_rows += batch?.num_rows();
        }
        Ok::<usize, Box<dyn std::error::Error>>(n_rows)
    })?;
    if n_rows == rows { Ok(()) } else { Err(format!("{n_rows} rows of {rows}").into()) }
}

/// Analyzes generated rows and returns the most memory of this process in MB.
pub(crate) fn memory_of_rows(rows: usize) -> Outcome<f64> {
    let options = options(&["weigh", "validate", "facts", "audit", "compact"]);
    for start in (0..rows).step_by(BATCH_ROWS) {
        let format = FORMATS[start / BATCH_ROWS % FORMATS.len()];
        let batch = batch(format, start..(start + BATCH_ROWS).min(rows))?;
        for slice in slices(&batch, &options)? {
            std::hint::black_box(slice?);
        }
    }
    peak_megabytes()
}

/// The outcomes of damaged rows.
#[derive(Debug, Default)]
pub(crate) struct Mutations {
    pub(crate) rows: usize,
    pub(crate) errors: usize,
    pub(crate) panics: usize,
}

/// Damages sessions of all formats and analyzes them.
pub(crate) fn mutations(rows: usize) -> Outcome<Mutations> {
    let options = options(&["weigh", "validate", "facts", "audit", "compact", "compare"]);
    let mut counted = Mutations::default();
    for start in (0..rows).step_by(BATCH_ROWS) {
        let texts: Vec<Vec<u8>> = (start..(start + BATCH_ROWS).min(rows))
            .map(|nth| mutated(&session(FORMATS[nth % FORMATS.len()], nth as u64, BYTES), nth as u64))
            .collect();
        let messages: BinaryArray = texts.iter().map(Some).collect();
        let batch = RecordBatch::try_from_iter([("messages", Arc::new(messages) as ArrayRef)])?;
        let answer = analyze(&batch, &options)?;
        let errors = answer["error"].as_struct();
        let kinds = errors.column_by_name("kind").ok_or("no kind")?.as_string::<i32>();
        counted.rows += answer.num_rows();
        counted.errors += answer.num_rows() - errors.null_count();
        counted.panics += kinds.iter().flatten().filter(|kind| *kind == "panic").count();
    }
    Ok(counted)
}
