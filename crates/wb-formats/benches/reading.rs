//! Prints the speed of reading a session to its view, next to that of parsing each of its lines
//! into a value, as a Markdown table.
//!
//! `cargo bench -p wb-formats --bench reading -- [FILE …]`: sessions in JSON lines; without one a
//! composed log of every format of lines. Each time is the median of its samples, taken in turn; no
//! sample pays for memory that another released.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a benchmark reads files and the clock")]

use std::hint::black_box;
use std::io::{self, Write};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use wb_record::{MemoryParts, ONLY_CONVERSATION};
use wb_testkit::logs::{LOGS, write_log};

const SAMPLES: usize = 31;

/// The settings that keep glibc from returning memory to the system. Otherwise the last allocation
/// decides which row pays for its pages again.
const KEEPS_MEMORY: [&str; 2] = ["MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"];

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if std::env::var_os(KEEPS_MEMORY[0]).is_none() {
        let settings = KEEPS_MEMORY.map(|name| (name, "4294967296"));
        let ended = Command::new(std::env::current_exe()?).args(args).envs(settings).status()?;
        return if ended.success() { Ok(()) } else { Err(io::Error::other(format!("the bench: {ended}"))) };
    }
    print(&args)
}

/// Prints the table.
fn print(args: &[String]) -> io::Result<()> {
    let files: Vec<&String> = args.iter().filter(|arg| !arg.starts_with("--")).collect();
    let mut sessions: Vec<(String, Vec<u8>)> = Vec::new();
    for file in files {
        sessions.push((file.clone(), std::fs::read(file)?));
    }
    if sessions.is_empty() {
        // Without `--bench` this is a test run, which only shows that the rows work.
        let n_turns = if args.iter().any(|arg| arg == "--bench") { 400 } else { 4 };
        for format in LOGS {
            let mut log = Vec::new();
            write_log(format, n_turns, &mut log)?;
            sessions.push((format.to_owned(), log));
        }
    }
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "| session | MB | values ms | open ms | view ms | times as fast |\n|---|---:|---:|---:|---:|---:|"
    )?;
    for (name, bytes) in sessions {
        let parts = MemoryParts::from_bytes(bytes.as_slice());
        let [copy, values, open, view] =
            medians([&|| copied(&parts), &|| values(&bytes), &|| opened(&parts), &|| viewed(&parts)]);
        let (open, view) = (open.saturating_sub(copy), view.saturating_sub(copy));
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let (size, ratio) = (bytes.len() as f64 / 1e6, values.as_secs_f64() / view.as_secs_f64());
        let [values, open, view] = [values, open, view].map(ms);
        writeln!(out, "| {name} | {size:.2} | {values:.2} | {open:.2} | {view:.2} | {ratio:.2} |")?;
    }
    Ok(())
}

/// Returns the median time of each, which are run in turn.
fn medians<const N: usize>(rows: [&dyn Fn(); N]) -> [Duration; N] {
    let mut times = rows.map(|_| Vec::new());
    for _ in 0..SAMPLES {
        for (row, times) in rows.iter().zip(&mut times) {
            let start = Instant::now();
            row();
            times.push(start.elapsed());
        }
    }
    times.map(|mut times| {
        times.sort_unstable();
        times[SAMPLES / 2]
    })
}

fn copied(parts: &MemoryParts) {
    black_box(parts.clone());
}

fn values(text: &[u8]) {
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        black_box(serde_json::from_slice::<Value>(line).unwrap());
    }
}

fn opened(parts: &MemoryParts) {
    black_box(wb_formats::open(Box::new(parts.clone())).unwrap());
}

fn viewed(parts: &MemoryParts) {
    let document = wb_formats::open(Box::new(parts.clone())).unwrap();
    black_box(document.view(ONLY_CONVERSATION).unwrap());
}
