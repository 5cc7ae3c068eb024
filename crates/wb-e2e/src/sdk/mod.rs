//! `cargo xtask sdk`: the official Python SDKs send our requests to a provider on the loopback
//! address that checks them.

mod shapes;
mod requests;
mod server;
mod report;
mod rules;
mod provider;
mod sender;
mod trajectories;
#[cfg(test)]
mod spoiled;

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use crate::agents;
use crate::python::{self, PythonOptions};
use report::Counts;
use requests::Requests;

const USAGE: &str = "usage: cargo xtask sdk [--server] [--wb PROGRAM] [--record] [--or-skip]\n";

/// Says to this program itself that it already runs where only the loopback address is.
const APART: &str = "--apart";

/// Sends all requests, away from the network if that is allowed, and with `--record` writes the
/// page.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    match words {
        ["--server", words @ ..] => by_server(root, &PythonOptions::read(words, USAGE)?),
        [APART, words @ ..] => send(root, &PythonOptions::read(words, USAGE)?),
        words => {
            let options = PythonOptions::read(words, USAGE)?;
            if !options.is_skippable || python::is_there() {
                return prepare(root, words, &options);
            }
            println!(
                "sdk: skipped, since Python with venv and pip is not installed; no SDK sent our requests"
            );
            Ok(())
        }
    }
}

fn prepare(root: &Path, words: &[&str], options: &PythonOptions) -> Result<(), String> {
    let (target, folder) = folders()?;
    let start = Instant::now();
    python::installed(&folder, &python::SDKS)?;
    let wb = options.wb(root, &target)?;
    println!("sdk: ready after {:.1} s", start.elapsed().as_secs_f64());
    let Some(way) = agents::way() else { return send(root, options) };
    let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let mut command = agents::entered(way, &program);
    command.args(["sdk", APART]).args(words).arg("--wb").arg(wb).stdin(Stdio::null());
    let status = command.status().map_err(|error| format!("unshare: {error}"))?;
    if status.success() { Ok(()) } else { Err("sdk: failed".to_owned()) }
}

fn send(root: &Path, options: &PythonOptions) -> Result<(), String> {
    let (target, folder) = folders()?;
    let (python, wb) = (python::installed(&folder, &python::SDKS)?, options.wb(root, &target)?);
    let start = Instant::now();
    let scratch = folder.join("sessions");
    std::fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let requests = requests::all(root, &wb, &scratch)?;
    trajectories::validate(root, &wb, &python, &scratch)?;
    let sent = sender::send_all(root, &python, &requests.lines)?;
    println!(
        "sdk: {} requests by {}, {} refused as they have to be, one trajectory valid by atif, {:.1} s",
        sent.n_sent(),
        sent.sdks(),
        sent.n_refused(),
        start.elapsed().as_secs_f64()
    );
    if options.is_recorded { record(root, &sent, &requests) } else { Ok(()) }
}

/// Makes a real inference server write a digest, from a package of llama.cpp; run by hand, because
/// it is large.
fn by_server(root: &Path, options: &PythonOptions) -> Result<(), String> {
    let (target, folder) = folders()?;
    let python = python::installed(&folder, &[python::LLAMA_CPP])?;
    let wb = options.wb(root, &target)?;
    let start = Instant::now();
    let digest = server::digest(root, &wb, &python, &folder)?;
    println!("{}, {}: {digest}, {:.1} s", python::LLAMA_CPP, agents::today()?, start.elapsed().as_secs_f64());
    Ok(())
}

/// Returns the target directory, and the folder in it where environments and requests are.
fn folders() -> Result<(PathBuf, PathBuf), String> {
    let target = crate::target()?;
    let folder = target.join("sdk");
    Ok((target, folder))
}

fn record(root: &Path, sent: &Counts, requests: &Requests) -> Result<(), String> {
    let (date, commit) = (agents::today()?, crate::commit());
    let file = root.join(report::FILE);
    let old = std::fs::read_to_string(&file).unwrap_or_default();
    std::fs::write(&file, report::page(&old, sent, requests, (&date, &commit)))
        .map_err(|error| format!("{}: {error}", report::FILE))?;
    println!("{}: written", report::FILE);
    Ok(())
}
