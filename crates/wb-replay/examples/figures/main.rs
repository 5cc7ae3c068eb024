//! Prints, as Markdown, what each strategy keeps of session files; `cargo xtask figures` writes the
//! part above `<!-- rows -->` into the documentation and the tables below it into a data file.
//!
//! ```text
//! cargo run --release -p wb-replay --example figures -- DATE COMMIT FILE…
//! ```
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example reads files and prints")]

mod equal_sizes;
mod parts;
mod tables;

use std::path::Path;
use std::process::ExitCode;

use equal_sizes::compare_at_sizes;
use parts::losses;
use tables::Columns;
use wb_record::Access;
use wb_replay::{CAVEAT, CutRule, Options, Replay, Session, digest_presets, replay};

/// The shares that histories are compacted to.
const PARTS: [f64; 3] = [0.10, 0.15, 0.25];
/// The places of compactions to a share of the history: sizes of several hours of work.
const RULE: CutRule = CutRule { first: 60_000.0, step: 40_000.0, n_future: 40, max_cuts: 6 };

const HEAD: &str = include_str!("head.md");
const NOTES: &str = include_str!("notes.md");

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [date, commit, files @ ..] = &words[..] else {
        eprintln!("usage: figures DATE COMMIT FILE…");
        return ExitCode::from(2);
    };
    let sessions: Vec<Session> = files.iter().filter_map(|file| read(Path::new(file))).collect();
    if sessions.is_empty() {
        eprintln!("none of the files is a session");
        return ExitCode::FAILURE;
    }
    print_page(date, commit, &sessions);
    ExitCode::SUCCESS
}

fn print_page(date: &str, commit: &str, sessions: &[Session]) {
    println!("{}", HEAD.replace("DATE", date).replace("COMMIT", commit));
    let compare = |preset| (preset, compare_at_sizes(sessions, preset, &PARTS, &RULE));
    let compared: Vec<_> = digest_presets().into_iter().map(compare).collect();
    if let Some((preset, first)) = compared.first() {
        println!("{}", tables::compare_at_sizes(preset, first, Columns::Page));
    }
    let losses = |share| (share, losses(sessions, digest_presets().first().copied(), share, &RULE));
    let lost = [PARTS[0], PARTS[2]].map(losses);
    println!("{}", tables::losses(&lost[..1], Columns::Page));
    let options = Options::default();
    let reports = sessions.iter().map(|session| replay(session, &options)).collect();
    let replay = Replay::new(options, reports);
    println!("{}", tables::retention(&replay, Columns::Page));
    println!("{}", tables::native(&replay, Columns::Page));
    println!("{}\n\n{}\n<!-- rows -->", CAVEAT, NOTES.trim_end());
    for (preset, all) in &compared {
        println!("{}", tables::compare_at_sizes(preset, all, Columns::All));
    }
    println!("{}", tables::losses(&lost, Columns::All));
    println!("{}", tables::retention(&replay, Columns::All));
    println!("{}", tables::native(&replay, Columns::All));
    println!("{}", tables::costs(&replay));
    println!("{}", tables::sessions(&replay));
}

/// Reads a session, named by its folder and file.
fn read(path: &Path) -> Option<Session> {
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default().display();
    let name = format!("{folder}/{}", path.file_name().unwrap_or_default().display());
    let document = wb_formats::open_path(path, Access::Read);
    let session = document.and_then(|document| Session::read(&name, document.as_ref()));
    session.inspect_err(|error| eprintln!("{name}: {error}")).ok()
}
