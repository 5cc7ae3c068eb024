//! Finds what the user forbids, requires, prefers and corrects.
//!
//! Only words are looked at. What is taken is the whole sentence as it stands in the text; a bug report, a question, a log
//! or a step of a task is none.

pub use crate::words::constraint_rules::Kind;
use crate::words::constraint_rules::kind;
use crate::words::sentences::{Sentence, sentences};

/// A sentence that holds beyond the step that it was said for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Constraint<'a> {
    /// What it does.
    pub kind: Kind,
    /// The whole sentence or list item as it stands in the text, with the sentence before it if it points back there, or
    /// with the list that it introduces.
    pub text: &'a str,
}

/// Bytes of a sentence that is taken along for the one behind it.
const BEFORE_BYTES: usize = 300;
/// Bytes of a list that is taken along for the sentence that introduces it.
const LIST_BYTES: usize = 1000;

/// Returns the constraints in what the user typed, in order.
pub fn constraints(user_words: &str) -> Vec<Constraint<'_>> {
    let all = sentences(user_words);
    let mut found = Vec::new();
    let mut taken = 0;
    for (at, sentence) in all.iter().enumerate() {
        if sentence.end() <= taken {
            continue;
        }
        let Some(kind) = kind(sentence.text) else { continue };
        let start = before(&all, at, taken).map_or(sentence.start, |before| before.start);
        let end = list_end(&all, at).unwrap_or(sentence.end());
        found.push(Constraint { kind, text: &user_words[start..end] });
        taken = end;
    }
    found
}

/// Returns the sentence before, if one points back to it that says nothing alone.
fn before<'s, 'a>(all: &'s [Sentence<'a>], at: usize, taken: usize) -> Option<&'s Sentence<'a>> {
    const BACK: [&str; 7] = ["it", "this", "that", "they", "these", "those", "them"];
    let first = all[at].text.split([' ', ',']).next()?.to_lowercase();
    let before = all.get(at.checked_sub(1)?)?;
    let is_same = before.block == all[at].block && before.start >= taken;
    (BACK.contains(&first.as_str()) && is_same && before.text.len() <= BEFORE_BYTES).then_some(before)
}

/// Returns where the list ends that a sentence introduces.
fn list_end(all: &[Sentence<'_>], at: usize) -> Option<usize> {
    let intro = &all[at];
    if !intro.text.ends_with([':', '：']) {
        return None;
    }
    let items = all[at + 1..].iter().take_while(|next| next.in_item);
    items.map(Sentence::end).take_while(|end| end - intro.start <= LIST_BYTES).last()
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
    }

    #[test]
    fn a_rule_takes_the_list_along_that_it_introduces() {
        check("Do not touch:\n- a.rs\n- b.rs\n\nThen build.", &["Do not touch:\n- a.rs\n- b.rs"]);
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
