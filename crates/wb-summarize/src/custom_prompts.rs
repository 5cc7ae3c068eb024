//! [`CustomPrompts`]: a host's prompts, which ask for a digest in free form.

use std::borrow::Cow;

use crate::compaction_config::{CompactionConfig, MESSAGES_PLACEHOLDER, PREVIOUS_SUMMARY_PLACEHOLDER};
use crate::flatten::{neutralise_into, tag_end};

/// The units of a length in a prompt.
const MEASURES: [&str; 5] = ["words", "tokens", "sentences", "paragraphs", "characters"];

/// The custom prompts of a [`CompactionConfig`]; at least one is not blank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CustomPrompts {
    system: String,
    user: String,
    /// The tags of the user prompt, which no text between them may hold.
    tags: Vec<String>,
    says_length: bool,
}

impl CustomPrompts {
    /// Reads the prompts of a config; `None` if both are blank.
    pub(crate) fn from_config(config: &CompactionConfig) -> Option<Self> {
        let [system, user] = [&config.summarizer_system_prompt, &config.summarizer_user_prompt];
        let says_length = says_length(system) || says_length(user);
        let prompts = Self { system: system.clone(), user: user.clone(), tags: tags_of(user), says_length };
        (prompts.system().is_some() || prompts.asks_in_free_form()).then_some(prompts)
    }

    /// Returns the system text, if it is custom.
    pub(crate) fn system(&self) -> Option<&str> {
        Some(self.system.as_str()).filter(|text| !text.trim().is_empty())
    }

    /// Returns whether the user prompt is custom, so that no headings are requested.
    pub(crate) fn asks_in_free_form(&self) -> bool {
        !self.user.trim().is_empty()
    }

    /// Returns the bytes of both prompts.
    pub(crate) fn len(&self) -> usize {
        self.system.len() + self.user.len()
    }

    /// Fills the user prompt, and requests a length if neither prompt does.
    pub(crate) fn fill(&self, previous: Option<&str>, part: &str, n_words: u64) -> String {
        let mut safe = String::new();
        neutralise_into(&mut safe, previous.unwrap_or_default().trim());
        let (previous, part) = (without_tags(&safe, &self.tags), without_tags(part, &self.tags));
        let mut out = filled(&self.user, &previous, &part);
        if !self.says_length {
            let note = include_str!("templates/own_length.md").trim_ascii_end();
            out.extend(["\n\n", &note.replace("{n_words}", &n_words.to_string())]);
        }
        out
    }
}

fn says_length(prompt: &str) -> bool {
    let mut words = prompt.split(|c: char| !c.is_alphanumeric());
    words.any(|word| MEASURES.iter().any(|known| word.eq_ignore_ascii_case(known)))
}

/// Fills both placeholders in one pass, so that those inside of what is filled in stay text.
fn filled(template: &str, previous: &str, messages: &str) -> String {
    let mut out = String::with_capacity(template.len() + previous.len() + messages.len());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let (filling, after) = if let Some(after) = from.strip_prefix(MESSAGES_PLACEHOLDER) {
            (messages, after)
        } else if let Some(after) = from.strip_prefix(PREVIOUS_SUMMARY_PLACEHOLDER) {
            (previous, after)
        } else {
            from.split_at(1)
        };
        out.push_str(filling);
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Longest tag in bytes and most tags that are looked for in a user prompt.
const MAX_TAG_BYTES: usize = 64;
const MAX_TAGS: usize = 16;

/// Returns the names of the tags of a prompt, such as `new-conversation`.
fn tags_of(prompt: &str) -> Vec<String> {
    let tag = |from: &str| {
        let (name, _) = from.split_once('>')?;
        let name = name.strip_prefix('/').unwrap_or(name);
        let is_tag = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let named = !name.is_empty() && name.len() <= MAX_TAG_BYTES && name.chars().all(is_tag);
        named.then(|| name.to_owned())
    };
    let mut tags: Vec<String> = prompt.split('<').skip(1).filter_map(tag).collect();
    tags.dedup();
    tags.truncate(MAX_TAGS);
    tags
}

/// Writes the tags in a text with square brackets, as a model may read them; the text keeps its
/// length.
fn without_tags<'a>(text: &'a str, tags: &[String]) -> Cow<'a, str> {
    let mut out = String::new();
    let mut copied = 0;
    for (at, _) in text.match_indices('<') {
        let Some(end) = tag_end(text, at, tags).filter(|_| at >= copied) else { continue };
        out.push_str(&text[copied..at]);
        out.push('[');
        out.push_str(&text[at + 1..end - 1]);
        out.push(']');
        copied = end;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_in_what_is_filled_in_stays_text() {
        let template = "{ {previous_summary} | {messages} | {other} {";
        let filled = filled(template, "p {messages}", "m {previous_summary} {messages}");
        assert_eq!(filled, "{ p {messages} | m {previous_summary} {messages} | {other} {");
    }

    #[test]
    fn only_plain_tags_of_the_prompt_are_tags() {
        let prompt = "a < b <old-one>{previous_summary}</old-one> <x y> <> </> <2>{messages}";
        assert_eq!(tags_of(prompt), ["old-one", "2"]);
        assert!(tags_of(&format!("<{}>", "x".repeat(MAX_TAG_BYTES + 1))).is_empty());
        let many = (0..100).map(|n| format!("<t{n}>")).collect::<Vec<_>>().concat();
        assert_eq!(tags_of(&many).len(), MAX_TAGS);
    }

    #[test]
    fn tags_in_a_text_lose_their_brackets_and_the_text_keeps_its_length() {
        let tags = tags_of("<s>{messages}</s>");
        let text = "é<<s></S>ü<t>< / s ></s";
        let safe = without_tags(text, &tags);
        assert_eq!(safe, "é<[s][/S]ü<t>[ / s ]</s");
        assert_eq!(safe.len(), text.len());
        assert!(matches!(without_tags("<t>", &tags), Cow::Borrowed(_)));
    }
}
