//! Prints, as Markdown, what rules for the moment of a compaction cost; `cargo xtask figures` writes it into the
//! documentation.
//!
//! ```text
//! cargo run --release -p wb-replay --example cost -- DATE COMMIT FOLDER…
//! ```
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example reads files and prints")]

mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use wb_budget::{Catalog, CatalogEntry};
use wb_message::Message;
use wb_record::Access;
use wb_replay::{Course, Names, Places, RULES, Session};

use table::Outcome;

/// The models whose prices are tried: one of each of four makers.
const MODELS: [&str; 4] = ["claude-sonnet-4-5", "gpt-5.6-sol", "gemini-3.5-flash", "deepseek-v4-pro"];
/// The windows, in tokens.
const WINDOWS: [u64; 4] = [32_000, 64_000, 128_000, 200_000];
/// The end of the name of a copy of another file.
const COPY: &str = ".v3.jsonl";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [date, commit, folders @ ..] = &words[..] else {
        eprintln!("usage: cost DATE COMMIT FOLDER…");
        return ExitCode::from(2);
    };
    let sessions: Vec<Session> =
        folders.iter().flat_map(|folder| files(Path::new(folder))).filter_map(|path| read(&path)).collect();
    let n_requests: usize = sessions.iter().map(requests).sum();
    println!("{}", include_str!("head.md").replace("DATE", date).replace("COMMIT", commit));
    println!("{} sessions, {n_requests} requests.\n", sessions.len());
    let models = MODELS.iter().filter_map(|id| Catalog::built_in().find(id));
    let all: Vec<_> = models.flat_map(|model| WINDOWS.map(|window| (model, window))).collect();
    let outcomes: Vec<_> =
        all.iter().map(|(model, window)| (*model, *window, outcomes(&sessions, model, *window))).collect();
    println!("{}", table::totals(&outcomes));
    for (model, window, outcomes) in &outcomes {
        println!("{}", table::of_rules(model, *window, outcomes));
    }
    println!("{}", include_str!("notes.md").trim_end());
    ExitCode::SUCCESS
}

fn requests(session: &Session) -> usize {
    session.said().filter(|message| matches!(message, Message::Assistant { .. })).count()
}

/// Goes through all sessions with every rule: for each session, what each rule made of it.
fn outcomes(sessions: &[Session], model: &CatalogEntry, window: u64) -> Vec<Vec<Outcome>> {
    let of_session = |session: &Session| {
        let said: Vec<&Message> = session.said().collect();
        let owned: Vec<Message> = session.said().cloned().collect();
        let names = Names::of(&owned);
        let places = Places::of(&said, &names);
        let course = Course::new(session, model)?;
        Some(RULES.map(|rule| Outcome::of(&course.run_at(rule, window, &places), model)).into())
    };
    sessions.iter().filter_map(of_session).collect()
}

/// Returns the session files of a folder in order, without copies of others.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| !path.to_string_lossy().ends_with(COPY));
    files.sort();
    files
}

/// Reads a session; what is none that can be read is left out.
fn read(path: &Path) -> Option<Session> {
    let document = wb_formats::open_path(path, Access::Read);
    document.and_then(|document| Session::read(path.display().to_string(), document.as_ref())).ok()
}
