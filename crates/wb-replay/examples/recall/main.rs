//! Prints, as Markdown, how much of what later messages needed is in a compacted context or found
//! by one search; `cargo xtask figures` writes it into the documentation.
//!
//! ```text
//! cargo run --release -p wb-replay --example recall -- DATE COMMIT FILE…
//! ```
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example reads files and prints")]

use std::path::Path;
use std::process::ExitCode;

use wb_budget::estimate_text;
use wb_conductor::Pipeline;
use wb_message::{Message, ToolVocabulary};
use wb_recall::{Answer, Question, Recall};
use wb_record::Access;
use wb_replay::{CutRule, Names, Need, Reference, ResizedHistory, Session, body, places, retained_shares};

/// The shares that histories are compacted to.
const PARTS: [f64; 2] = [0.10, 0.05];
/// The places of compactions, as in the figures of retention.
const RULE: CutRule = CutRule { first: 60_000.0, step: 40_000.0, n_future: 40, max_cuts: 6 };
/// The excerpts of an answer that count.
const FIRST: usize = 3;

const HEAD: &str = include_str!("head.md");

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [date, commit, files @ ..] = &words[..] else {
        eprintln!("usage: recall DATE COMMIT FILE…");
        return ExitCode::from(2);
    };
    let sessions: Vec<Session> = files.iter().filter_map(|file| read(Path::new(file))).collect();
    let places: Vec<Place> = sessions.iter().flat_map(places_of).collect();
    if places.is_empty() {
        eprintln!("none of the files is a session that is long enough");
        return ExitCode::FAILURE;
    }
    print!("{}", HEAD.replace("DATE", date).replace("COMMIT", commit));
    print_tables(&places);
    ExitCode::SUCCESS
}

/// Shares of needed names and of their lines.
#[derive(Clone, Copy, Debug, Default)]
struct Shares {
    names: f64,
    lines: f64,
}

/// The results at one place.
struct Place {
    n_needs: usize,
    /// The tokens of the answers.
    answer_tokens: f64,
    found: Shares,
    /// The context alone, and the context or the search; for each size that was reached.
    sizes: [Option<[Shares; 2]>; PARTS.len()],
}

fn places_of(session: &Session) -> Vec<Place> {
    let pipeline = Pipeline::default().vocabulary(session.vocabulary);
    let mut all = Vec::new();
    for segment in &session.segments {
        let names = Names::new(&segment.messages);
        for (_, reference) in places(segment, &names, &RULE) {
            all.extend(place(&reference, &pipeline, session.vocabulary));
        }
    }
    all
}

fn place(reference: &Reference<'_>, pipeline: &Pipeline, vocabulary: ToolVocabulary) -> Option<Place> {
    if reference.needs.is_empty() {
        return None;
    }
    let recall = Recall::new(reference.history, vocabulary);
    let answers: Vec<Answer> =
        reference.needs.iter().map(|need| recall.answer(&Question::words(need.name))).collect();
    let texts: Vec<String> = answers.iter().map(first_lines).collect();
    let resized = ResizedHistory::new(reference.history, &vocabulary);
    let sizes = PARTS.map(|part| {
        let context = context(&resized.to(part, pipeline)?);
        let alone = shares(&reference.needs, |_| vec![&context]);
        Some([alone, shares(&reference.needs, |at| vec![&context, &texts[at]])])
    });
    let tokens = answers.iter().map(|answer| estimate_text(&answer.to_string()) as f64);
    Some(Place {
        n_needs: reference.needs.len(),
        answer_tokens: tokens.sum::<f64>() / answers.len() as f64,
        found: shares(&reference.needs, |at| vec![&texts[at]]),
        sizes,
    })
}

fn context(messages: &[Message]) -> String {
    messages.iter().map(body).collect::<Vec<_>>().join("\n")
}

/// Returns the lines of the first excerpts.
fn first_lines(answer: &Answer) -> String {
    let lines = answer.excerpts.iter().take(FIRST).flat_map(|found| &found.lines);
    lines.map(|(_, line)| line.inspect()).collect::<Vec<_>>().join("\n")
}

/// Returns the shares of the needs that any of the texts for each of them has.
fn shares<'t>(needs: &[Need<'_>], texts: impl Fn(usize) -> Vec<&'t String>) -> Shares {
    let mut sum = Shares::default();
    for (at, need) in needs.iter().enumerate() {
        let held = texts(at).into_iter().map(|text| retained_shares(text, std::slice::from_ref(need)));
        let (names, lines) = held
            .fold((0.0, 0.0), |(names, lines): (f64, f64), (name, line)| (names.max(name), lines.max(line)));
        sum.names += names;
        sum.lines += lines;
    }
    let n = needs.len() as f64;
    Shares { names: sum.names / n, lines: sum.lines / n }
}

fn print_tables(all: &[Place]) {
    let mean = |shares: &[Shares]| {
        let n = shares.len().max(1) as f64;
        let of = |part: fn(&Shares) -> f64| shares.iter().map(part).sum::<f64>() / n * 100.0;
        format!("{:.1} | {:.1}", of(|it| it.names), of(|it| it.lines))
    };
    println!(
        "| size % | places | context names % | lines % | first three names % | lines % | either names % | lines % |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (nth, part) in PARTS.into_iter().enumerate() {
        let reached: Vec<(&Place, [Shares; 2])> =
            all.iter().filter_map(|place| Some((place, place.sizes[nth]?))).collect();
        let alone: Vec<Shares> = reached.iter().map(|(_, [alone, _])| *alone).collect();
        let either: Vec<Shares> = reached.iter().map(|(_, [_, either])| *either).collect();
        let found: Vec<Shares> = reached.iter().map(|(place, _)| place.found).collect();
        let n = reached.len();
        println!("| {:.0} | {n} | {} | {} | {} |", part * 100.0, mean(&alone), mean(&found), mean(&either));
    }
    let n_needs: usize = all.iter().map(|place| place.n_needs).sum();
    let tokens = all.iter().map(|place| place.answer_tokens).sum::<f64>() / all.len() as f64;
    println!("\nNames looked up: {n_needs}. Tokens of an answer, mean: {tokens:.0}.\n<!-- rows -->");
    println!("## Places\n");
    println!("| needs | tokens of an answer | first three names % | lines % |");
    println!("|---:|---:|---:|---:|");
    for place in all {
        println!("| {} | {:.0} | {} |", place.n_needs, place.answer_tokens, mean(&[place.found]));
    }
}

fn read(path: &Path) -> Option<Session> {
    let name = path.display().to_string();
    let document = wb_formats::open_path(path, Access::Read);
    let session = document.and_then(|document| Session::read(&name, document.as_ref()));
    session.inspect_err(|error| eprintln!("{name}: {error}")).ok()
}
