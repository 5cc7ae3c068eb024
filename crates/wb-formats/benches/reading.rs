//! Prints how fast a session is read to its view, beside parsing each of its lines into a value, as a Markdown table.
//!
//! `cargo bench -p wb-formats --bench reading -- [FILE …]`: sessions in JSON lines; without one a composed session of
//! Claude Code. Each time is the median of its samples, taken in turn.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a benchmark reads files and the clock")]

use std::hint::black_box;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wb_record::{MemoryParts, ONLY_CONVERSATION};

const SAMPLES: usize = 31;

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let files: Vec<&String> = args.iter().filter(|arg| !arg.starts_with("--")).collect();
    let mut sessions: Vec<(String, Vec<u8>)> = Vec::new();
    for file in files {
        sessions.push((file.clone(), std::fs::read(file)?));
    }
    if sessions.is_empty() {
        // Without `--bench` this is a test run, which only shows that the rows work.
        let n_turns = if args.iter().any(|arg| arg == "--bench") { 400 } else { 4 };
        sessions.push(("composed".to_owned(), composed(n_turns)));
    }
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "| session | MB | values ms | open ms | view ms | times as fast |\n|---|---:|---:|---:|---:|---:|"
    )?;
    for (name, bytes) in sessions {
        let parts = MemoryParts::of(bytes.as_slice());
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

/// Composes a session in which each turn reads a file and edits it. As in real ones, what the screen shows of a result
/// holds the file too, with what it was before, and the host has compacted it on the way: what is seen of 5 MB is what
/// a window of 200,000 tokens holds.
fn composed(n_turns: usize) -> Vec<u8> {
    let mut text = Vec::new();
    let mut parent = None;
    for turn in 0..n_turns {
        let compaction = (turn == n_turns * 3 / 4).then(compaction);
        for (n, mut line) in compaction.into_iter().flatten().chain(turn_lines(turn)).enumerate() {
            let uuid = format!("00000000-0000-4000-{n:04}-{turn:012}");
            let is_root = line["type"] == "system";
            let above = parent.replace(uuid.clone()).filter(|_| !is_root);
            line["parentUuid"] = json!(above);
            line["uuid"] = json!(uuid);
            line["isSidechain"] = json!(false);
            line["timestamp"] = json!("2026-01-01T00:00:00.000Z");
            line["cwd"] = json!("/home/dev/app");
            writeln!(text, "{line}").unwrap();
        }
    }
    text
}

fn compaction() -> [Value; 2] {
    [
        json!({ "type": "system", "subtype": "compact_boundary", "compactMetadata": { "preTokens": 150_000 } }),
        json!({ "type": "user", "isCompactSummary": true, "message": { "role": "user", "content": "All totals." } }),
    ]
}

fn turn_lines(turn: usize) -> [Value; 7] {
    let path = format!("src/file_{turn}.rs");
    let code = |n: usize| {
        format!("    let total_{n} = parts.iter().map(|part| part.size + {turn}).sum::<usize>();\n")
    };
    let (mut file, mut shown) = (String::new(), String::new());
    for n in 0..40 {
        file += &code(n);
        shown.extend([format!("{n:>6}→"), code(n)]);
    }
    let call = |id: &str, tool: &str, input: Value| json!([{ "type": "tool_use", "id": format!("{id}{turn}"), "name": tool, "input": input }]);
    let read = json!({ "file": { "filePath": path, "content": file, "numLines": 40 } });
    let edit = json!({ "file_path": path, "old_string": code(7), "new_string": code(8) });
    let change = json!([{ "oldStart": 7, "newStart": 7, "lines": [code(7), code(8)] }]);
    let edited = json!({ "filePath": path, "originalFile": file, "structuredPatch": change });
    [
        json!({ "type": "user", "message": { "role": "user", "content": format!("look at {path}") } }),
        answer(turn, "a", &call("r", "Read", json!({ "file_path": path }))),
        json!({ "type": "progress", "data": { "type": "hook_progress", "command": "check" } }),
        result(&format!("r{turn}"), &shown, &read),
        answer(turn, "b", &call("e", "Edit", edit)),
        result(&format!("e{turn}"), "The file has been updated.", &edited),
        answer(turn, "c", &json!([{ "type": "text", "text": format!("In {path} the total is right now.") }])),
    ]
}

fn answer(turn: usize, id: &str, content: &Value) -> Value {
    let usage = json!({ "input_tokens": 3, "cache_read_input_tokens": 20_000, "output_tokens": 90 });
    let id = format!("msg_{id}_{turn}");
    let message =
        json!({ "id": id, "role": "assistant", "model": "claude-x", "content": content, "usage": usage });
    json!({ "type": "assistant", "message": message })
}

fn result(id: &str, text: &str, shown: &Value) -> Value {
    let content = json!([{ "type": "tool_result", "tool_use_id": id, "content": text }]);
    json!({ "type": "user", "message": { "role": "user", "content": content }, "toolUseResult": shown })
}
