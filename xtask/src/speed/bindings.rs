//! `cargo xtask bindings --speed`: the time of one call from Rust, Python and JavaScript on the
//! same JSON, with frameworks on the same list for scale.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::bindings::{copy, environment, install, wasm_package};
use crate::{program, report, target};

const PAGE: &str = "docs/evaluation/bindings.md";
const N_MESSAGES: usize = 10_000;
/// The runs of each row; the median counts.
const N_RUNS: &str = "7";
/// The most that a row may take, in units of another row.
const LIMITS: [(&str, &str, f64); 3] = [
    ("python text", "rust", 1.3),
    ("wasm text", "rust", 3.0),
    ("8 calls, 8 threads", "8 calls, 1 thread", 0.6),
];
/// The most milliseconds of an import.
const MOST_IMPORT_MS: f64 = 60.0;
/// The rows of the page.
const ROWS: [(&str, &str); 9] = [
    ("rust", "Rust, `wb_bind::call` on the text"),
    ("python text", "Python, the same text"),
    ("python", "Python, `compact` from and to lists and dicts"),
    ("wasm text", "JavaScript on Node, the same text"),
    ("wasm", "JavaScript on Node, `compact` from and to objects"),
    ("8 calls, 1 thread", "Python, 8 calls of the text in one thread"),
    ("8 calls, 8 threads", "Python, 8 calls of the text in eight threads"),
    ("langchain", "LangChain, `SummarizationMiddleware` with a model that answers at once"),
    ("openai-agents", "OpenAI Agents, compaction of a session by a server that answers at once"),
];

type RowTimes = BTreeMap<String, Vec<f64>>;

/// Builds everything as users install it, measures it in one run, and writes the page.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let file = target()?.join("bindings/speed.json");
    let python = copy(root, "bindings/python")?;
    let wasm = copy(root, "bindings/wasm")?;
    let call = call();
    std::fs::write(&file, &call).map_err(|error| format!("{}: {error}", file.display()))?;
    let build = |words: &str| program::run(&mut program::cargo(root, words.split(' ')));
    build("build --quiet --release -p window-budget-python")?;
    build("build --quiet --release -p wb-bind --example call_speed")?;
    wasm_package(root, &wasm.join("pkg"))?;
    let native = target()?.join("release/lib_native.so");
    std::fs::copy(&native, python.join("window_budget/_native.abi3.so"))
        .map_err(|error| format!("{}: {error}", native.display()))?;
    let interpreter = environment(&python)?;
    install(&interpreter, &python, &["openai-agents", "langchain"])?;
    let mut times = RowTimes::new();
    let mut measure = |program: &mut Command| -> Result<(), String> {
        add(&mut times, &program::output(program.arg(&file).arg(N_RUNS))?);
        Ok(())
    };
    measure(&mut Command::new(target()?.join("release/examples/call_speed")))?;
    measure(
        Command::new(&interpreter).arg("tests/speed.py").current_dir(&python).env("PYTHONPATH", &python),
    )?;
    measure(Command::new("node").arg("tests/speed.mjs").current_dir(&wasm))?;
    let figures: BTreeMap<&str, f64> =
        times.iter_mut().map(|(name, times)| (name.as_str(), median(times))).collect();
    program::write(root, PAGE, page(&program::date_of_head(root)?, call.len(), &figures))?;
    report("bindings", &findings(&figures))
}

