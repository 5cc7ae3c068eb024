//! Prints, as Markdown, what each strategy keeps of session files; `cargo xtask figures` writes it into the documentation.
//!
//! ```text
//! cargo run --release -p wb-replay --example figures -- DATE COMMIT FOLDER…
//! ```
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example reads files and prints")]

mod tables;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use wb_record::Access;
use wb_replay::{CAVEAT, CutRule, Options, Replay, Session, at_sizes, digesting, replay};

/// The parts of a history that it is compacted to.
const PARTS: [f64; 3] = [0.10, 0.15, 0.25];
/// Where histories are compacted to a part of themselves: sizes that take several hours of work.
const RULE: CutRule = CutRule { first: 60_000.0, step: 40_000.0, n_future: 40, max_cuts: 6 };
/// The end of the name of a copy of another file.
const COPY: &str = ".v3.jsonl";

const HEAD: &str = include_str!("head.md");
const NOTES: &str = include_str!("notes.md");

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [date, commit, folders @ ..] = &words[..] else {
        eprintln!("usage: figures DATE COMMIT FOLDER…");
        return ExitCode::from(2);
    };
    let sessions: Vec<Session> =
        folders.iter().flat_map(|folder| files(Path::new(folder))).filter_map(|path| read(&path)).collect();
    if sessions.is_empty() {
        eprintln!("no sessions in {}", folders.join(", "));
        return ExitCode::FAILURE;
    }
    print(date, commit, &sessions);
    ExitCode::SUCCESS
}

fn print(date: &str, commit: &str, sessions: &[Session]) {
    println!("{}", HEAD.replace("DATE", date).replace("COMMIT", commit));
    for preset in digesting() {
        println!("{}", tables::at_sizes(preset, &at_sizes(sessions, preset, &PARTS, &RULE)));
    }
    let options = Options::default();
    let reports = sessions.iter().map(|session| replay(session, &options)).collect();
    let replay = Replay::of(options, reports);
    println!("{}", tables::kept(&replay));
    println!("{}", tables::native(&replay));
    println!("{}", tables::costs(&replay));
    println!("{}", tables::sessions(&replay));
    println!("{}\n\n{}", CAVEAT, NOTES.trim_end());
}

/// Returns the session files of a folder in order, without copies of others.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| !path.to_string_lossy().ends_with(COPY));
    files.sort();
    files
}

/// Reads a session under the name of its folder and its file.
fn read(path: &Path) -> Option<Session> {
    let folder = path.parent().and_then(Path::file_name).unwrap_or_default().display();
    let name = format!("{folder}/{}", path.file_name().unwrap_or_default().display());
    let document = wb_formats::open_path(path, Access::Read);
    let session = document.and_then(|document| Session::read(&name, document.as_ref()));
    session.inspect_err(|error| eprintln!("{name}: {error}")).ok()
}
