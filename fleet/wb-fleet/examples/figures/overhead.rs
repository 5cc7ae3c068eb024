//! The costs of engines themselves: starting, opening a file, and giving a task to a worker.

use std::path::Path;
use std::process::Command;

use datafusion::parquet::arrow::ArrowWriter;
use wb_fleet::{Job, answers};

use crate::process::processor_seconds;
use crate::rows::{Outcome, Rows};

/// The small files that are opened, and the tasks that are given to workers.
const N: usize = 1000;

/// Prints the processor seconds of all processes of Spark until it answered two tasks, and those of
/// a task that passes a row through a worker of Python.
const SPARK: &str = "
import os, sys
os.setsid()
os.environ['PYSPARK_PYTHON'] = sys.executable
from pyspark.sql import SparkSession
builder = SparkSession.builder.master('local[2]').config('spark.ui.enabled', 'false')
builder = builder.config('spark.driver.bindAddress', '127.0.0.1').config('spark.driver.host', '127.0.0.1')
spark = builder.config('spark.ui.showConsoleProgress', 'false').getOrCreate()
spark.sparkContext.setLogLevel('OFF')
def used():
    ticks = 0
    for process in filter(str.isdigit, os.listdir('/proc')):
        try:
            fields = open(f'/proc/{process}/stat').read().rsplit(')', 1)[1].split()
        except OSError:
            continue
        if int(fields[3]) == os.getsid(0):
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf('SC_CLK_TCK')
def run(n):
    spark.range(0, n, 1, n).mapInArrow(lambda batches: batches, 'id long').count()
    return used()
n = int(sys.argv[1])
started = run(2)
print(started, (run(n) - started) / n)
spark.stop()
";

/// Seconds that do not depend on the bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overheads {
    /// Of the processor, until DataFusion answered one row.
    pub(crate) start: f64,
    /// Of the processor, to open a file of one row and answer it.
    pub(crate) file: f64,
    /// Of the processor, until Spark answered two tasks.
    pub(crate) spark_start: f64,
    /// Of the processor, for a task of Spark with a worker of Python.
    pub(crate) spark_task: f64,
}

impl Overheads {
    pub(crate) fn new(python: &str, folder: &Path) -> Outcome<Self> {
        let small = folder.join("small");
        std::fs::create_dir(&small)?;
        for nth in 0..N {
            let batch = Rows { n: N, n_bytes: 0 }.batch(nth..nth + 1)?;
            let file = std::fs::File::create(small.join(format!("{nth:04}.parquet")))?;
            let mut writer = ArrowWriter::try_new(file, batch.schema(), None)?;
            writer.write(&batch)?;
            writer.close()?;
        }
        let one = seconds(&small.join("0000.parquet"))?;
        let all = seconds(&small)?;
        let output = Command::new(python).args(["-c", SPARK, &N.to_string()]).output()?;
        let said = String::from_utf8(output.stdout)?;
        let spark: Vec<f64> = said.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
        let [spark_start, spark_task] = spark[..] else {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
        };
        Ok(Self { start: one, file: all / N as f64, spark_start, spark_task })
    }
}

/// Returns the seconds of the processor that DataFusion takes for some files.
fn seconds(input: &Path) -> Outcome<f64> {
    let used = processor_seconds(None)?;
    let options = r#"{"parts": []}"#.to_owned();
    let job = Job { inputs: vec![input.display().to_string()], options, partitions: 1 };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build()?;
    runtime.block_on(async {
        let rows = answers(&job.context(), &job).await?.count().await?;
        if rows == 0 { Err::<(), Box<dyn std::error::Error>>("no rows".into()) } else { Ok(()) }
    })?;
    Ok(processor_seconds(None)? - used)
}
