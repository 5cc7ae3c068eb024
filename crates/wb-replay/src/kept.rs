//! What a compacted history still holds, and what it weighs.

use memchr::memmem;
use serde::Serialize;
use wb_budget::estimate_tokens;
use wb_message::markers::is_prompt;
use wb_message::text::head;
use wb_message::{Content, Message, Pairing};
use wb_summarize::words::constraints::constraints;

use crate::body::{context_text, total_size};
use crate::needs::Need;

/// How much of a user's text is looked for, in characters.
const PROBE_CHARS: usize = 200;

/// What a context holds of a history. Shares are parts of 1; none where there was nothing to keep.
///
/// A text that is there can be used, but may be overlooked: what is measured is necessary and not sufficient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Kept {
    /// The share of the needed names that are still there (name as retained, NAR).
    pub names: f64,
    /// The share of the needed names whose last line is still there (grounded, gNAR).
    pub lines: f64,
    /// The share of the user's texts whose first 200 characters are still there, whatever blanks are between words.
    pub user_words: Option<f64>,
    /// The share of the user's sentences that ask for something or forbid it whose first 200 characters are still there.
    pub constraints: Option<f64>,
    /// The size as a part of the history's; see [`crate::size`].
    pub size: f64,
    /// The weight in tokens, as the engine counts them.
    pub tokens: u64,
    /// The messages.
    pub messages: usize,
    /// Whether there is no more result without a call, and no more call without a result, than in the history.
    pub pairs_intact: bool,
    /// Whether anything was changed.
    pub changed: bool,
}

/// What a history holds that a context can keep.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) history: &'a [Message],
    pub(crate) needs: Vec<Need<'a>>,
    user_words: Vec<String>,
    constraints: Vec<String>,
    pub(crate) size: f64,
    loose_ends: usize,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(history: &'a [Message], needs: Vec<Need<'a>>) -> Self {
        let prompts = || history.iter().filter(|message| is_prompt(message)).flat_map(texts);
        Self {
            history,
            needs,
            user_words: prompts().map(probe).filter(|text| !text.is_empty()).collect(),
            constraints: prompts().flat_map(constraints).map(|it| probe(it.text)).collect(),
            size: total_size(history),
            loose_ends: loose_ends(history),
        }
    }

    /// Measures what a context keeps.
    pub(crate) fn kept_in(&self, context: &[Message]) -> Kept {
        let text = context_text(context);
        let folded = folded(&text);
        let (names, lines) = retained(&text, &self.needs);
        Kept {
            names,
            lines,
            user_words: share(&self.user_words, &folded),
            constraints: share(&self.constraints, &folded),
            size: total_size(context) / self.size,
            tokens: estimate_tokens(context),
            messages: context.len(),
            pairs_intact: loose_ends(context) <= self.loose_ends,
            changed: context != self.history,
        }
    }
}

/// Returns the share of the needed names that a text holds, and of those whose line it holds.
pub fn retained(text: &str, needs: &[Need<'_>]) -> (f64, f64) {
    let holds = |needle: &str| memmem::find(text.as_bytes(), needle.as_bytes()).is_some();
    let n_names = needs.iter().filter(|need| holds(need.name)).count();
    let n_lines = needs.iter().filter(|need| holds(need.line)).count();
    let all = needs.len().max(1) as f64;
    (n_names as f64 / all, n_lines as f64 / all)
}

/// Counts results without a call and calls without a result.
pub fn loose_ends(messages: &[Message]) -> usize {
    let pairing = Pairing::of(messages);
    pairing.orphans().len() + pairing.dangling().len()
}

fn texts(message: &Message) -> impl Iterator<Item = &str> {
    let content = match message {
        Message::User { content, .. } => Some(content),
        _ => None,
    };
    content.into_iter().flat_map(Content::texts)
}

/// Returns what of a text is looked for.
fn probe(text: &str) -> String {
    // No character is longer than four bytes, and what is folded away is not counted.
    let folded = folded(head(text, PROBE_CHARS * 8));
    folded
        .char_indices()
        .nth(PROBE_CHARS)
        .map_or(folded.as_str(), |(end, _)| &folded[..end])
        .trim_end()
        .to_owned()
}

/// Returns the words of a text with one blank between them.
fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

fn share(probes: &[String], folded: &str) -> Option<f64> {
    let is_kept = |probe: &&String| memmem::find(folded.as_bytes(), probe.as_bytes()).is_some();
    let n_kept = probes.iter().filter(is_kept).count();
    (!probes.is_empty()).then(|| n_kept as f64 / probes.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::needs::Names;
    use serde_json::json;
    use wb_message::Block;

    /// Two prompts, a file that is read, and a call that uses two names of it.
    fn session() -> Vec<Message> {
        vec![
            Message::user("Make src/parser.rs\n  faster. Never touch the public API."),
            Message::assistant_blocks(vec![Block::call("r", "Read", json!({"path": "src/parser.rs"}))]),
            Message::tool_result("r", "Read", "fn parse_header() {\n    read_lines();\n}"),
            Message::user("And now?"),
            Message::assistant_blocks(vec![Block::call(
                "b",
                "Bash",
                json!({"command": "grep parse_header read_lines"}),
            )]),
        ]
    }

    fn kept(context: &[Message]) -> Kept {
        let messages = session();
        let names = Names::of(&messages);
        Asked::new(&messages[..4], names.needs(4, 40)).kept_in(context)
    }

    #[test]
    fn the_whole_history_keeps_all() {
        let all = kept(&session()[..4]);
        assert_eq!((all.names, all.lines, all.size), (1.0, 1.0, 1.0));
        assert_eq!((all.user_words, all.constraints), (Some(1.0), Some(1.0)));
        assert!(all.pairs_intact && !all.changed);
        assert_eq!(all.messages, 4);
    }

    #[test]
    fn a_name_may_be_there_without_its_line() {
        let digest =
            "They said: Make src/parser.rs faster. Never touch the public API.\nparse_header calls a reader";
        let some = kept(&[Message::user(digest), Message::user("And now?")]);
        assert_eq!((some.names, some.lines), (0.5, 0.0));
        assert_eq!((some.user_words, some.constraints), (Some(1.0), Some(1.0)));
        let line = kept(&[Message::user("> fn parse_header() {")]);
        assert_eq!((line.names, line.lines), (0.5, 0.5));
        assert_eq!((line.user_words, line.constraints), (Some(0.0), Some(0.0)));
        assert!(line.changed);
    }

    #[test]
    fn a_result_whose_call_went_is_a_broken_pair() {
        assert!(!kept(&session()[2..4]).pairs_intact);
        assert!(kept(&session()[3..4]).pairs_intact);
    }

    #[test]
    fn a_history_without_prompts_has_no_share_of_them() {
        let messages = [Message::assistant("Well.")];
        let none = Asked::new(&messages, Vec::new()).kept_in(&messages);
        assert_eq!((none.user_words, none.constraints), (None, None));
        assert_eq!((none.names, none.lines), (0.0, 0.0));
    }
}
