//! Finds what the user forbids, requires, prefers and corrects.
//!
//! Only words are looked at. What is taken is the whole sentence as it stands in the text; a bug report, a question, a log
//! or a step of a task is none.

pub use crate::constraint_rules::Kind;
use crate::constraint_rules::kind;
use crate::sentences::{Sentence, sentences};

/// A sentence that holds beyond the step that it was said for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Constraint<'a> {
    /// What it does.
    pub kind: Kind,
    /// The whole sentence or list item as it stands in the text, with the sentence before it if it points back there, or
    /// with the list that it introduces.
    pub text: &'a str,
    /// The sentence alone that makes it one.
    pub rule: &'a str,
}

/// Bytes of a sentence that is taken along for the one behind it, where that begins with a word that points back, and where
/// such a word stands inside.
const BEFORE_BYTES: usize = 300;
const BEFORE_INSIDE_BYTES: usize = 160;
/// Bytes of both together.
const BOTH_BYTES: usize = 560;
/// Bytes of a list that is taken along for the sentence that introduces it.
const LIST_BYTES: usize = 1000;
/// Bytes of a block of code that is taken along for the sentence that introduces it.
const CODE_BYTES: usize = 300;

/// Returns the constraints in what the user typed, in order.
pub fn constraints(user_words: &str) -> Vec<Constraint<'_>> {
    let all = sentences(user_words);
    let mut found: Vec<Constraint<'_>> = Vec::new();
    let mut taken = 0;
    for (at, sentence) in all.iter().enumerate() {
        if sentence.end() <= taken {
            continue;
        }
        let Some(kind) = kind(sentence.text) else { continue };
        let end = list_end(&all, at).or_else(|| code_end(user_words, sentence)).unwrap_or(sentence.end());
        let mut new = Constraint { kind, text: &user_words[sentence.start..end], rule: sentence.text };
        if let Some((before, is_inside)) = before(&all, at, end) {
            let is_rule = before.end() == taken;
            if !is_rule {
                new.text = &user_words[before.start..end];
            } else if let Some(known) =
                found.pop_if(|known| is_inside && known.text.len() <= BEFORE_INSIDE_BYTES)
            {
                // Two rules of which the second names its thing in the first are one.
                new.text = &user_words[taken - known.text.len()..end];
                if known.kind == Kind::Forbids {
                    (new.kind, new.rule) = (known.kind, known.rule);
                }
            }
        }
        found.push(new);
        taken = end;
    }
    found
}

/// Returns the sentence before one that ends at a place with its list, if it points back to it and says nothing alone, and
/// whether it does so by a word inside.
fn before<'s, 'a>(all: &'s [Sentence<'a>], at: usize, end: usize) -> Option<(&'s Sentence<'a>, bool)> {
    let before = all.get(at.checked_sub(1)?)?;
    let is_inside = points_back(all[at].text)? > 0;
    let most = if is_inside { BEFORE_INSIDE_BYTES } else { BEFORE_BYTES };
    let fits = before.text.len() <= most && end - before.start <= BOTH_BYTES;
    (fits && before.block == all[at].block).then_some((before, is_inside))
}

/// Returns how many words stand before the one by which a sentence points back to what was said before it: `Never call it
/// from there.` Nothing if it has none, or names a thing before that the word may mean.
fn points_back(sentence: &str) -> Option<usize> {
    let mut n_names = 0;
    for (at, word) in sentence.split_whitespace().enumerate() {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let lower = bare.to_lowercase().replace('’', "'");
        let own = lower.split('\'').next().unwrap_or_default();
        let is_over = word.ends_with([',', ';', ':', '.', '!']);
        let is_code = word.contains(['`', '/', '_', '"']) || bare.contains(['.', ':']);
        if is_code {
            return None;
        }
        if own == "that" {
            let next = sentence.split_whitespace().nth(at + 1).unwrap_or_default();
            let next = next.trim_end_matches(|c: char| !c.is_alphanumeric());
            if at == 0 || is_over || next.is_empty() || AFTER_THAT.contains(&next) {
                return Some(at);
            }
        } else if BACK.contains(&own) {
            return Some(at);
        }
        let is_name = at > 0 && bare.starts_with(char::is_uppercase) && bare != bare.to_uppercase();
        if is_name || DETERMINERS.contains(&own) {
            return None;
        }
        n_names += usize::from(!PASSED.contains(&lower.as_str()));
        if n_names > MOST_NAMES {
            return None;
        }
    }
    None
}

/// Words that point back, and what follows `that` where it does.
const BACK: [&str; 8] = ["it", "this", "they", "these", "those", "them", "its", "their"];
const AFTER_THAT: [&str; 16] = [
    "in", "on", "from", "to", "with", "for", "without", "again", "at", "by", "until", "unless", "when", "if",
    "here", "there",
];
/// Words behind which a sentence names its own thing.
const DETERMINERS: [&str; 14] =
    ["the", "a", "an", "any", "all", "each", "every", "no", "my", "our", "your", "some", "both", "anything"];
/// Words that name no thing, and how many others may stand before one that points back.
const PASSED: [&str; 34] = [
    "please", "also", "and", "but", "so", "just", "ever", "do", "don't", "dont", "not", "never", "always",
    "must", "should", "shall", "can", "cannot", "can't", "may", "you", "we", "i", "only", "then", "make",
    "sure", "ensure", "try", "to", "be", "if", "when", "that",
];
const MOST_NAMES: usize = 2;

