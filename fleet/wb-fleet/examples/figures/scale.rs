//! Runs over millions of generated rows: a loop, DataFusion, and DuckDB over streams of Arrow.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::SchemaRef;
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use futures::{StreamExt, stream};
use wb_arrow::{Options, analyze};
use wb_fleet::{FUNCTION, Job};

use crate::process::{megabytes, processor_seconds};
use crate::rows::{Outcome, Rows, Sum, text_bytes};

/// The threads of DataFusion.
const THREADS: usize = 2;
/// The samples of memory in a run.
const SAMPLES: usize = 20;

/// Reads rows, and writes the answers, with what DuckDB does in between.
const DUCKDB: &str = "
import json, sys, time
import duckdb, pyarrow as pa, window_budget_arrow as wb
duckdb.sql(f'SET threads = {sys.argv[2]}')
duckdb.sql('SET enable_progress_bar = false')  # It is written among the answers.
rows = pa.ipc.open_stream(sys.stdin.buffer)
query = duckdb.sql('SELECT id, format, messages FROM rows WHERE length(messages) > 2')
batches = query.to_arrow_reader(256)
answers = pa.RecordBatchReader.from_stream(wb.analyze_stream(batches, json.loads(sys.argv[1])))
with pa.ipc.new_stream(sys.stdout.buffer, answers.schema) as out:
    for batch in answers:
        out.write_batch(batch)
print(time.process_time(), file=sys.stderr)
";

/// Reads rows and does nothing with them.
const RECEIVE: &str = "
import sys, time
import pyarrow as pa
rows = pa.ipc.open_stream(sys.stdin.buffer)
pa.ipc.new_stream(sys.stdout.buffer, rows.schema).close()
for batch in rows:
    pass
print(time.process_time(), file=sys.stderr)
";

/// The program that analyzes the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// Nothing does: they are generated only.
    Generate,
    /// Nothing does: Python receives them from another process.
    Receive,
    /// A loop of Rust.
    Loop,
    /// DataFusion with two threads.
    DataFusion,
    /// DuckDB with a thread for each partition.
    DuckDb,
}

impl Engine {
    pub(crate) const ALL: [(&'static str, Self); 5] = [
        ("generate", Self::Generate),
        ("receive", Self::Receive),
        ("loop", Self::Loop),
        ("datafusion", Self::DataFusion),
        ("duckdb", Self::DuckDb),
    ];

    fn parse(word: &str) -> Outcome<Self> {
        let found = Self::ALL.into_iter().find(|(name, _)| *name == word);
        Ok(found.ok_or("the engine is generate, receive, loop, datafusion or duckdb")?.1)
    }
}

/// One run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) engine: Engine,
    pub(crate) partitions: usize,
    /// The parts, separated by commas.
    pub(crate) parts: String,
    pub(crate) rows: Rows,
}

impl Run {
    /// Parses `ENGINE PARTITIONS PARTS ROWS BYTES`.
    pub(crate) fn parse(words: &[&str]) -> Outcome<Self> {
        let [engine, partitions, parts, n, n_bytes] = words else {
            return Err("a run is ENGINE PARTITIONS PARTS ROWS BYTES".into());
        };
        let rows = Rows { n: n.parse()?, n_bytes: n_bytes.parse()? };
        let partitions: usize = partitions.parse()?;
        Ok(Self { engine: Engine::parse(engine)?, partitions, parts: (*parts).to_owned(), rows })
    }

    /// Returns the options in JSON: a compaction whatever the size, with a short tail.
    fn options(&self) -> String {
        let parts: Vec<&str> = self.parts.split(',').collect();
        let options = serde_json::json!({ "force": true, "keep_recent_tokens": 300 });
        serde_json::json!({ "parts": parts, "options": options }).to_string()
    }
}

/// The figures of a run.
struct Measured {
    sum: Sum,
    n_bytes: u64,
    /// Processor seconds.
    seconds: f64,
}

/// Memory while a run goes on.
struct Memory {
    file: File,
    run: String,
    every: usize,
    next: usize,
    peak: f64,
}

impl Memory {
    fn new(path: &Path, run: String, rows: usize) -> Outcome<Self> {
        let every = rows.div_ceil(SAMPLES).max(1);
        Ok(Self { file: append_to(path, "run\trows\tMB\n")?, run, every, next: every, peak: 0.0 })
    }

    /// Records the memory of a process, if enough rows were added.
    fn sample(&mut self, n_rows: usize, process: Option<u32>) -> Outcome<()> {
        if n_rows < self.next {
            return Ok(());
        }
        self.next += self.every;
        let mb = megabytes(process)?;
        self.peak = self.peak.max(mb);
        Ok(writeln!(self.file, "{}\t{n_rows}\t{mb:.1}", self.run)?)
    }
}

