//! Prints every row with its limit as tab-separated text, and whether the targets hold.
//!
//! `cargo bench -p wb-conductor --bench targets -- [--check] [1000 10000 …] [flatten …]`: numbers
//! are sizes in messages, words choose rows by name; with `--check` the exit code reports whether
//! every target was measured and holds. Row and limit are sampled in
//! turn, so that what else the machine does falls on both; each figure is the median of its
//! samples.

mod rows;

use std::io::{self, Write};
use std::process::{Command, ExitCode};
use std::time::Duration;

use rows::{Bed, Most, Row, Sample, Target};
use wb_testkit::workload::Script;

/// Targets are held from this size up; below, fixed costs weigh more than what is measured.
const TARGETS_FROM: usize = 1_000;
/// Least time of one sample, far above what the clock can resolve.
const SAMPLE: Duration = Duration::from_millis(2);
/// Time after which no further pair of samples is taken, once there are enough.
const PATIENCE: Duration = Duration::from_millis(1_500);
const SAMPLES: std::ops::RangeInclusive<usize> = 9..=101;

fn main() -> io::Result<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut sizes: Vec<usize> = args.iter().filter_map(|arg| arg.parse().ok()).collect();
    if sizes.is_empty() {
        // Without `--bench` this is a test run, which only shows that the rows work.
        let all = [100, 1_000, 10_000, 100_000];
        sizes.extend(if args.iter().any(|arg| arg == "--bench") { &all[..] } else { &all[..1] });
    }
    let is_word = |arg: &&String| !arg.starts_with("--") && arg.parse::<usize>().is_err();
    let words: Vec<&String> = args.iter().filter(is_word).collect();
    let mut out = io::stdout().lock();
    head(&mut out)?;
    let mut sound = true;
    for &n in &sizes {
        for script in [Script::Latin, Script::Cjk] {
            sound &= table(&mut out, &Bed::new(n, script), &words)?;
        }
    }
    let failed = !sound && args.iter().any(|arg| arg == "--check");
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Prints the machine, the date and the compiler.
fn head(out: &mut impl Write) -> io::Result<()> {
    let cpu = command_output("lscpu", &[]);
    let field = |name: &str| {
        let line = cpu.lines().find_map(|line| line.strip_prefix(name));
        line.map_or_else(|| "unknown".to_owned(), |value| value.trim().to_owned())
    };
    writeln!(out, "- machine: {}, {} cores", field("Model name:"), field("CPU(s):"))?;
    writeln!(out, "- date: {}", command_output("date", &["-u", "+%F %R UTC"]))?;
    writeln!(out, "- compiler: {}", command_output("rustc", &["--version"]))?;
    writeln!(out, "- command: `cargo bench -p wb-conductor --bench targets`")?;
    writeln!(out)?;
    writeln!(out, "messages\tscript\twhat\tmedian\tlimit\tmedian\tratio\ttarget")
}

fn command_output(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output();
    output.map_or_else(
        |_| "unknown".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

/// Measures and prints one transcript's rows; returns whether every target is there and holds.
fn table(out: &mut impl Write, bed: &Bed, words: &[&String]) -> io::Result<bool> {
    let (mut met, mut result) = (String::new(), Ok(()));
    bed.each_row(&mut |row| {
        if !words.is_empty() && !words.iter().any(|word| row.what.contains(*word)) {
            return;
        }
        let measured = Measured::new(row);
        if let Some(target) = measured.target.filter(|_| measured.holds()) {
            met.push(target.letter);
        }
        let printed = measured.print(out, bed);
        if result.is_ok() {
            result = printed;
        }
    });
    result.map(|()| met == expected(bed) || bed.n_messages < TARGETS_FROM)
}

/// Returns the letters of the targets that a transcript must show; a row that goes missing fails
/// the check.
fn expected(bed: &Bed) -> &'static str {
    match (bed.n_messages, bed.script) {
        (1_000, _) => "aaabcefgik",
        (10_000, Script::Latin) => "aaabcefghhik",
        (10_000, Script::Cjk) => "aaabceghhik",
        _ => "aaabcegik",
    }
}

struct Measured {
    what: &'static str,
    limit_is: &'static str,
    target: Option<Target>,
    nanos: f64,
    limit_nanos: f64,
}

impl Measured {
    /// Samples row and limit in turn and takes the median of each.
    fn new(row: Row<'_>) -> Self {
        let Row { what, limit_is, target, mut subject, mut limit } = row;
        let (n, n_limit) = (calibrate(&mut subject), calibrate(&mut limit));
        let (mut samples, mut limits) = (Vec::new(), Vec::new());
        let mut spent = Duration::ZERO;
        while samples.len() < *SAMPLES.start() || (spent < PATIENCE && samples.len() < *SAMPLES.end()) {
            let (one, other) = (subject(n), limit(n_limit));
            spent += one + other;
            samples.push(one.as_secs_f64() * 1e9 / n as f64);
            limits.push(other.as_secs_f64() * 1e9 / n_limit as f64);
        }
        Self { what, limit_is, target, nanos: median(samples), limit_nanos: median(limits) }
    }

    fn ratio(&self) -> f64 {
        self.nanos / self.limit_nanos
    }

    fn holds(&self) -> bool {
        self.target.is_none_or(|target| match target.most {
            Most::Times(ratio) => self.ratio() <= ratio,
            Most::Millis(millis) => self.nanos <= millis * 1e6,
        })
    }

    fn print(&self, out: &mut impl Write, bed: &Bed) -> io::Result<()> {
        let Self { what, limit_is, .. } = self;
        let (time, limit) = (format_nanos(self.nanos), format_nanos(self.limit_nanos));
        write!(out, "{}\t{:?}\t{what}\t{time}\t{limit_is}\t{limit}", bed.n_messages, bed.script)?;
        write!(out, "\t{:.2}\t", self.ratio())?;
        match self.target {
            Some(_) if bed.n_messages < TARGETS_FROM => writeln!(out, "–")?,
            Some(target) => {
                let verdict = if self.holds() { "holds" } else { "FAILS" };
                writeln!(out, "{target} {verdict}")?;
            }
            None => writeln!(out, "–")?,
        }
        out.flush()
    }
}

/// Finds how often a sample repeats its work to take long enough; the first turns also warm the
/// caches.
fn calibrate(sample: &mut Sample<'_>) -> u64 {
    let mut n = 1;
    while sample(n) < SAMPLE {
        n *= 2;
    }
    n
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

fn format_nanos(nanos: f64) -> String {
    match nanos {
        ..1e3 => format!("{nanos:.1} ns"),
        ..1e6 => format!("{:.2} µs", nanos / 1e3),
        _ => format!("{:.2} ms", nanos / 1e6),
    }
}
