//! Prints the cost of opening a large session and of `fs::read` on its file, as a Markdown table.
//!
//! `WB_OPENING_MB=100 cargo bench -p wb-session --bench opening`: the size in megabytes. Each time
//! is the median of its samples, taken in turn, with the file in the system's cache; the heap is
//! counted while the time is taken.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a benchmark reads files and the clock")]

#[path = "../tests/alloc/large.rs"]
mod large;

use std::fs::File;
use std::hint::black_box;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use large::{Memory, Shape, large, memory, opened};
use wb_session::store::jsonl::JsonlStore;
use wb_session::{IdSource, Session, SessionLog, build_context};

const SAMPLES: usize = 5;
const MIB: f64 = 1024.0 * 1024.0;

/// A name and the function to measure.
type Row = (&'static str, fn(&Path));

const ROWS: [Row; 6] = [
    ("`fs::read`", read_whole),
    ("read the file in lines", read),
    ("open", open),
    ("open, build the context", open_and_build),
    ("read all entries into memory, build the context", read_and_build),
    ("open, write anew", write_anew),
];

fn main() -> io::Result<()> {
    let size = std::env::var("WB_OPENING_MB").ok().and_then(|size| size.parse().ok());
    // Without `--bench` this is a test run, which only shows that the rows work.
    let size: usize = size.unwrap_or(if std::env::args().any(|arg| arg == "--bench") { 100 } else { 1 });
    let mut out = io::stdout().lock();
    writeln!(out, "| MB | shape | what | ms | MB/s | ratio to `fs::read` |\n|---:|---|---|---:|---:|---:|")?;
    let shapes = [Shape::Compacted, Shape::Whole];
    for shape in shapes {
        let (path, _) = large(shape, size * 1_000_000);
        let times = medians(&path);
        for ((what, _), time) in ROWS.iter().zip(times) {
            let (ms, ratio) = (time.as_secs_f64() * 1e3, time.as_secs_f64() / times[0].as_secs_f64());
            let speed = size as f64 / time.as_secs_f64();
            writeln!(out, "| {size} | {shape:?} | {what} | {ms:.1} | {speed:.0} | {ratio:.2} |")?;
        }
    }
    writeln!(out, "\n| MB | shape | entries | peak MiB | context MiB | places MiB | peak / context |")?;
    writeln!(out, "|---:|---|---:|---:|---:|---:|---:|")?;
    for shape in shapes {
        let (path, n_entries) = large(shape, size * 1_000_000);
        let Memory { peak, context, session } = memory(&path);
        let [peak, context, session] = [peak, context, session].map(|bytes| bytes as f64 / MIB);
        let ratio = peak / context;
        writeln!(
            out,
            "| {size} | {shape:?} | {n_entries} | {peak:.1} | {context:.1} | {session:.1} | {ratio:.2} |"
        )?;
        std::fs::remove_file(path)?;
    }
    Ok(())
}

/// Returns the median time of each row.
fn medians(path: &Path) -> [Duration; ROWS.len()] {
    let mut samples = ROWS.map(|_| Vec::new());
    for _ in 0..SAMPLES {
        for ((_, run), samples) in ROWS.iter().zip(&mut samples) {
            let start = Instant::now();
            run(path);
            samples.push(start.elapsed());
        }
    }
    samples.map(|mut samples| {
        samples.sort();
        samples[samples.len() / 2]
    })
}

fn read_whole(path: &Path) {
    black_box(std::fs::read(path).unwrap());
}

fn read(path: &Path) {
    let mut input = BufReader::with_capacity(64 * 1024, File::open(path).unwrap());
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line).unwrap() > 0 {
        black_box(&line);
        line.clear();
    }
}

fn session(path: &Path) -> Session {
    Session::open(Box::new(JsonlStore::open_for_reading(path).unwrap()), IdSource::new(1)).unwrap()
}

fn open(path: &Path) {
    black_box(session(path));
}

fn open_and_build(path: &Path) {
    black_box(opened(path));
}

fn read_and_build(path: &Path) {
    let log = SessionLog::read(BufReader::with_capacity(64 * 1024, File::open(path).unwrap())).unwrap();
    black_box(build_context(&log, log.leaf()).unwrap());
}

fn write_anew(path: &Path) {
    session(path).write_to(&mut io::sink()).unwrap();
}
