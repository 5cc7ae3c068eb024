//! `cargo xtask growth`: how the time of commands grows with the number of messages.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::{program, report, target};

const PAGE: &str = "docs/evaluation/growth.md";
const ROWS: &str = "docs/evaluation/data/growth.tsv";
const CURVES: &str = "docs/evaluation/data/growth.svg";
/// The bytes of a message.
const SIZES: [usize; 3] = [100, 2_000, 20_000];
const COUNTS: [usize; 5] = [100, 1_000, 10_000, 100_000, 1_000_000];
/// The most bytes of a session.
const MOST_BYTES: usize = 210_000_000;
/// The bytes of a session of one message.
const ONE_MESSAGE: usize = 50_000_000;
const COMMANDS: [&str; 2] = ["weigh", "compact --force"];
/// Runs of which the quickest counts.
const N_RUNS: usize = 3;
/// The highest slope that counts as linear, and the least seconds from which a slope is one.
const MOST_SLOPE: f64 = 1.1;
const LEAST_SECONDS: f64 = 0.05;
/// One measurement.
#[derive(Clone, Copy, Debug)]
struct Measured {
    command: &'static str,
    n_messages: usize,
    n_bytes: usize,
    seconds: f64,
}

/// Builds the program as users install it, measures it, and writes page, rows and curves.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    program::run(&mut program::cargo(root, "build --quiet --profile dist -p wb-cli".split(' ')))?;
    let wb = target()?.join("dist/wb");
    let session = target()?.join("growth.jsonl");
    let mut rows = Vec::new();
    let sizes = SIZES.into_iter().flat_map(|size| COUNTS.map(|count| (count, size)));
    for (n_messages, n_bytes) in sizes.chain([(1, ONE_MESSAGE)]) {
        if n_messages * n_bytes > MOST_BYTES {
            continue;
        }
        compose(&session, n_messages, n_bytes)?;
        for command in COMMANDS {
            let row = Measured { command, n_messages, n_bytes, seconds: quickest(&wb, command, &session)? };
            println!("{}", line(&row));
            rows.push(row);
        }
    }
    std::fs::remove_file(&session).map_err(|error| format!("{}: {error}", session.display()))?;
    let lines: Vec<String> = rows.iter().map(|row| line(row) + "\n").collect();
    program::write(root, ROWS, format!("command\tmessages\tbytes of each\tseconds\n{}", lines.concat()))?;
    program::write(root, CURVES, curves(&rows))?;
    program::write(root, PAGE, page(&program::date_of_head(root)?, &rows))?;
    report("growth", &findings(&rows))
}

fn line(row: &Measured) -> String {
    format!("{}\t{}\t{}\t{:.3}", row.command, row.n_messages, row.n_bytes, row.seconds)
}

/// Writes a session from a fixed seed, a third each of the user, the agent and tools: a word in
/// five is a name.
fn compose(session: &PathBuf, n_messages: usize, n_bytes: usize) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", session.display());
    let mut out = BufWriter::new(File::create(session).map_err(failed)?);
    let mut seed = 7_u64;
    let mut text = String::with_capacity(n_bytes + 16);
    for at in 0..n_messages {
        text.clear();
        while text.len() < n_bytes {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = usize::try_from(seed >> 33).unwrap_or(0);
            let _ = if at % 5 == 0 { write!(text, "fn_{}", at % 997) } else { write!(text, "line") };
            text.push_str(if at % 11 == 0 { ".\\n" } else { " " });
        }
        let message = match at % 3 {
            0 => format!(r#"{{"role":"user","content":"{text}"}}"#),
            1 => format!(
                r#"{{"role":"assistant","content":[{{"kind":"tool_call","id":"c{at}","name":"bash","input":{{"command":"ls"}}}}]}}"#
            ),
            _ => format!(
                r#"{{"role":"toolResult","toolCallId":"c{}","toolName":"bash","content":[{{"kind":"text","text":"{text}"}}],"isError":false}}"#,
                at - 1
            ),
        };
        writeln!(out, "{message}").map_err(failed)?;
    }
    out.flush().map_err(failed)
}

/// Returns the seconds of the quickest run.
fn quickest(wb: &Path, command: &str, session: &Path) -> Result<f64, String> {
    let mut least = f64::INFINITY;
    for _ in 0..N_RUNS {
        let mut words = command.split(' ');
        let mut run = Command::new(wb);
        run.args(words.next()).arg(session).args(words).stdin(Stdio::null()).stdout(Stdio::null());
        let begun = Instant::now();
        program::run(&mut run)?;
        least = least.min(begun.elapsed().as_secs_f64());
    }
    Ok(least)
}

