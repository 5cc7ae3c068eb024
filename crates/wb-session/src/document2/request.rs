//! The request to a model for a summary, and the part of its reply that is used.

use wb_budget::{ModelCard, TokenHeuristic};
use wb_message::text::clip_lines;
use wb_message::{Conversation, Message, Turn};
use wb_summarize::chunking::Room;
use wb_summarize::length::most_output_tokens;
use wb_summarize::{NoDigest, Question, ReplyText, under_headings};

use crate::document2::chunk::chunks;
use crate::document2::files::{MODIFIED_FILES_TAGS, READ_FILES_TAGS};
use crate::document2::prompt::{CONVERSATION_TAG, Focus, SUMMARIZER_BRIEF, SummaryTask, prompt};
use crate::split_file_tags;

/// A request to a model, with its text.
#[derive(Debug)]
pub(crate) struct SummaryRequest<'a> {
    focus: &'a Focus,
    task: SummaryTask,
    parts: Vec<String>,
    previous: Option<String>,
    max_previous_bytes: usize,
    max_output_tokens: u64,
}

impl<'a> SummaryRequest<'a> {
    /// Serializes messages for a model with the given card; at most half of its input goes to the
    /// previous summary.
    pub(crate) fn new(
        task: SummaryTask,
        messages: &[Message],
        previous: Option<&str>,
        card: Option<&ModelCard>,
        max_output_tokens: u64,
        focus: &'a Focus,
    ) -> Self {
        let max_output_tokens = max_output_tokens.min(most_output_tokens(card)).max(1);
        let room = Room::new(card, max_output_tokens);
        let previous = previous.map(|text| clip_lines(text.to_owned(), room.half()));
        let reply_bytes = TokenHeuristic::DEFAULT.chars_within(max_output_tokens);
        let max_previous_bytes = room.carried_bytes(previous.as_deref(), reply_bytes);
        let parts = chunks(messages, room.transcript_bytes(max_previous_bytes));
        Self { focus, task, parts, previous, max_previous_bytes, max_output_tokens }
    }
}

impl Question for SummaryRequest<'_> {
    fn parts(&self) -> &[String] {
        &self.parts
    }

    fn max_output_tokens(&self) -> u64 {
        self.max_output_tokens
    }

    fn conversation(&self, part: &str, so_far: Option<&str>) -> Conversation {
        let so_far = so_far.map(|text| clip_lines(text.to_owned(), self.max_previous_bytes));
        let prompt = prompt(self.task, part, so_far.as_deref().or(self.previous.as_deref()), self.focus);
        let system = Some(SUMMARIZER_BRIEF.to_owned());
        Conversation { system, turns: vec![Turn::user(prompt)], tools: None }
    }

    /// Accepts a reply in the form that was asked for; lists of files in it are left out, since we
    /// append them.
    fn judge(&self, reply: &ReplyText, _: Option<&str>) -> Result<String, NoDigest> {
        if reply.called_tools {
            return Err(NoDigest::CalledTools);
        }
        let text = split_file_tags(without_open_list(reply)).0.trim();
        if text.len() > self.max_reply_bytes() {
            return Err(NoDigest::TooLong);
        }
        if text.contains(CONVERSATION_TAG) {
            return Err(NoDigest::Failed("the reply repeats what it was asked".to_owned()));
        }
        if text.is_empty() && !reply.cut_off {
            return Err(NoDigest::Blank);
        }
        let text = under_headings(text, reply.cut_off, |line| self.task.heading_of(line).is_some())?;
        Ok(self.task.in_form(text))
    }
}

/// Returns the whole lines of a reply; a list of files at its end that was cut off is left out.
fn without_open_list(reply: &ReplyText) -> &str {
    let lists = [READ_FILES_TAGS, MODIFIED_FILES_TAGS];
    lists.iter().fold(reply.whole_lines(), |text, (open, close)| match text.rfind(open) {
        Some(at) if reply.cut_off && !text[at..].contains(close) => &text[..at],
        _ => text,
    })
}
