//! Removes false statements from a summary.

use std::borrow::Cow;

use super::Finding;

/// Returns a summary without the sentences of the findings, and without lines that are empty then.
///
/// Missing constraints are not added.
///
/// ```
/// use wb_message::{Message, ToolVocabulary};
/// use wb_facts::{Facts, audit, corrected};
///
/// let session = [Message::user("Why does src/cart.rs fail?")];
/// let facts = Facts::default().with_messages(&session, &ToolVocabulary::default());
/// let summary = "# Status\n- `src/cart.rs` fails. All tests pass.\n- See `src/basket.rs`.";
/// let found = audit(summary, &facts);
/// assert_eq!(corrected(summary, &found), "# Status\n- `src/cart.rs` fails.");
/// ```
pub fn corrected<'s>(summary: &'s str, findings: &[Finding]) -> Cow<'s, str> {
    if findings.iter().all(|finding| finding.line == 0) {
        return Cow::Borrowed(summary);
    }
    let mut out: Vec<Cow<'_, str>> = Vec::new();
    for (number, line) in (1..).zip(summary.split('\n')) {
        let found: Vec<&str> =
            findings.iter().filter(|it| it.line == number).map(|it| it.text.as_str()).collect();
        if found.is_empty() {
            out.push(Cow::Borrowed(line));
        } else if let Some(rest) = without(line, &found) {
            out.push(Cow::Owned(rest));
        }
    }
    Cow::Owned(out.join("\n"))
}

/// Returns a line without the sentences that contain one of the pieces, or nothing if none is left.
fn without(line: &str, pieces: &[&str]) -> Option<String> {
    let start = line.len() - line.trim_start_matches([' ', '-', '*']).len();
    let (mark, words) = line.split_at(start);
    let holds = |sentence: &&str| !pieces.iter().any(|piece| sentence.contains(piece));
    let all: Vec<&str> = sentences(words).collect();
    let rest: Vec<&str> = all.iter().copied().filter(holds).collect();
    // A piece over the end of a sentence is found in none.
    let is_same = rest.len() == all.len();
    let rest = rest.concat();
    (!is_same && !rest.trim().is_empty()).then(|| [mark, rest.trim_end()].concat())
}

/// Visits the sentences of a line, each with the blank after it.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let ends = [". ", "! ", "? ", "; "].iter().filter_map(|end| rest.find(end).map(|at| at + end.len()));
        let (sentence, after) = rest.split_at(ends.min().unwrap_or(rest.len()));
        rest = after;
        (!sentence.is_empty()).then_some(sentence)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::FindingKind;

    fn check(summary: &str, found: &[(u32, &str)], expected: &str) {
        let finding = |&(line, text): &(u32, &str)| Finding {
            kind: FindingKind::UnshownEnd,
            line,
            text: text.to_owned(),
            why: String::new(),
            message: None,
        };
        let findings: Vec<Finding> = found.iter().map(finding).collect();
        assert_eq!(corrected(summary, &findings), expected, "{summary:?} {found:?}");
    }

    #[test]
    fn the_sentence_goes_in_which_something_was_found_and_no_other() {
        check("a\n- One. Two is b. Three.\nc", &[(2, "b")], "a\n- One. Three.\nc");
        check("- One. Two", &[(1, "One"), (1, "Two")], "");
        check("a\n- only this\nc", &[(2, "only this")], "a\nc");
        check("a", &[(0, "missing")], "a");
        check("a\n- One. Two.", &[(2, "One. Two")], "a");
    }
}
