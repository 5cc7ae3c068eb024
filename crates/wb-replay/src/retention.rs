//! Measures what a compacted history retains.

use std::collections::HashMap;

use memchr::memmem;
use serde::Serialize;
use wb_budget::estimate_tokens;
use wb_language::constraints::constraints;
use wb_message::markers::is_prompt;
use wb_message::text::one_line;
use wb_message::{Block, Content, Message, Pairing};

use crate::message_text::{context_text, total_size};
use crate::names::is_word;
use crate::needs::Need;

/// The number of characters of a user's text that are searched for.
const PROBE_CHARS: usize = 200;

/// The share of a history that a context retains. Shares are from 0 to 1, `None` if there was
/// nothing to keep.
///
/// Retained text can be used but may be overlooked: the measure is necessary and not sufficient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Retention {
    /// The share of needed names that are retained (name as retained, NAR).
    pub names: f64,
    /// The share of needed names whose last line is retained (grounded, gNAR).
    pub lines: f64,
    /// The share of the user's texts whose first 200 characters are retained, apart from white
    /// space.
    pub user_words: Option<f64>,
    /// The share of the user's demands and prohibitions whose first 200 characters are retained.
    pub constraints: Option<f64>,
    /// The size as a share of the history's; see [`crate::size`].
    pub size: f64,
    /// The engine's token count.
    pub tokens: u64,
    /// The number of messages.
    pub messages: usize,
    /// True if every unpaired call or result is also unpaired in the history.
    pub pairs_intact: bool,
    /// True if the history was changed.
    pub changed: bool,
}

/// The content of a history that a context can retain.
#[derive(Debug)]
pub struct Reference<'a> {
    /// The history.
    pub history: &'a [Message],
    /// The needs after it.
    pub needs: Vec<Need<'a>>,
    user_words: Vec<Probe>,
    constraints: Vec<Probe>,
    /// The size of the history; see [`crate::size`].
    pub size: f64,
    loose_ends: LooseEnds,
}

impl<'a> Reference<'a> {
    /// Collects what a context can retain of a history.
    pub fn new(history: &'a [Message], needs: Vec<Need<'a>>) -> Self {
        let prompts = || history.iter().flat_map(prompt_texts);
        let lasting = prompts().flat_map(constraints).filter(|it| it.is_lasting);
        Self {
            history,
            needs,
            user_words: prompts().filter_map(Probe::new).collect(),
            constraints: lasting.filter_map(|it| Probe::new(it.text)).collect(),
            size: total_size(history),
            loose_ends: LooseEnds::find(history),
        }
    }

    /// Measures what a context retains.
    pub fn measure(&self, context: &[Message]) -> Retention {
        let text = context_text(context);
        let folded = one_line(&text, usize::MAX);
        let (names, lines) = retained_shares(&text, &self.needs);
        Retention {
            names,
            lines,
            user_words: share(&self.user_words, &folded),
            constraints: share(&self.constraints, &folded),
            size: total_size(context) / self.size,
            tokens: estimate_tokens(context),
            messages: context.len(),
            pairs_intact: LooseEnds::find(context).is_subset_of(&self.loose_ends),
            changed: context != self.history,
        }
    }
}

