//! `cargo xtask sdk`: the official Python SDKs send our requests to a provider on the loopback address that checks them.

mod python;
mod requests;
mod server;
mod report;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use crate::agents;
use report::Sent;
use requests::Requests;

const USAGE: &str = "usage: cargo xtask sdk [--server] [--wb PROGRAM] [--record] [--or-skip] [--few]\n";

#[derive(Debug, Default, PartialEq)]
struct Options {
    /// The `wb` to test instead of the one of the checkout.
    wb: Option<PathBuf>,
    is_recorded: bool,
    /// Without Python nothing is done.
    is_skippable: bool,
    /// Sessions of the first folder only.
    is_few: bool,
}

impl Options {
    fn read(words: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--wb" => options.wb = Some(words.next().ok_or(USAGE)?.into()),
                "--record" => options.is_recorded = true,
                "--or-skip" => options.is_skippable = true,
                "--few" => options.is_few = true,
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(options)
    }

    /// Returns the `wb` to test, and builds that of the checkout.
    fn wb(&self, root: &Path, target: &Path) -> Result<PathBuf, String> {
        self.wb.clone().map_or_else(|| agents::build_wb(root, target), Ok)
    }
}

/// Sends all requests, and with `--record` writes the page.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    if let ["--server", words @ ..] = words {
        return by_server(root, &Options::read(words)?);
    }
    let options = Options::read(words)?;
    if options.is_skippable && !python::is_there() {
        println!("sdk: skipped, since Python with venv and pip is not installed; no SDK sent our requests");
        return Ok(());
    }
    send(root, &options)
}

fn send(root: &Path, options: &Options) -> Result<(), String> {
    let (target, folder) = folders()?;
    let start = Instant::now();
    let python = python::installed(&folder, &python::SDKS)?;
    let wb = options.wb(root, &target)?;
    println!("sdk: ready after {:.1} s", start.elapsed().as_secs_f64());
    let start = Instant::now();
    let scratch = folder.join("sessions");
    std::fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let requests = requests::all(root, &wb, &scratch, options.is_few)?;
    let file = folder.join("requests.jsonl");
    let lines: String = requests.lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]).collect();
    std::fs::write(&file, lines).map_err(|error| format!("{}: {error}", file.display()))?;
    let sent = sent(root, &python, &file)?;
    println!(
        "sdk: {} requests by {}, {} refused as they have to be, {:.1} s",
        sent.n_sent(),
        sent.sdks(),
        sent.n_refused(),
        start.elapsed().as_secs_f64()
    );
    if options.is_recorded { record(root, &sent, &requests) } else { Ok(()) }
}

/// Has a real inference server write a digest, from a package of llama.cpp; by hand, for it is large.
fn by_server(root: &Path, options: &Options) -> Result<(), String> {
    let (target, folder) = folders()?;
    let python = python::installed(&folder, &[python::LLAMA_CPP])?;
    let wb = options.wb(root, &target)?;
    let start = Instant::now();
    let told = server::digest(root, &wb, &python, &folder)?;
    println!("{}, {}: {told}, {:.1} s", python::LLAMA_CPP, agents::today()?, start.elapsed().as_secs_f64());
    Ok(())
}

/// Returns the target directory, and the folder in it where environments and requests are.
fn folders() -> Result<(PathBuf, PathBuf), String> {
    let target = crate::target()?;
    let folder = target.join("sdk");
    Ok((target, folder))
}

/// Runs the program that sends, away from the network if that can be had.
fn sent(root: &Path, python: &Path, requests: &Path) -> Result<Sent, String> {
    let mut command = apart(python);
    command.arg("-B").arg(root.join("crates/wb-e2e/python/send.py")).arg(requests);
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{}: {error}", python.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(format!("{text}sdk: {}", output.status));
    }
    read(&text)
}

/// Returns a program that reaches nothing but the loopback address, where the machine allows that.
fn apart(program: &Path) -> Command {
    let mut command =
        agents::way().map_or_else(|| Command::new(program), |way| agents::entered(way, program));
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"] {
        command.env_remove(name);
    }
    command
}

/// Reads what the program printed: a line for each finding, then the counts.
fn read(text: &str) -> Result<Sent, String> {
    let mut lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let counts = lines.pop().ok_or("sdk: nothing was sent")?;
    let findings = lines.iter().filter_map(|line| line["finding"].as_str());
    let findings: Vec<&str> = findings.collect();
    if !findings.is_empty() {
        return Err(format!("{}\nsdk: {} found", findings.join("\n"), findings.len()));
    }
    serde_json::from_value(counts).map_err(|error| format!("sdk: {error}"))
}

fn record(root: &Path, sent: &Sent, requests: &Requests) -> Result<(), String> {
    let (date, commit) = (agents::today()?, crate::commit());
    let file = root.join(report::FILE);
    let old = std::fs::read_to_string(&file).unwrap_or_default();
    std::fs::write(&file, report::page(&old, sent, requests, (&date, &commit)))
        .map_err(|error| format!("{}: {error}", report::FILE))?;
    println!("{}: written", report::FILE);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_fail_and_counts_are_read() {
        let counts = r#"{"versions": {"openai": "1"}, "counts": {"openai/made": 2}}"#;
        assert_eq!(read(counts).unwrap().n_sent(), 2);
        let why = read(&format!("{{\"finding\": \"a [gemini]: b\"}}\n{counts}")).unwrap_err();
        assert_eq!(why, "a [gemini]: b\nsdk: 1 found");
        assert!(read("").is_err());
    }

    #[test]
    fn words_that_are_not_known_are_told_the_usage() {
        assert_eq!(Options::read(&["--all"]), Err(USAGE.to_owned()));
        let options = Options { wb: Some("wb".into()), is_few: true, ..Options::default() };
        assert_eq!(Options::read(&["--wb", "wb", "--few"]), Ok(options));
    }
}
