//! The newest recorded version's requests for a summary, and the reasons why our text differs.

use serde_json::Value;
use wb_invoke::scripted::Script;
use wb_message::{Block, Message};
use wb_session::SummaryTask;
use wb_session::{Entry, EntryKind, SerializeOpts, convert_to_llm, serialize_conversation};
use wb_testkit::session_rows::{
    JSON, Row, Verdict, clip_as_recorded, entry_in_file, has_special_json, is_text, judge, mask_lead_ins,
};

/// Theirs leaves it out.
pub(crate) const THINKING: &str = "the model's thinking is shown";
/// Theirs shows 2 000 units of its start.
pub(crate) const LONG_RESULT: &str = "of a long result the end is shown too";
/// Their text shows bodies unchanged.
pub(crate) const GUARDED: &str = "what looks like a label or a tag is made harmless";
/// Their text notes that a command was cancelled, or where the rest of its output is.
pub(crate) const SHELL: &str =
    "a log in memory does not hold cancelled, truncated and the path of the full output";
/// The heading that makes a scripted reply acceptable; it is removed before texts are compared.
const HEADINGS: [&str; 2] = ["## Goal\n", "## Original Request\n"];

/// A recorded reply in the form that the task asks for.
pub(crate) fn says(task: SummaryTask, text: &str) -> Script {
    Script::says([heading(task), text].concat())
}

/// Returns a heading of the form that a task asks for.
pub(crate) fn heading(task: SummaryTask) -> &'static str {
    HEADINGS[usize::from(task == SummaryTask::TurnPrefix)]
}

/// Returns a summary without the headings of scripted replies.
pub(crate) fn without_headings(summary: &str) -> String {
    HEADINGS.iter().fold(summary.to_owned(), |text, heading| text.replace(heading, ""))
}

/// One request for a summary.
pub(crate) struct RecordedRequest<'a> {
    pub(crate) task: SummaryTask,
    pub(crate) messages: &'a [Message],
    pub(crate) previous: Option<&'a str>,
    pub(crate) focus: Option<&'a str>,
    /// Puts the focus in the place of the instructions.
    pub(crate) replaces: bool,
}

