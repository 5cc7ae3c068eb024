//! Real sessions as their providers get them: untouched, compacted, and compacted again and again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use futures::executor::block_on;
use wb_budget::ModelCard;
use wb_conductor::{Compactor, CondenseOpts, compact_in_place};
use wb_dialect::{Dialect, EncodedRequest, Violation, repair, validate};
use wb_formats::View;
use wb_message::{Block, Message};
use wb_testkit::logs::{LOGS, write_log};
use wb_testkit::shared::{bytes_of, shared_files};

const FOLDERS: [&str; 4] = ["sessions/claude-code", "sessions/codex", "sessions/opencode", "sessions/pi"];
/// The session fixtures of the repository, which are always available.
const OURS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sessions");

/// Real violations in untouched sessions, verified by reading: some end mid-turn with unanswered
/// calls, and one begins in the middle.
const TRUE_FINDINGS: [&str; 2] = ["call-unanswered", "user-first"];

fn sessions() -> Vec<(String, View)> {
    let open = |path: &Path| {
        let mut reader = std::io::BufReader::new(std::fs::File::open(path).unwrap());
        let view = wb_formats::read(&mut reader);
        (path.display().to_string(), view.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    };
    let ours = std::fs::read_dir(OURS).unwrap().map(|entry| entry.unwrap().path());
    let shared = FOLDERS.iter().flat_map(|folder| shared_files(folder));
    ours.chain(shared).map(|path| open(&path)).collect()
}

/// The least bytes, or messages, of a session that is compacted repeatedly.
const LARGE: (usize, usize) = (200_000, 100);

/// The turns of a composed log, which is large too.
const TURNS: usize = 60;

/// Returns every large session, of any format, and a composed one of each format of lines.
fn large() -> Vec<(String, View)> {
    let composed = LOGS.into_iter().map(|format| {
        let mut log = Vec::new();
        write_log(format, TURNS, &mut log).unwrap();
        (format!("composed {format}"), log)
    });
    let is_folder = |path: &PathBuf| path.is_dir() && !path.ends_with("LICENSES");
    let folders = shared_files("sessions").into_iter().filter(is_folder);
    let files = folders
        .flat_map(|folder| shared_files(&format!("sessions/{}", folder.file_name().unwrap().display())));
    let real = files.map(|path| (path.display().to_string(), bytes_of(&path)));
    let opened = |(name, bytes): (String, Vec<u8>)| {
        let view = wb_formats::read(&mut &*bytes).ok()?;
        let is_large = bytes.len() >= LARGE.0 || view.messages.len() >= LARGE.1;
        is_large.then_some((name, view))
    };
    composed.chain(real).filter_map(opened).collect()
}

fn violations(messages: &[Message]) -> Vec<Violation> {
    Dialect::ALL
        .into_iter()
        .flat_map(|dialect| EncodedRequest::next_request(messages, dialect).validate())
        .collect()
}

/// Counts violations without their places.
fn counted(violations: &[Violation]) -> BTreeMap<(Dialect, &str, &str), usize> {
    let mut counts = BTreeMap::new();
    for violation in violations {
        *counts.entry(violation.kind()).or_insert(0) += 1;
    }
    counts
}

/// The number of compactions in a chain between two checks.
const LOOKED_AT: usize = 10;

/// Checks that nothing would be refused that would not have been before.
fn nothing_new(before: &[Message], after: &[Message], case: &str) {
    let (before, after) = (violations(before), violations(after));
    let known = counted(&before);
    for (violation, n) in counted(&after) {
        assert!(known.get(&violation).is_some_and(|known| n <= *known), "{case}: {violation:?}");
    }
}

fn compact(messages: &mut Vec<Message>, view: &View, window: u64, force: bool) {
    let settings = Compactor::new().card(ModelCard::with_window(window)).vocabulary(view.vocabulary);
    let opts = CondenseOpts { force, ..CondenseOpts::default() };
    block_on(compact_in_place(messages, &settings, &opts));
}

#[test]
fn of_untouched_sessions_only_what_is_truly_wrong_is_found() {
    for (name, view) in sessions() {
        for violation in violations(&view.messages) {
            assert!(TRUE_FINDINGS.contains(&violation.rule.as_ref()), "{name}: {violation}");
        }
    }
}

#[test]
fn violations_of_untouched_sessions_are_repaired() {
    for (name, view) in sessions() {
        for dialect in Dialect::ALL {
            let mut request = EncodedRequest::next_request(&view.messages, dialect).body;
            let n_found = validate(&request, dialect).len();
            let before = (n_found == 0).then(|| request.clone());
            repair(&mut request, dialect);
            assert_eq!(validate(&request, dialect), [], "{name}");
            assert!(before.is_none_or(|before| before == request), "{name} was valid");
        }
    }
}

#[test]
fn compacted_sessions_have_no_finding_that_they_had_not_before() {
    for (name, view) in sessions() {
        for (window, force) in [8_000, 32_000, 200_000].into_iter().flat_map(|it| [(it, false), (it, true)]) {
            let mut messages = view.messages.clone();
            compact(&mut messages, &view, window, force);
            nothing_new(&view.messages, &messages, &format!("{name} at {window}, force {force}"));
        }
    }
}

#[test]
fn after_fifty_compactions_in_a_row_there_is_no_new_finding_either() {
    let large = large();
    for format in LOGS {
        assert!(large.iter().any(|(_, view)| view.format == format), "no session of {format}");
    }
    for ((name, view), window) in large.into_iter().zip([32_000, 8_000].into_iter().cycle()) {
        let (mut messages, mut done) = (Vec::new(), 0);
        for nth in 1..=50 {
            let end = whole_turn(&view.messages, view.messages.len() * nth / 50);
            messages.extend_from_slice(&view.messages[done..end]);
            done = end;
            compact(&mut messages, &view, window, true);
            if nth % LOOKED_AT == 0 {
                let case = format!("{name} at {window}, compaction {nth}");
                nothing_new(&view.messages[..done], &messages, &case);
            }
        }
        assert_eq!(done, view.messages.len());
    }
}

/// Returns the first place from here on at which an agent would compact: not between calls and
/// their results.
fn whole_turn(messages: &[Message], from: usize) -> usize {
    let is_result = |message: &Message| matches!(message, Message::ToolResult { .. });
    from + messages[from..].iter().take_while(|message| is_result(message)).count()
}

#[test]
fn reasoning_of_an_agent_goes_back_to_its_own_provider_as_it_came() {
    for (name, view) in sessions() {
        let (dialect, key) = match view.format {
            "claude-code" => (Dialect::Anthropic, "signature"),
            "codex" => (Dialect::OpenaiResponses, "encrypted_content"),
            _ => continue,
        };
        let signed = view.messages.iter().flat_map(Message::blocks).filter_map(|block| match block {
            Block::Thinking { signature: Some(signature), .. } if !signature.is_empty() => Some(signature),
            _ => None,
        });
        let body = EncodedRequest::next_request(&view.messages, dialect).body.to_string();
        // Signatures removed before publication have another form.
        let is_real = |signature: &&String| dialect == Dialect::Anthropic || signature.starts_with("gAAAA");
        for signature in signed.filter(is_real) {
            let field = format!("\"{key}\":{}", serde_json::to_string(signature).unwrap());
            assert!(body.contains(&field), "{name}: {field:.80}");
        }
    }
}
