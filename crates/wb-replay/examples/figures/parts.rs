//! Measures what each part of a result holds that no other part does.

use wb_conductor::Pipeline;
use wb_digest::Section;
use wb_digest::labels::{CALLED, GIT, MODIFIED, NAMES, READ, SEEN, SINCE_COMMIT, STATUS, STOPPED, TURN};
use wb_message::markers::{RESTORED_FILE_PREFIX, is_synthetic};
use wb_message::{Content, Message};
use wb_replay::{CutRule, Interval, Names, Reference, ResizedHistory, Retention, Session, places};

/// A part of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Requests,
    Rules,
    Turns,
    State,
    Git,
    Reasons,
    Tasks,
    Lines,
    Calls,
    NameLists,
    Carried,
    RestoredFiles,
    Tail,
}

/// The parts with their names, in the order of a result.
const PARTS: [(Part, &str); 13] = [
    (Part::Requests, "requests and answers of the user"),
    (Part::Rules, "rules"),
    (Part::Turns, "turns"),
    (Part::State, "state: last words, failures, changed files"),
    (Part::Git, "git"),
    (Part::Reasons, "reasons"),
    (Part::Tasks, "tasks and plans"),
    (Part::Lines, "single lines"),
    (Part::Calls, "calls"),
    (Part::NameLists, "bare names and read files"),
    (Part::Carried, "the rest of the carryover"),
    (Part::RestoredFiles, "restored files"),
    (Part::Tail, "messages that stay"),
];

/// The means of what is lost without a part.
#[derive(Clone, Debug)]
pub(crate) struct PartLoss {
    pub(crate) name: &'static str,
    /// The size, names, lines, user words and constraints.
    pub(crate) lost: [Option<Interval>; 5],
}

/// Takes each part out of the results at a share of the history, over all places of all sessions.
pub(crate) fn losses(
    sessions: &[Session],
    preset: Option<&'static str>,
    share: f64,
    rule: &CutRule,
) -> Vec<PartLoss> {
    let mut lost = vec![[const { Vec::new() }; 5]; PARTS.len()];
    for session in sessions {
        let pipeline = preset.and_then(Pipeline::preset).unwrap_or_default().vocabulary(session.vocabulary);
        lost.iter_mut().flatten().for_each(|values| values.push(Vec::new()));
        for segment in &session.segments {
            let names = Names::new(&segment.messages);
            for (_, reference) in places(segment, &names, rule) {
                let resized = ResizedHistory::new(reference.history, &session.vocabulary);
                if let Some(result) = resized.to(share, &pipeline) {
                    add_losses(&mut lost, &reference, &result);
                }
            }
        }
    }
    let of_part = |((_, name), lost): (&(Part, &'static str), [Vec<Vec<f64>>; 5])| PartLoss {
        name,
        lost: lost.map(|values| Interval::from_sessions(&values)),
    };
    PARTS.iter().zip(lost).map(of_part).collect()
}

fn add_losses(lost: &mut [[Vec<Vec<f64>>; 5]], reference: &Reference<'_>, result: &[Message]) {
    let whole = shares(&reference.measure(result));
    for ((part, _), lost) in PARTS.iter().zip(lost) {
        let rest = shares(&reference.measure(&without(*part, result)));
        for ((whole, rest), values) in whole.iter().zip(rest).zip(lost) {
            let of_session = values.last_mut().zip(whole.zip(rest));
            if let Some((values, (whole, rest))) = of_session {
                values.push(whole - rest);
            }
        }
    }
}

fn shares(kept: &Retention) -> [Option<f64>; 5] {
    [Some(kept.size), Some(kept.names), Some(kept.lines), kept.user_words, kept.constraints]
}

/// Returns a result without a part.
fn without(part: Part, result: &[Message]) -> Vec<Message> {
    let less = |message: &Message| match message {
        _ if !is_synthetic(message) => (part != Part::Tail).then(|| message.clone()),
        Message::User { content, .. } => {
            let text: String = content.texts().collect();
            Some(Message::user(less_text(part, &text)))
        }
        Message::CompactionSummary { summary, tokens_before } => {
            let summary = less_text(part, summary);
            Some(Message::CompactionSummary { summary, tokens_before: *tokens_before })
        }
        _ => Some(message.clone()),
    };
    result.iter().filter_map(less).filter(|message| !matches!(message, Message::User { content: Content::Text(text), .. } if text.is_empty())).collect()
}

/// Returns a digest without the lines of a part.
fn less_text(part: Part, text: &str) -> String {
    let (mut section, mut now) = (None, None);
    let stays = |line: &&str| {
        if line.starts_with(RESTORED_FILE_PREFIX) {
            now = Some(Part::RestoredFiles);
        } else if now != Some(Part::RestoredFiles) {
            if let Some(new) = Section::from_heading(line) {
                (section, now) = (Some(new), None);
            } else if line.starts_with("- ") || now.is_none() {
                now = section.map(|section| part_of(section, line));
            }
        }
        now != Some(part)
    };
    text.split_inclusive('\n').filter(stays).collect()
}

/// Returns the part that an entry belongs to.
fn part_of(section: Section, entry: &str) -> Part {
    let is_any = |labels: &[&str]| labels.iter().any(|label| entry.starts_with(label));
    match section {
        Section::Objective => Part::Requests,
        Section::Guardrails => Part::Rules,
        Section::Status | Section::Turns if is_any(&[TURN]) => Part::Turns,
        Section::Status | Section::Turns if is_any(&[GIT, SINCE_COMMIT, STOPPED, STATUS]) => Part::Git,
        Section::Status | Section::Turns => Part::State,
        Section::Rationale => Part::Reasons,
        Section::Plan => Part::Tasks,
        Section::Carryover | Section::Carried if is_any(&[SEEN]) => Part::Lines,
        Section::Carryover | Section::Carried if is_any(&[CALLED]) => Part::Calls,
        Section::Carryover | Section::Carried if is_any(&[NAMES, READ]) => Part::NameLists,
        Section::Carryover | Section::Carried if is_any(&[MODIFIED]) => Part::State,
        Section::Carryover | Section::Carried => Part::Carried,
    }
}