/// Returns the slopes of each command and size on logarithmic scales, between counts that take long
/// enough to be compared.
fn slopes(rows: &[Measured]) -> Vec<(&Measured, f64)> {
    let pairs = rows.iter().enumerate().filter_map(|(at, row)| {
        let is_next = |next: &&Measured| next.command == row.command && next.n_bytes == row.n_bytes;
        let next = rows[at + 1..].iter().find(is_next)?;
        let n_times = next.n_messages as f64 / row.n_messages as f64;
        (row.seconds >= LEAST_SECONDS).then(|| (next, (next.seconds / row.seconds).ln() / n_times.ln()))
    });
    pairs.collect()
}

fn findings(rows: &[Measured]) -> Vec<String> {
    let steep = slopes(rows).into_iter().filter(|(_, slope)| *slope > MOST_SLOPE);
    steep.map(|(row, slope)| format!("{}: slope {slope:.2}", line(row))).collect()
}

fn page(date: &str, rows: &[Measured]) -> String {
    let mut text = format!(
        "# Growth\n\nThe time of a command on composed sessions, start included, quickest of {N_RUNS} runs; 2 cores, \
         commit of {date}; `cargo xtask growth`. A slope of 1 on logarithmic scales is linear. The table has rows with a \
         slope, from runs of {LEAST_SECONDS} s on; all rows: [`growth.tsv`](data/growth.tsv).\n\n\
         ![Seconds over messages](data/growth.svg)\n\n| command | messages | bytes of each | seconds | slope |\n\
         |---|---:|---:|---:|---:|\n"
    );
    for (Measured { command, n_messages, n_bytes, seconds }, slope) in slopes(rows) {
        let _ = writeln!(text, "| `{command}` | {n_messages} | {n_bytes} | {seconds:.3} | {slope:.2} |");
    }
    text
}

/// Draws the seconds over the messages, both on logarithmic scales.
fn curves(rows: &[Measured]) -> String {
    const COLOURS: [&str; 3] = ["#0969da", "#1a7f37", "#9a6700"];
    let x = |n: usize| 60.0 + 130.0 * ((n as f64).log10() - 2.0);
    let y = |seconds: f64| 210.0 - 60.0 * (seconds.log10() + 0.5);
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 760 400\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"760\" height=\"400\" fill=\"#fff\"/>\n",
    );
    for power in 2..=6 {
        let at = x(10_usize.pow(power));
        let _ = writeln!(
            svg,
            "<path d=\"M{at} 20V360\" stroke=\"#d0d7de\"/><text x=\"{at}\" y=\"380\" text-anchor=\"middle\">10^{power}</text>"
        );
    }
    for seconds in [0.001, 0.01, 0.1, 1.0, 10.0] {
        let at = y(seconds);
        let _ = writeln!(
            svg,
            "<path d=\"M60 {at:.1}H580\" stroke=\"#d0d7de\"/><text x=\"52\" y=\"{at:.1}\" text-anchor=\"end\">{seconds} s</text>"
        );
    }
    let lines =
        COMMANDS.iter().flat_map(|command| SIZES.iter().zip(COLOURS).map(move |line| (command, line)));
    for (nth, (command, (size, colour))) in lines.enumerate() {
        let is_of = |row: &&Measured| row.command == *command && row.n_bytes == *size;
        let points: Vec<String> = rows
            .iter()
            .filter(is_of)
            .map(|row| format!("{:.1},{:.1}", x(row.n_messages), y(row.seconds)))
            .collect();
        let dash = if command.starts_with("weigh") { "4 3" } else { "none" };
        let at = 40 + 18 * nth;
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"/>\
             <path d=\"M600 {at}h24\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"/>\
             <text x=\"630\" y=\"{}\">{command}, {size} B</text>",
            points.join(" "),
            at + 4
        );
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(n_messages: usize, seconds: f64) -> Measured {
        Measured { command: "weigh", n_messages, n_bytes: 100, seconds }
    }

    #[test]
    fn more_than_linear_growth_is_found() {
        assert_eq!(findings(&[row(100, 0.1), row(1_000, 1.0)]), [""; 0]);
        let steep = findings(&[row(100, 0.1), row(1_000, 2.0)]);
        assert!(steep.len() == 1 && steep[0].contains("slope 1.30"), "{steep:?}");
        assert_eq!(findings(&[row(100, 0.001), row(1_000, 1.0)]), [""; 0]);
    }

    #[test]
    fn the_page_has_each_row_with_a_slope() {
        let page = page("2026-01-02", &[row(100, 0.1), row(1_000, 1.0)]);
        assert!(page.ends_with("|\n| `weigh` | 1000 | 100 | 1.000 | 1.00 |\n"), "{page}");
        assert!(!page.contains("0.100"), "{page}");
    }
}