/// Returns the share of needed names that a text contains, and of those whose line it contains.
pub fn retained_shares(text: &str, needs: &[Need<'_>]) -> (f64, f64) {
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
    /// Finds the unpaired calls and results of a transcript.
    pub fn find(messages: &[Message]) -> Self {
        let pairing = Pairing::new(messages);
        let results = pairing.orphans().iter().filter_map(|at| messages.get(*at as usize));
        let calls = pairing.dangling().iter().filter_map(|call| {
            match messages.get(call.message as usize)?.blocks().get(call.block as usize)? {
                Block::ToolCall { id, .. } => Some(id.as_str()),
                _ => None,
            }
        });
        Self { results: counted(results.flat_map(Message::answered_ids)), calls: counted(calls) }
    }

    /// Returns whether all of them are unpaired in another transcript too.
    pub fn is_subset_of(&self, others: &Self) -> bool {
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

/// Returns the texts of a user's prompt, none for other messages.
pub fn prompt_texts(message: &Message) -> impl Iterator<Item = &str> {
    let content = match message {
        Message::User { content, .. } if is_prompt(message) => Some(content),
        _ => None,
    };
    content.into_iter().flat_map(Content::texts)
}

/// The part of a text to search for.
#[derive(Debug)]
struct Probe {
    text: String,
    /// True if the text was longer, so a word may continue after the end.
    is_cut: bool,
}

impl Probe {
    /// Returns the probe for a text, unless it is blank.
    fn new(text: &str) -> Option<Self> {
        let line = one_line(text, PROBE_CHARS + 1);
        let (text, is_cut) = line.strip_suffix('…').map_or((line.as_str(), false), |text| (text, true));
        let text = text.trim_end().to_owned();
        (!text.is_empty()).then_some(Self { text, is_cut })
    }

    /// Returns whether a text contains it as whole words: `cargo` does not contain `go`.
    fn is_found_in(&self, text: &str) -> bool {
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
    let n_kept = probes.iter().filter(|probe| probe.is_found_in(text)).count();
    (!probes.is_empty()).then(|| n_kept as f64 / probes.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::needs::Names;
    use serde_json::json;
    use wb_message::Block;

    /// Two prompts, a file read, and a call that uses two names from it.
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

    fn retention(context: &[Message]) -> Retention {
        let messages = session();
        let names = Names::new(&messages);
        Reference::new(&messages[..4], names.needs(4, 40)).measure(context)
    }

    #[test]
    fn the_whole_history_retains_everything() {
        let all = retention(&session()[..4]);
        assert_eq!((all.names, all.lines, all.size), (1.0, 1.0, 1.0));
        assert_eq!((all.user_words, all.constraints), (Some(1.0), Some(1.0)));
        assert!(all.pairs_intact && !all.changed);
        assert_eq!(all.messages, 4);
    }

    #[test]
    fn a_name_may_be_retained_without_its_line() {
        let digest =
            "They said: Make src/parser.rs faster. Never touch the public API.\nparse_header calls a reader";
        let some = retention(&[Message::user(digest), Message::user("And now?")]);
        assert_eq!((some.names, some.lines), (0.5, 0.0));
        assert_eq!((some.user_words, some.constraints), (Some(1.0), Some(1.0)));
        let line = retention(&[Message::user("> fn parse_header() {")]);
        assert_eq!((line.names, line.lines), (0.5, 0.5));
        assert_eq!((line.user_words, line.constraints), (Some(0.0), Some(0.0)));
        assert!(line.changed);
    }

    #[test]
    fn a_result_without_its_call_is_a_broken_pair() {
        assert!(!retention(&session()[2..4]).pairs_intact);
        assert!(retention(&session()[3..4]).pairs_intact);
    }

    #[test]
    fn unpaired_calls_are_compared_by_id() {
        let call = |id: &str| Message::assistant_blocks(vec![Block::call(id, "Read", json!({}))]);
        let history =
            [call("lost"), Message::user("go"), call("a"), Message::tool_result("a", "Read", "body")];
        let is_subset =
            |messages: &[Message]| LooseEnds::find(messages).is_subset_of(&LooseEnds::find(&history));
        assert!(is_subset(&history) && is_subset(&history[1..]) && is_subset(&history[..2]));
        assert!(!is_subset(&history[1..3]) && !is_subset(&history[3..]));
    }

    #[test]
    fn a_short_prompt_is_not_found_inside_of_a_word() {
        let messages = [Message::user("go")];
        let reference = Reference::new(&messages, Vec::new());
        let kept = |text: &str| reference.measure(&[Message::user(text)]).user_words;
        assert_eq!((kept("cargo"), kept("gone"), kept("go_on")), (Some(0.0), Some(0.0), Some(0.0)));
        assert_eq!((kept("cargo: go."), kept("“go”"), kept("go")), (Some(1.0), Some(1.0), Some(1.0)));
        assert!(Probe::new("go go").unwrap().is_found_in("cargo go go"));
    }

    #[test]
    fn the_first_200_characters_of_a_long_prompt_count() {
        let words = "ä".repeat(150) + "  " + &"b".repeat(100);
        let probe = Probe::new(&words).unwrap();
        assert_eq!((probe.text.chars().count(), probe.is_cut), (200, true));
        assert!(probe.is_found_in(&one_line(&words, usize::MAX)));
    }

    #[test]
    fn a_history_without_prompts_has_no_share_of_them() {
        let messages = [Message::assistant("Well.")];
        let none = Reference::new(&messages, Vec::new()).measure(&messages);
        assert_eq!((none.user_words, none.constraints), (None, None));
        assert_eq!((none.names, none.lines), (0.0, 0.0));
    }
}