/// Composes a call: a task now and then, and a call of a tool with a result of 1.6 kB.
fn call() -> String {
    let mut messages = Vec::with_capacity(N_MESSAGES);
    for page in 0.. {
        if messages.len() + 3 > N_MESSAGES {
            break;
        }
        if page % 33 == 0 {
            let task = format!("Sum page {page} and the next 32 of the ledger. Never write to {page}.txt.");
            messages.push(format!(r#"{{"role":"user","content":"{task}"}}"#));
        }
        let lines: Vec<String> =
            (0..80).map(|row| format!(r"{page}.{row}: {} cents\n", page * 37 + row * 11)).collect();
        let lines = lines.concat();
        messages.push(format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"call_{page}","type":"function","function":{{"name":"read_page","arguments":"{{\"path\":\"ledger/{page}.txt\"}}"}}}}]}}"#
        ));
        messages.push(format!(r#"{{"role":"tool","tool_call_id":"call_{page}","content":"{lines}"}}"#));
    }
    while messages.len() < N_MESSAGES {
        messages.push(r#"{"role":"user","content":"Go on."}"#.to_owned());
    }
    let list = messages.join(",");
    format!(
        r#"{{"operation":"compact","format":"openai-chat","messages":[{list}],"options":{{"window":200000}}}}"#
    )
}

/// Adds the lines that a program printed: a name and milliseconds.
fn add(times: &mut RowTimes, output: &str) {
    for line in output.lines() {
        if let Some((name, ms)) = line.split_once('\t').and_then(|(name, ms)| Some((name, ms.parse().ok()?)))
        {
            times.entry(name.to_owned()).or_default().push(ms);
        }
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

fn page(day: &str, n_bytes: usize, figures: &BTreeMap<&str, f64>) -> String {
    let of = |name: &str| figures.get(name).copied().unwrap_or(f64::NAN);
    let mut page = format!(
        "# Speed of the packages\n\n`cargo xtask bindings --speed` wrote this page at the commit of {day}: `compact` of \
         {N_MESSAGES} messages ({n_bytes}\nbytes of JSON) in a window of 200,000 tokens, the median of {N_RUNS} runs.\n\n\
         | | ms | in units of Rust |\n|---|---:|---:|\n"
    );
    for (name, label) in ROWS {
        let _ = writeln!(page, "| {label} | {:.1} | {:.2} |", of(name), of(name) / of("rust"));
    }
    page.push_str("\n| limit | measured |\n|---|---:|\n");
    for (name, unit, most) in LIMITS {
        let _ = writeln!(page, "| {name}: at most {most} × {unit} | {:.2} × |", of(name) / of(unit));
    }
    let _ =
        writeln!(page, "| import of `window_budget`: at most {MOST_IMPORT_MS} ms | {:.1} ms |", of("import"));
    page
}

/// Returns the figures that are missing or above their limits.
fn findings(figures: &BTreeMap<&str, f64>) -> Vec<String> {
    let of = |name: &str| figures.get(name).copied().unwrap_or(f64::NAN);
    let above = |(name, unit, most): (&str, &str, f64)| {
        let factor = of(name) / of(unit);
        (factor.is_nan() || factor > most)
            .then(|| format!("{name} takes {factor:.2} × {unit}, more than {most} ×"))
    };
    let import = of("import");
    let slow = (import.is_nan() || import > MOST_IMPORT_MS)
        .then(|| format!("an import takes {import:.1} ms, more than {MOST_IMPORT_MS}"));
    LIMITS.into_iter().filter_map(above).chain(slow).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_above_its_limit_is_found() {
        let mut times = RowTimes::new();
        add(
            &mut times,
            "rust\t100.0\nrust\t90.0\nrust\t110.0\npython text\t131\nwasm text\t300\nimport\t61\nnoise\n",
        );
        add(&mut times, "8 calls, 1 thread\t800\n8 calls, 8 threads\t480\n");
        let figures: BTreeMap<&str, f64> =
            times.iter_mut().map(|(name, times)| (name.as_str(), median(times))).collect();
        let found = findings(&figures);
        assert!(found.len() == 2 && found[0].contains("1.31") && found[1].contains("61.0"), "{found:?}");
        assert!(page("2026-11-30", 1, &figures).contains("the same text | 131.0 | 1.31 |"));
        assert_eq!(findings(&BTreeMap::new()).len(), LIMITS.len() + 1);
    }

    #[test]
    fn the_call_has_its_messages() {
        assert_eq!(call().matches(r#"{"role":"#).count(), N_MESSAGES);
    }
}
