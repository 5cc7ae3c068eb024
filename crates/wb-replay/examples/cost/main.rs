//! Prints, as Markdown, what rules for the moment of a compaction cost; `cargo xtask figures`
//! writes the part above `<!-- rows -->` into the documentation and the tables below it into a data
//! file.
//!
//! ```text
//! cargo run --release -p wb-replay --example cost -- DATE COMMIT FILE…
//! ```
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example reads files and prints")]

mod table;

use std::path::Path;
use std::process::ExitCode;

use wb_budget::{Catalog, CatalogEntry};
use wb_message::Message;
use wb_record::Access;
use wb_replay::{Course, Names, Places, RULES, Session};

use table::Outcome;

/// The models whose prices are used: one from each of four providers.
const MODELS: [&str; 4] = ["claude-sonnet-4-5", "gpt-5.6-sol", "gemini-3.5-flash", "deepseek-v4-pro"];
/// The windows in tokens.
const WINDOWS: [u64; 4] = [32_000, 64_000, 128_000, 200_000];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [date, commit, files @ ..] = &words[..] else {
        eprintln!("usage: cost DATE COMMIT FILE…");
        return ExitCode::from(2);
    };
    let sessions: Vec<Session> = files.iter().filter_map(|file| read(Path::new(file))).collect();
    let n_requests: usize = sessions.iter().map(requests).sum();
    println!("{}", include_str!("head.md").replace("DATE", date).replace("COMMIT", commit));
    println!("{} sessions, {n_requests} requests.\n", sessions.len());
    let models = MODELS.iter().filter_map(|id| Catalog::built_in().find(id));
    let all: Vec<_> = models.flat_map(|model| WINDOWS.map(|window| (model, window))).collect();
    let outcomes: Vec<_> =
        all.iter().map(|(model, window)| (*model, *window, outcomes(&sessions, model, *window))).collect();
    println!("{}", table::choice(&outcomes));
    println!("{}\n<!-- rows -->", include_str!("notes.md").trim_end());
    println!("{}", table::totals(&outcomes));
    for (model, window, outcomes) in &outcomes {
        println!("{}", table::rules(model, *window, outcomes));
    }
    ExitCode::SUCCESS
}

fn requests(session: &Session) -> usize {
    session.messages().filter(|message| matches!(message, Message::Assistant { .. })).count()
}

/// Runs every rule on all sessions: the outcome of each rule, per session.
fn outcomes(sessions: &[Session], model: &CatalogEntry, window: u64) -> Vec<Vec<Outcome>> {
    let session_outcomes = |session: &Session| {
        let messages: Vec<&Message> = session.messages().collect();
        let owned: Vec<Message> = session.messages().cloned().collect();
        let names = Names::new(&owned);
        let places = Places::find(&messages, &names);
        let course = Course::new(session, model)?;
        Some(RULES.map(|rule| Outcome::new(&course.run_at(rule, window, &places), model)).into())
    };
    sessions.iter().filter_map(session_outcomes).collect()
}

/// Reads a session, if the file is a readable one.
fn read(path: &Path) -> Option<Session> {
    let document = wb_formats::open_path(path, Access::Read);
    document.and_then(|document| Session::read(path.display().to_string(), document.as_ref())).ok()
}