/// Returns where the list ends that a sentence introduces.
fn list_end(all: &[Sentence<'_>], at: usize) -> Option<usize> {
    let intro = &all[at];
    if !intro.text.ends_with([':', '：']) {
        return None;
    }
    let items = all[at + 1..].iter().take_while(|next| next.in_item);
    items.map(Sentence::end).take_while(|end| end - intro.start <= LIST_BYTES).last()
}

/// Returns where the short block of code ends that a sentence introduces.
fn code_end(user_words: &str, intro: &Sentence<'_>) -> Option<usize> {
    const FENCE: &str = "```";
    if !intro.text.ends_with([':', '：']) {
        return None;
    }
    let behind = user_words[intro.end()..].trim_start();
    let code = behind.strip_prefix(FENCE)?;
    let end = user_words.len() - code.len() + code.find(FENCE)? + FENCE.len();
    (end - intro.end() <= CODE_BYTES).then_some(end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<_> = constraints(text).iter().map(|it| it.text).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn the_whole_sentence_is_taken_as_it_stands() {
        let long = "When the cache at https://a.example/x.y?z=1 is cold, e.g. after v1.2 starts, don't wait for `a. b`.";
        check(&format!("The page is slow. {long} Thanks."), &[long]);
        check("- build it\n- never push", &["never push"]);
        check("1. Keep a.rs as it is (do not format it!). 2", &["Keep a.rs as it is (do not format it!)."]);
    }

    #[test]
    fn a_sentence_that_points_back_takes_the_one_before_along() {
        check("Add a cache. It must not block.", &["Add a cache. It must not block."]);
        check("Add a cache.\n\nIt must not block.", &["It must not block."]);
        check("Never block. It must be fast.", &["Never block.", "It must be fast."]);
        let of = |text| constraints(text).iter().map(|it| (it.kind, it.rule)).collect::<Vec<_>>();
        assert_eq!(of("Never push. You must not merge it."), [(Kind::Forbids, "Never push.")]);
        assert_eq!(of("Add a cache. It must not block."), [(Kind::Forbids, "It must not block.")]);
    }

    #[test]
    fn a_sentence_whose_subject_stands_before_it_takes_that_along() {
        for whole in [
            "Use the v2 API. Never call it from the UI thread.",
            "The log holds keys. Please don't ever print its lines.",
            "Port the cart. Make sure that they do not block.",
            "Use only the v2 API. You must not call it from the UI thread.",
            "I saw that you push. Don't do that again.",
        ] {
            check(&["Thanks. ", whole].concat(), &[whole]);
        }
        for (text, rule) in [
            ("Port the cart. Never touch the API, it is public.", "Never touch the API, it is public."),
            ("Port the cart. Make sure that all tests pass.", "Make sure that all tests pass."),
            ("Port it. Never call `it` twice.", "Never call `it` twice."),
            ("Port it.\n\nNever call it twice.", "Never call it twice."),
            ("Port it. Always run tests before it is merged.", "Always run tests before it is merged."),
        ] {
            check(text, &[rule]);
        }
        let long = format!("The cart {}is slow.", "of the shop ".repeat(15));
        check(&[&long, " Never call it twice."].concat(), &["Never call it twice."]);
    }

    #[test]
    fn a_rule_takes_the_list_along_that_it_introduces() {
        check("Do not touch:\n- a.rs\n- b.rs\n\nThen build.", &["Do not touch:\n- a.rs\n- b.rs"]);
    }

    #[test]
    fn a_rule_takes_the_short_code_along_that_it_introduces() {
        let rule = "You must use exactly this command:\n\n```\ngit diff > patch.txt\n```";
        check(&[rule, "\n\nThanks."].concat(), &[rule]);
        let long = format!("Never do this:\n```\n{}```", "make\n".repeat(80));
        check(&long, &["Never do this:"]);
    }

    #[test]
    fn what_the_user_quotes_is_no_rule() {
        check("it prints\n```\nyou must log in\n```\nfix that", &[]);
        check("it says \"never do that\"", &[]);
        check("2024-01-02 03:04:05 you must not\n> never\nERROR must not be null", &[]);
        let document =
            format!("Read this, but change no file.\n\n# Guide\n{}", "You must not.\n".repeat(200));
        check(&document, &["Read this, but change no file."]);
    }

    proptest! {
        #[test]
        fn every_constraint_is_a_slice_of_the_text(
            parts in prop::collection::vec(prop::sample::select(vec![
                "never", "don't", " ", " ", "\n", "\n- ", ". ", "it must", "`", "\"", "(", ")", "é", "不要", "。", "```",
                "# ", "<log>", "</", "ISSUE:\n", ":", "?", "no", ",", "as", "possible", "\u{2028}", "1. ", "https://",
            ]), 0..30)
        ) {
            let text = parts.concat();
            let range = text.as_bytes().as_ptr_range();
            for found in constraints(&text) {
                let own = found.text.as_bytes().as_ptr_range();
                prop_assert!(range.start <= own.start && own.end <= range.end && !found.text.is_empty());
            }
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            _ = constraints(&text);
        }
    }
}
