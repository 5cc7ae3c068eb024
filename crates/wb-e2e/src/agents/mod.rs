//! `cargo xtask e2e`: real agents, installed from npm, resume their sessions after `wb` compacted
//! them.
//!
//! Or they compact by themselves, and our plug-in asks `wb`.
//!
//! An agent runs without a screen, in a separate home, against a local provider that plays a
//! script. Its requests after the compaction, and after the undo of the compaction, are checked.

mod script;
mod wire;
mod provider;
mod apart;
mod stage;
mod hosts;
mod install;
pub(crate) mod wb;
mod validate;
mod plugged;
mod play;
mod by_hand;
mod lost_line;
mod cases;
mod plug_in;
mod informed;
mod recall_by_hand;
mod report;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

pub(crate) use apart::{entered, way};
pub(crate) use hosts::{HOSTS, Host};
pub(crate) use install::{cache, install_packages};
use play::Outcome;
pub(crate) use wb::build as build_wb;

const USAGE: &str = "\
usage: cargo xtask e2e [--or-skip] HOST… [--wb PROGRAM] [--only CASE] [--keep] [--record]

  HOST      pi, codex, opencode, claude-code, gemini-cli, or all: the first three
  --wb      tests this wb instead of the one of the checkout
  --only    plays one case alone, such as `by hand`, `ours` or `missing`
  --keep    leaves the folders of the runs: what was sent, what was printed, the sessions
  --record  writes what was found into docs/evaluation
  --or-skip does nothing where npm is not installed
";

/// Says to this program itself that it already runs where only the loopback address is.
const APART: &str = "--apart";

#[derive(Debug, Default)]
struct Options {
    hosts: Vec<Host>,
    wb: Option<PathBuf>,
    only: Option<String>,
    is_kept: bool,
    is_recorded: bool,
    is_apart: bool,
}

impl Options {
    fn read(words: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--wb" => options.wb = Some(words.next().ok_or(USAGE)?.into()),
                "--only" => options.only = Some((*words.next().ok_or(USAGE)?).to_owned()),
                "--keep" => options.is_kept = true,
                "--record" => options.is_recorded = true,
                APART => options.is_apart = true,
                name => options.hosts.extend(hosts::named(name)?),
            }
        }
        if options.hosts.is_empty() { Err(USAGE.to_owned()) } else { Ok(options) }
    }
}

/// Installs the agents, builds `wb` and runs all of them, away from the network if that can be had.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let words = match words {
        ["--or-skip", ..] if !install::npm_is_there() => {
            println!("e2e: skipped, since npm is not installed; no real agent went on with a session");
            return Ok(());
        }
        ["--or-skip", words @ ..] | words => words,
    };
    let options = Options::read(words)?;
    let cache = install::cache()?;
    if options.is_apart {
        return run_all(root, &cache, &options);
    }
    for host in &options.hosts {
        installed(&cache, host)?;
    }
    let target = cache.parent().ok_or("no target directory")?;
    let wb = options.wb.clone().map_or_else(|| wb::build(root, target), Ok)?;
    let options = Options { wb: Some(wb), ..options };
    if let Some(way) = apart::way() {
        return again(way, &options);
    }
    println!("the network is not cut off: `unshare -n` is not allowed or not there");
    run_all(root, &cache, &options)
}

fn installed(cache: &Path, host: &Host) -> Result<(), String> {
    let start = Instant::now();
    let was_there = install::install(cache, host)?;
    let how = if was_there { "was installed before".to_owned() } else { elapsed("installed in", start) };
    println!("{} {}: {how}", host.name, host.version);
    Ok(())
}

fn elapsed(what: &str, start: Instant) -> String {
    format!("{what} {:.1} s", start.elapsed().as_secs_f64())
}

/// Runs this program again, where only the loopback address is.
fn again(way: &[&str], options: &Options) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let mut command = apart::entered(way, &program);
    command.args(["e2e", APART]).args(options.hosts.iter().map(|host| host.name));
    if let Some(wb) = &options.wb {
        command.arg("--wb").arg(wb);
    }
    if let Some(only) = &options.only {
        command.args(["--only", only]);
    }
    command.args(options.is_kept.then_some("--keep")).args(options.is_recorded.then_some("--record"));
    let status = command.stdin(Stdio::null()).status().map_err(|error| format!("unshare: {error}"))?;
    if status.success() { Ok(()) } else { Err("e2e: failed".to_owned()) }
}

