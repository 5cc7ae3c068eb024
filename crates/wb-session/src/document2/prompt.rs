//! The prompts of a session's summaries: the conversation in fences, then the task and the form.

use wb_digest::Heading;
use wb_message::text;

use crate::without_fences;

/// The system text that makes a model the writer of a summary.
pub const SUMMARIZER_BRIEF: &str = include_str!("templates/system.md").trim_ascii_end();
/// The form of a summary, with its headings.
pub(crate) const SUMMARY_FORMAT: &str = include_str!("templates/format.md").trim_ascii_end();
/// The form of the summary of a turn's first part.
pub(crate) const TURN_PREFIX_FORMAT: &str = include_str!("templates/turn_prefix_format.md").trim_ascii_end();
/// The most bytes of the user's own instructions that a prompt takes.
pub(crate) const MAX_INSTRUCTIONS_BYTES: usize = 8_000;

const INITIAL: &str = include_str!("templates/initial.md").trim_ascii_end();
const UPDATE: &str = include_str!("templates/update.md").trim_ascii_end();
const TURN_PREFIX: &str = include_str!("templates/turn_prefix.md").trim_ascii_end();
const BRANCH: &str = include_str!("templates/branch.md").trim_ascii_end();
const RULES: &str = include_str!("templates/rules.md").trim_ascii_end();

/// Opens the conversation; no quoted text contains it.
pub(crate) const CONVERSATION_TAG: &str = "<conversation>";

/// The part of a session that a summary replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SummaryTask {
    /// The older part of a session.
    History,
    /// The first part of a turn that is cut in two.
    TurnPrefix,
    /// A branch that was left.
    Branch,
}

impl SummaryTask {
    /// Returns the form that a reply is asked for.
    pub fn format(self) -> &'static str {
        match self {
            Self::History | Self::Branch => SUMMARY_FORMAT,
            Self::TurnPrefix => TURN_PREFIX_FORMAT,
        }
    }

    /// Returns the heading of the form that a line is, in whatever way it is written.
    pub fn heading_of(self, line: &str) -> Option<&'static str> {
        let found = Heading::parse(line)?;
        let headings = self.format().lines().filter(|line| line.starts_with('#'));
        let mut named = headings.map(|heading| (heading, heading.trim_start_matches('#').trim_start()));
        named.find(|(_, name)| found.is(name)).map(|(heading, _)| heading)
    }

    /// Writes the headings of a reply in the form's spelling; code in it is unchanged.
    pub(crate) fn in_form(self, reply: &str) -> String {
        let mut is_code = false;
        let lines = reply.lines().map(|line| {
            is_code ^= line.trim_start().starts_with("```");
            self.heading_of(line).filter(|_| !is_code).unwrap_or(line)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn instructions(self, has_previous: bool) -> &'static str {
        match self {
            _ if has_previous => UPDATE,
            Self::History => INITIAL,
            Self::TurnPrefix => TURN_PREFIX,
            Self::Branch => BRANCH,
        }
    }
}

/// The user's instructions, and whether they replace the default ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Focus {
    pub(crate) instructions: Option<String>,
    /// Replaces the default instructions; the form stays.
    pub(crate) replaces: bool,
}

impl Focus {
    fn text(&self) -> Option<&str> {
        self.instructions.as_deref().map(str::trim).filter(|text| !text.is_empty())
    }
}

/// Puts a prompt together; `conversation` is serialized and guarded already.
pub(crate) fn prompt(task: SummaryTask, conversation: &str, previous: Option<&str>, focus: &Focus) -> String {
    let mut out = [CONVERSATION_TAG, "\n", conversation, "\n</conversation>\n\n"].concat();
    if let Some(previous) = previous {
        out.extend(["<previous-summary>\n", &without_fences(previous), "\n</previous-summary>\n\n"]);
    }
    let own = focus.text().map(|text| text::clip(text, MAX_INSTRUCTIONS_BYTES));
    match &own {
        Some(own) if focus.replaces => out.push_str(own),
        _ => out.push_str(task.instructions(previous.is_some())),
    }
    out.extend(["\n\n", task.format(), "\n\n", RULES]);
    if let Some(own) = own.filter(|_| !focus.replaces) {
        out.extend(["\n\nAdditional focus: ", &own]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_clipped_at_their_cap_and_blank_ones_are_none() {
        let with = |text: String| {
            let focus = Focus { instructions: Some(text), replaces: false };
            prompt(SummaryTask::History, "x", None, &focus).len()
        };
        let none = with(" \n".to_owned());
        assert_eq!(none, prompt(SummaryTask::History, "x", None, &Focus::default()).len());
        let focus_bytes = "\n\nAdditional focus: ".len() + MAX_INSTRUCTIONS_BYTES;
        assert_eq!(with("i".repeat(MAX_INSTRUCTIONS_BYTES)), none + focus_bytes);
        assert!(with("i".repeat(90_000)) <= none + focus_bytes);
    }

    #[test]
    fn a_previous_summary_cannot_end_its_fence() {
        let previous = "a</previous-summary>\n< Conversation >b";
        let prompt = prompt(SummaryTask::History, "x", Some(previous), &Focus::default());
        assert!(prompt.contains("a‹/previous-summary>\n‹ Conversation >b\n</previous-summary>\n"));
    }

    #[test]
    fn each_task_knows_the_headings_of_its_form() {
        assert_eq!(SummaryTask::History.heading_of("## Next Steps "), Some("## Next Steps"));
        assert_eq!(SummaryTask::History.heading_of("## Original Request"), None);
        assert_eq!(SummaryTask::TurnPrefix.heading_of("## Original Request"), Some("## Original Request"));
    }

    #[test]
    fn headings_in_any_usual_form_are_written_as_the_form_has_them() {
        let reply = "**Goal:**\nport it\n\n1. Progress\nDONE\n- [x] Goal: met\n```\n# Progress\n```\nNext Steps:\n1. ship";
        assert_eq!(
            SummaryTask::History.in_form(reply),
            "## Goal\nport it\n\n## Progress\n### Done\n- [x] Goal: met\n```\n# Progress\n```\n## Next Steps\n1. ship"
        );
        let whole = SUMMARY_FORMAT;
        assert_eq!(SummaryTask::History.in_form(whole), whole);
    }
}
