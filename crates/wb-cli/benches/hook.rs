//! Measures how long an agent waits for `wb hook`, including program start, as rows for
//! `docs/evaluation/speed.md`. The program is the one built with the benchmark, or one named after
//! `--`.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Runs of each size that are counted.
const N_RUNS: usize = 11;

const WORDS: [&str; 24] = [
    "parser",
    "error",
    "value",
    "window",
    "budget",
    "cart_total",
    "index",
    "token",
    "reads",
    "writes",
    "failed",
    "ok",
    "line",
    "ModuleName",
    "test",
    "run",
    "build",
    "src/main.rs",
    "src/cart.rs:12",
    "the",
    "a",
    "of",
    "and",
    "to",
];

/// Numbers from a fixed seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % n
    }

    /// Returns lines of words, `n_bytes` long at least.
    fn text(&mut self, n_bytes: usize) -> String {
        let mut text = String::new();
        while text.len() < n_bytes {
            let n_words = 4 + self.below(11);
            let words: Vec<&str> = (0..n_words).map(|_| WORDS[self.below(WORDS.len())]).collect();
            text.extend([words.join(" ").as_str(), "\n"]);
        }
        text
    }

    fn call(&mut self, at: usize) -> (&'static str, Value) {
        let path = format!("src/mod_{}.rs", at % 200);
        match at % 4 {
            0 => ("read", json!({"path": path})),
            1 => ("edit", json!({"path": path, "oldText": self.text(60), "newText": self.text(60)})),
            2 => ("bash", json!({"command": format!("cargo test -p mod_{}", at % 50)})),
            _ => ("grep", json!({"pattern": format!("fn_{at}")})),
        }
    }
}

/// Returns a host's request for a session of `n_messages` messages.
fn question(n_messages: usize) -> Value {
    let (mut numbers, mut messages) = (Numbers(7), Vec::new());
    for at in 0..n_messages.div_ceil(2) {
        if at % 12 == 0 {
            let words = format!("Please change src/mod_{at}.rs so that {}", numbers.text(80));
            messages.push(json!({"role": "user", "content": words}));
        }
        let (id, (name, input)) = (format!("c{at}"), numbers.call(at));
        let call = json!({"kind": "tool_call", "id": id, "name": name, "input": input});
        let said = json!({"kind": "text", "text": numbers.text(120)});
        messages.push(json!({"role": "assistant", "content": [said, call]}));
        let shown = numbers.text(4_500);
        messages.push(json!({"role": "toolResult", "toolCallId": id, "toolName": name, "content": shown}));
    }
    messages.truncate(n_messages);
    json!({"version": 1, "host": "bench", "window": 200_000, "session": {"messages": messages}})
}

/// Sends one request and returns how long the answer took, from the start of the program to its
/// end.
fn wait(program: &Path, folder: &Path, question: &Path) -> io::Result<Duration> {
    let start = Instant::now();
    let mut command = Command::new(program);
    command.arg("hook").env_clear().env("HOME", folder).stdin(File::open(question)?).stdout(Stdio::piped());
    let output = command.output()?;
    let took = start.elapsed();
    let answer: Value = serde_json::from_slice(&output.stdout)?;
    assert_eq!(answer["action"], "replace", "{answer}");
    Ok(took)
}

#[expect(clippy::print_stdout, reason = "rows are what a benchmark is run for")]
fn main() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    // Cargo itself says `--bench`.
    let named = std::env::args().skip(1).find(|word| !word.starts_with("--"));
    let program = PathBuf::from(named.as_deref().unwrap_or(env!("CARGO_BIN_EXE_wb")));
    println!(
        "| messages | bytes asked | runs | least | median | most | limit |\n|---:|---:|---:|---:|---:|---:|---:|"
    );
    for (n_messages, limit_ms) in [(500, 30), (10_000, 300)] {
        let file = folder.path().join("question.json");
        let text = question(n_messages).to_string();
        fs::write(&file, &text)?;
        wait(&program, folder.path(), &file)?;
        let mut times =
            (0..N_RUNS).map(|_| wait(&program, folder.path(), &file)).collect::<io::Result<Vec<_>>>()?;
        times.sort_unstable();
        let ms = |at: usize| format!("{:.1} ms", times[at].as_secs_f64() * 1e3);
        let (least, median, most) = (ms(0), ms(N_RUNS / 2), ms(N_RUNS - 1));
        let n_bytes = text.len();
        println!("| {n_messages} | {n_bytes} | {N_RUNS} | {least} | {median} | {most} | {limit_ms} ms |");
    }
    let size = fs::metadata(&program)?.len();
    println!("\nThe program has {size} bytes.");
    Ok(())
}