fn run_all(root: &Path, cache: &Path, options: &Options) -> Result<(), String> {
    let wb = wb::Wb::new(options.wb.clone().ok_or(USAGE)?);
    let date = today()?;
    let mut all = Vec::new();
    for host in &options.hosts {
        let start = Instant::now();
        let outcomes = run_host(root, cache, host, &wb, options)?;
        println!("{} {}, {date}: {}", host.name, host.version, elapsed("all of it", start));
        all.push((*host, outcomes));
    }
    if options.is_recorded {
        record(root, &date, options.is_apart, &all)?;
    }
    let n_bad = all.iter().flat_map(|(_, outcomes)| outcomes).filter(|it| !it.findings.is_empty()).count();
    let n_all = all.iter().map(|(_, outcomes)| outcomes.len()).sum::<usize>();
    if n_bad == 0 { Ok(()) } else { Err(format!("e2e: {n_bad} of {n_all} failed")) }
}

/// Plays every case of an agent and reports each.
fn run_host(
    root: &Path,
    cache: &Path,
    host: &Host,
    wb: &wb::Wb,
    options: &Options,
) -> Result<Vec<Outcome>, String> {
    let is_wanted = |name: &str| options.only.as_ref().is_none_or(|only| only == name);
    let modules = install::folder(cache, host);
    let mut outcomes = Vec::new();
    let mut run = |name: &'static str, scene: play::Scene| -> Result<(), String> {
        if is_wanted(name) {
            let outcome = play::run(name, host, &modules, options.is_kept, scene)?;
            println!("{}", report::summary(host, &outcome));
            outcomes.push(outcome);
        }
        Ok(())
    };
    run(by_hand::NAME, &|play| by_hand::play(play, wb))?;
    for (name, garbage) in lost_line::CASES.into_iter().filter(|_| host.is_tree) {
        run(name, &|play| lost_line::play(play, wb, garbage))?;
    }
    if let Some(full_tokens) = host.informed_at_tokens {
        run(informed::NAME, &|play| informed::play(play, wb, full_tokens))?;
    }
    if host.plug.is_none() && host.informed_at_tokens.is_none() {
        run(recall_by_hand::NAME, &|play| recall_by_hand::play(play, wb))?;
    }
    if let Some(plug) = host.plug {
        for case in &cases::CASES {
            run(case.name, &|play| case.play(play, plug, root, wb))?;
        }
    }
    Ok(outcomes)
}

/// Returns the date of today.
pub(crate) fn today() -> Result<String, String> {
    let output = Command::new("date").args(["-u", "+%F"]).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("date: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn record(root: &Path, date: &str, is_apart: bool, all: &[(Host, Vec<Outcome>)]) -> Result<(), String> {
    let commit = crate::commit();
    let run = report::Run { date, commit: &commit, is_apart };
    let file = root.join(report::FILE);
    let old = std::fs::read_to_string(&file).unwrap_or_default();
    std::fs::write(&file, report::page(&old, all, &run))
        .map_err(|error| format!("{}: {error}", report::FILE))?;
    println!("{}: written", report::FILE);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_options_are_read_in_any_order() {
        let options = Options::read(&["--keep", "pi", "--wb", "wb", "claude-code"]).unwrap();
        assert_eq!(options.hosts.iter().map(|host| host.name).collect::<Vec<_>>(), ["pi", "claude-code"]);
        assert_eq!(options.wb, Some("wb".into()));
        assert!(options.is_kept && !options.is_recorded);
    }

    #[test]
    fn without_a_host_the_usage_is_reported() {
        assert_eq!(Options::read(&["--record"]).unwrap_err(), USAGE);
        assert_eq!(Options::read(&["pi", "--wb"]).unwrap_err(), USAGE);
    }
}