impl RecordedRequest<'_> {
    /// Returns the expected recorded prompt, with its prose masked; `unseen` are commands that were
    /// kept from the model.
    ///
    /// `notes` are the notes on a command next to its output.
    fn rebuilt(&self, unseen: &[Message], notes: impl Fn(&Message) -> Option<String>) -> String {
        let whole = SerializeOpts { include_thinking: false, ..SerializeOpts::WHOLE };
        let seen = || self.messages.iter().filter(|message| !unseen.contains(message));
        let mut messages = convert_to_llm(seen().cloned());
        for (message, original) in messages.iter_mut().zip(seen()) {
            if let Some(notes) = notes(original) {
                let text: String = message.blocks().iter().filter_map(Block::as_text).collect();
                let output = text.split("\n\nCommand exited with code").next().unwrap_or_default();
                *message = Message::user([output, &notes].concat());
            }
        }
        for message in &mut messages {
            clip_as_recorded(message);
        }
        let text = mask_lead_ins(&serialize_conversation(&messages, whole));
        let focus = self.focus.map(|focus| format!("\n\nAdditional focus: {focus}")).unwrap_or_default();
        let previous = self
            .previous
            .map(|text| format!("<previous-summary>\n{text}\n</previous-summary>\n\n"))
            .unwrap_or_default();
        let instructions = match self.task {
            _ if self.replaces => self.focus.unwrap_or_default().to_owned(),
            SummaryTask::TurnPrefix => {
                return format!(
                    "# Conversation\n{text}\n\n# Instructions\n{{{{TURN_PREFIX_PROMPT}}}}{focus}"
                );
            }
            SummaryTask::Branch => format!("{{{{BRANCH_PROMPT}}}}{focus}"),
            SummaryTask::History if self.previous.is_some() => format!("{{{{UPDATE_PROMPT}}}}{focus}"),
            SummaryTask::History => format!("{{{{INITIAL_PROMPT}}}}{focus}"),
        };
        format!("<conversation>\n{text}\n</conversation>\n\n{previous}{instructions}")
    }

    /// Returns the conversation in our form.
    pub(crate) fn outline(&self) -> String {
        self.text(|_| ())
    }

    fn text(&self, change: impl Fn(&mut SerializeOpts)) -> String {
        let mut opts = SerializeOpts::default();
        change(&mut opts);
        serialize_conversation(&convert_to_llm(self.messages.iter().cloned()), opts)
    }

    /// Compares our prompt with the recorded one by what both carry.
    pub(crate) fn compare(&self, row: &Row<'_>, recorded: &Value, ours: &str, unseen: &[Message]) -> Verdict {
        let text = self.outline();
        self.check_ours(ours, &text)?;
        let rebuilt = self.rebuilt(unseen, |_| None);
        let mut reasons = if is_text(recorded, &rebuilt) {
            Vec::new()
        } else {
            let noted = self.rebuilt(unseen, |message| notes(row, message));
            let is_special = self.messages.iter().any(has_special_json) && is_near(recorded, &noted);
            let reason = if is_special { JSON } else { SHELL };
            judge(false, reason, is_special || is_text(recorded, &noted), (recorded, &noted))?
        };
        let is_changed = |change: fn(&mut SerializeOpts)| self.text(change) != text;
        for (reason, holds) in [
            (THINKING, is_changed(|opts| opts.include_thinking = false)),
            (LONG_RESULT, is_changed(|opts| opts.max_result_bytes = None)),
            (GUARDED, is_changed(|opts| opts.guarded = false)),
        ] {
            reasons.extend(holds.then_some(reason));
        }
        Ok(reasons)
    }

    /// Checks that our request contains the conversation, the previous summary and the focus, each
    /// once.
    fn check_ours(&self, ours: &str, text: &str) -> Result<(), String> {
        let rest = ours.strip_prefix("<conversation>\n").and_then(|rest| rest.strip_prefix(text));
        let rest = rest.and_then(|rest| rest.strip_prefix("\n</conversation>\n\n"));
        let rest = rest.ok_or_else(|| format!("the conversation is not in {ours}"))?;
        let previous = rest.strip_prefix("<previous-summary>\n").and_then(|rest| {
            let (previous, _) = rest.split_once("\n</previous-summary>\n\n")?;
            Some(previous)
        });
        let is_focused = match self.focus {
            Some(focus) if self.replaces => rest.starts_with(focus),
            Some(focus) => rest.ends_with(&format!("\n\nAdditional focus: {focus}")),
            None => !rest.contains("Additional focus"),
        };
        let is_asked = rest.contains(self.task.format());
        if previous == self.previous && is_focused && is_asked { Ok(()) } else { Err(rest.to_owned()) }
    }
}

/// Returns whether a recorded text is about as long as this one.
fn is_near(recorded: &Value, text: &str) -> bool {
    let units = |text: &str| text.encode_utf16().count() as u64;
    let n_units = recorded.as_str().map(units).or_else(|| recorded["$text"]["utf16_len"].as_u64());
    n_units.is_some_and(|n_units| n_units.abs_diff(units(text)) < 64)
}

/// Returns the note on a command that was cancelled or whose output is elsewhere.
fn notes(row: &Row<'_>, message: &Message) -> Option<String> {
    let Message::BashExecution { exit_code, .. } = message else { return None };
    let is_it =
        |entry: &&Entry| matches!(&entry.kind, EntryKind::Message(logged) if logged.message == *message);
    let entry = row.log.entries().iter().find(is_it)?;
    let raw = &entry_in_file(row.file, &entry.id)?["message"];
    let mut notes = match exit_code {
        _ if raw["cancelled"] == true => "\n\n(command cancelled)".to_owned(),
        Some(code) if *code != 0 => format!("\n\nCommand exited with code {code}"),
        _ => String::new(),
    };
    if let (true, Some(path)) = (raw["truncated"] == true, raw["fullOutputPath"].as_str()) {
        notes.extend(["\n\n[Output truncated. Full output: ", path, "]"]);
    }
    Some(notes)
}