/// Carries out a run that is not in the file of runs yet, and adds it there.
pub(crate) fn record(data: &Path, python: &str, words: &[&str]) -> Outcome<()> {
    let key = words.join("\t");
    let path = data.join("fleet-runs.tsv");
    if std::fs::read_to_string(&path).is_ok_and(|text| text.lines().any(|line| line.starts_with(&key))) {
        return Ok(());
    }
    let run = Run::parse(words)?;
    let mut memory = Memory::new(&data.join("fleet-memory.tsv"), words.join(" "), run.rows.n)?;
    let start = Instant::now();
    let done = match run.engine {
        Engine::Generate => generate(&run, &mut memory),
        Engine::Loop => bare(&run, &mut memory),
        Engine::DataFusion => datafusion(&run, &mut memory),
        Engine::Receive => python_process(&run, python, RECEIVE, &mut memory),
        Engine::DuckDb => python_process(&run, python, DUCKDB, &mut memory),
    }?;
    let Measured { sum, n_bytes, seconds } = done;
    let (wall, peak) = (start.elapsed().as_secs_f64(), memory.peak);
    let head = "engine\tpartitions\tparts\trows\tbytes of a row\tMB\tprocessor s\ts\tpeak MB\terrors\tsum\n";
    let mut file = append_to(&path, head)?;
    let mb = n_bytes as f64 / 1e6;
    writeln!(
        file,
        "{key}\t{mb:.0}\t{seconds:.2}\t{wall:.1}\t{peak:.1}\t{}\t{:016x}",
        sum.n_errors, sum.hash
    )?;
    Ok(())
}

/// Opens a file for more lines, with a first line if it is new.
fn append_to(path: &Path, head: &str) -> Outcome<File> {
    let is_new = !path.exists();
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    if is_new {
        file.write_all(head.as_bytes())?;
    }
    Ok(file)
}

fn generate(run: &Run, memory: &mut Memory) -> Outcome<Measured> {
    let (start, mut sum, mut n_bytes) = (processor_seconds(None)?, Sum::default(), 0);
    for rows in run.rows.batches(0, 1) {
        let batch = run.rows.batch(rows)?;
        n_bytes += text_bytes(&batch);
        sum.n_rows += batch.num_rows();
        memory.sample(sum.n_rows, None)?;
    }
    Ok(Measured { sum, n_bytes, seconds: processor_seconds(None)? - start })
}

fn bare(run: &Run, memory: &mut Memory) -> Outcome<Measured> {
    let options = Options::parse(&run.options())?;
    let (start, mut sum, mut n_bytes) = (processor_seconds(None)?, Sum::default(), 0);
    for rows in run.rows.batches(0, 1) {
        let batch = run.rows.batch(rows)?;
        n_bytes += text_bytes(&batch);
        sum.add(&analyze(&batch, &options)?)?;
        memory.sample(sum.n_rows, None)?;
    }
    Ok(Measured { sum, n_bytes, seconds: processor_seconds(None)? - start })
}

/// The rows of one partition, generated when they are asked for.
#[derive(Debug)]
struct Generated {
    rows: Rows,
    nth: usize,
    partitions: usize,
    schema: SchemaRef,
}

impl PartitionStream for Generated {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = self.rows;
        let batch = move |range| rows.batch(range).map_err(|it| DataFusionError::Execution(it.to_string()));
        let batches = stream::iter(rows.batches(self.nth, self.partitions).map(batch));
        Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), batches))
    }
}

fn datafusion(run: &Run, memory: &mut Memory) -> Outcome<Measured> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).build()?;
    let start = processor_seconds(None)?;
    let sum = runtime.block_on(query(run, memory))?;
    Ok(Measured { sum, n_bytes: 0, seconds: processor_seconds(None)? - start })
}

async fn query(run: &Run, memory: &mut Memory) -> Outcome<Sum> {
    let context = Job { partitions: run.partitions, ..Job::default() }.context();
    let schema = run.rows.batch(0..0)?.schema();
    let one = |nth| {
        let (rows, partitions, schema) = (run.rows, run.partitions, schema.clone());
        Arc::new(Generated { rows, nth, partitions, schema }) as Arc<dyn PartitionStream>
    };
    let table = StreamingTable::try_new(schema.clone(), (0..run.partitions).map(one).collect())?;
    context.register_table("generated", Arc::new(table))?;
    let options = run.options();
    let sql = format!("SELECT id, {FUNCTION}(messages, format, NULL, '{options}') AS answer FROM generated");
    let mut answers = context.sql(&sql).await?.execute_stream().await?;
    let mut sum = Sum::default();
    while let Some(batch) = answers.next().await {
        let batch: RecordBatch = batch?;
        sum.add_struct(&batch["id"], batch["answer"].as_struct())?;
        memory.sample(sum.n_rows, None)?;
    }
    Ok(sum)
}

/// Pipes rows of a second process through a script; the figures are those of its process alone.
fn python_process(run: &Run, python: &str, script: &str, memory: &mut Memory) -> Outcome<Measured> {
    let Rows { n, n_bytes } = run.rows;
    let mut rows = Command::new(std::env::current_exe()?)
        .args(["rows", &n.to_string(), &n_bytes.to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    let mut engine = Command::new(python)
        .args(["-c", script, &run.options(), &run.partitions.to_string()])
        .stdin(rows.stdout.take().ok_or("no rows")?)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let (mut sum, id) = (Sum::default(), engine.id());
    let answers = engine.stdout.take().ok_or("no answers")?;
    sum.add_stream(answers, |n_rows| memory.sample(n_rows, Some(id)))?;
    let output = engine.wait_with_output()?;
    rows.wait()?;
    let said = String::from_utf8(output.stderr)?;
    let seconds = said.trim().parse().map_err(|_| said.clone())?;
    Ok(Measured { sum, n_bytes: 0, seconds })
}

/// Returns the folder of the data of the page.
pub(crate) fn data_folder(page: &Path) -> PathBuf {
    page.with_file_name("data")
}
