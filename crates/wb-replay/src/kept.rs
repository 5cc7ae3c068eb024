//! What a compacted history still holds, and what it weighs.

use std::collections::HashMap;

use memchr::memmem;
use serde::Serialize;
use wb_budget::estimate_tokens;
use wb_message::markers::is_prompt;
use wb_message::text::one_line;
use wb_message::{Block, Content, Message, Pairing};
use wb_summarize::words::constraints::constraints;

use crate::message_text::{context_text, total_size};
use crate::names::is_word;
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
    /// True if every result without a call, and every call without a result, is such in the history too.
    pub pairs_intact: bool,
    /// True if anything was changed.
    pub changed: bool,
}

/// What a history holds that a context can keep.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) history: &'a [Message],
    pub(crate) needs: Vec<Need<'a>>,
    user_words: Vec<Probe>,
    constraints: Vec<Probe>,
    pub(crate) size: f64,
    loose_ends: LooseEnds,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(history: &'a [Message], needs: Vec<Need<'a>>) -> Self {
        let prompts = || history.iter().flat_map(prompt_texts);
        Self {
            history,
            needs,
            user_words: prompts().filter_map(Probe::of).collect(),
            constraints: prompts().flat_map(constraints).filter_map(|it| Probe::of(it.text)).collect(),
            size: total_size(history),
            loose_ends: LooseEnds::of(history),
        }
    }

    /// Measures what a context keeps.
    pub(crate) fn kept_in(&self, context: &[Message]) -> Kept {
        let text = context_text(context);
        let folded = one_line(&text, usize::MAX);
        let (names, lines) = retained(&text, &self.needs);
        Kept {
            names,
            lines,
            user_words: share(&self.user_words, &folded),
            constraints: share(&self.constraints, &folded),
            size: total_size(context) / self.size,
            tokens: estimate_tokens(context),
            messages: context.len(),
            pairs_intact: LooseEnds::of(context).are_among(&self.loose_ends),
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

/// Results without a call and calls without a result, by their ids.
#[derive(Clone, Debug, Default)]
pub struct LooseEnds {
    results: HashMap<String, usize>,
    calls: HashMap<String, usize>,
}

impl LooseEnds {
    /// Finds what is loose in a transcript.
    pub fn of(messages: &[Message]) -> Self {
        let pairing = Pairing::of(messages);
        let results = pairing.orphans().iter().filter_map(|at| messages.get(*at as usize));
        let calls = pairing.dangling().iter().filter_map(|call| {
            match messages.get(call.message as usize)?.blocks().get(call.block as usize)? {
                Block::ToolCall { id, .. } => Some(id.as_str()),
                _ => None,
            }
        });
        Self { results: counted(results.flat_map(Message::answered_ids)), calls: counted(calls) }
    }

    /// Returns whether all of it is loose in another transcript too.
    pub fn are_among(&self, others: &Self) -> bool {
        let among = |few: &HashMap<String, usize>, many: &HashMap<String, usize>| {
            few.iter().all(|(id, n)| many.get(id).is_some_and(|n_many| n <= n_many))
        };
        among(&self.results, &others.results) && among(&self.calls, &others.calls)
    }
}

fn counted<'a>(ids: impl Iterator<Item = &'a str>) -> HashMap<String, usize> {
    let mut all = HashMap::new();
    for id in ids {
        *all.entry(id.to_owned()).or_default() += 1;
    }
    all
}

/// Visits the texts of a message if it is a user's prompt.
pub fn prompt_texts(message: &Message) -> impl Iterator<Item = &str> {
    let content = match message {
        Message::User { content, .. } if is_prompt(message) => Some(content),
        _ => None,
    };
    content.into_iter().flat_map(Content::texts)
}

/// What of a text is looked for.
#[derive(Debug)]
struct Probe {
    text: String,
    /// True if the text was longer, so that a word may go on where this ends.
    is_cut: bool,
}

impl Probe {
    /// Builds what is looked for; none of a text without words.
    fn of(text: &str) -> Option<Self> {
        let line = one_line(text, PROBE_CHARS + 1);
        let (text, is_cut) = line.strip_suffix('…').map_or((line.as_str(), false), |text| (text, true));
        let text = text.trim_end().to_owned();
        (!text.is_empty()).then_some(Self { text, is_cut })
    }

    /// Returns whether a text holds it and not only as a part of longer words, as `cargo` holds `go`.
    fn is_in(&self, text: &str) -> bool {
        let ends = |at: usize| !text[..at].ends_with(is_word) || !text[at..].starts_with(is_word);
        let is_whole = |at: usize| ends(at) && (self.is_cut || ends(at + self.text.len()));
        let mut from = 0;
        while let Some(found) = memmem::find(&text.as_bytes()[from..], self.text.as_bytes()) {
            if is_whole(from + found) {
                return true;
            }
            from += found + 1;
        }
        false
    }
}

fn share(probes: &[Probe], text: &str) -> Option<f64> {
    let n_kept = probes.iter().filter(|probe| probe.is_in(text)).count();
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
    fn another_pair_that_is_broken_does_not_make_up_for_one_that_was() {
        let call = |id: &str| Message::assistant_blocks(vec![Block::call(id, "Read", json!({}))]);
        let history =
            [call("lost"), Message::user("go"), call("a"), Message::tool_result("a", "Read", "body")];
        let of = |messages: &[Message]| LooseEnds::of(messages).are_among(&LooseEnds::of(&history));
        assert!(of(&history) && of(&history[1..]) && of(&history[..2]));
        assert!(!of(&history[1..3]) && !of(&history[3..]));
    }

    #[test]
    fn a_short_prompt_is_not_found_inside_of_a_word() {
        let messages = [Message::user("go")];
        let asked = Asked::new(&messages, Vec::new());
        let kept = |text: &str| asked.kept_in(&[Message::user(text)]).user_words;
        assert_eq!((kept("cargo"), kept("gone"), kept("go_on")), (Some(0.0), Some(0.0), Some(0.0)));
        assert_eq!((kept("cargo: go."), kept("“go”"), kept("go")), (Some(1.0), Some(1.0), Some(1.0)));
        assert!(Probe::of("go go").unwrap().is_in("cargo go go"));
    }

    #[test]
    fn of_a_long_prompt_the_first_200_characters_are_looked_for() {
        let words = "ä".repeat(150) + "  " + &"b".repeat(100);
        let probe = Probe::of(&words).unwrap();
        assert_eq!((probe.text.chars().count(), probe.is_cut), (200, true));
        assert!(probe.is_in(&one_line(&words, usize::MAX)));
    }

    #[test]
    fn a_history_without_prompts_has_no_share_of_them() {
        let messages = [Message::assistant("Well.")];
        let none = Asked::new(&messages, Vec::new()).kept_in(&messages);
        assert_eq!((none.user_words, none.constraints), (None, None));
        assert_eq!((none.names, none.lines), (0.0, 0.0));
    }
}
