//! Progress notes: sentences between the calls of an agent that report a fact.
//!
//! An announcement is outdated by the next call and is left out. Only words are considered, so some
//! sentences are classified wrongly.

use wb_message::text::one_line;

use crate::sentences::sentences;

/// The maximum bytes of a note.
const NOTE_BYTES: usize = 300;
/// The minimum bytes of a sentence, so that "Found it!" is not a note.
const LEAST_BYTES: usize = 24;

/// First words of an announcement.
const ANNOUNCES: [&str; 23] = [
    "now", "next", "first", "then", "before", "after", "to", "let", "time", "update", "add", "create",
    "check", "run", "start", "read", "look", "fix", "i'm", "i'll", "we'll", "need", "try",
];
/// Phrases in an announcement, or in a sentence without a fact.
const ANNOUNCES_INSIDE: [&str; 22] = [
    "let me ",
    "let's ",
    "let us ",
    "i'll ",
    "i will ",
    "going to ",
    "we'll ",
    "i have all",
    "i have enough",
    "i have everything",
    "i have what",
    "clear picture",
    "you're right",
    "you are right",
    "absolutely right",
    "you raise a",
    "valid point",
    "good point",
    "good catch",
    "good question",
    "接下来",
    "让我",
];
/// Verbs by which an agent reports; any other verb in the present announces.
const REPORTS: [&str; 26] = [
    "found",
    "find",
    "see",
    "saw",
    "notice",
    "think",
    "know",
    "knew",
    "understand",
    "believe",
    "suspect",
    "was",
    "had",
    "have",
    "did",
    "didn't",
    "don't",
    "can't",
    "cannot",
    "could",
    "couldn't",
    "made",
    "kept",
    "left",
    "ran",
    "wrote",
];
/// First words of a sentence that withdraws what was said before it.
const WITHDRAWS: [&str; 4] = ["actually", "instead", "wait", "hmm"];
/// Phrases by which an agent says that it is not sure yet of what it said.
const VERIFIES: [&str; 9] = [
    "verify",
    "confirm",
    "double-check",
    "double check",
    "make sure",
    "check more",
    "look at more",
    "check if",
    "check whether",
];
/// Verbs by which an agent announces the end of a fault that it reported.
const ENDS_FAULT: [&str; 10] =
    ["fix", "correct", "repair", "update", "change", "adjust", "revert", "remove", "rewrite", "handle"];
/// The maximum bytes of such an announcement in a note.
const FIX_BYTES: usize = 80;
/// Words in `ing` that are not verbs.
const THINGS: [&str; 7] = ["nothing", "everything", "something", "anything", "existing", "missing", "during"];

/// Returns the first sentences of a text that report a fact and that none after them withdraws or
/// doubts, on one line; with the announcement of a fix, since it ends what they report.
pub fn progress_note(text: &str) -> Option<String> {
    let (mut out, mut is_full) = (String::new(), false);
    let is_note = |sentence: &str| sentence.len() >= LEAST_BYTES && !is_announcement(sentence);
    // Items of a list say little without their introduction.
    let prose = sentences(text).into_iter().filter(|it| !it.is_item).map(|it| it.text);
    let mut is_noted = false;
    for sentence in prose {
        let follows = std::mem::take(&mut is_noted);
        if withdraws(sentence) || follows && verifies(sentence) {
            (out, is_full) = (String::new(), false);
        } else if follows && announces_fix(sentence) {
            out.extend([" ", &one_line(sentence, FIX_BYTES)]);
            break;
        }
        if is_full || !is_note(sentence) {
            continue;
        }
        is_full = !out.is_empty() && out.len() + sentence.len() > NOTE_BYTES;
        is_noted = !is_full;
        if out.is_empty() {
            out = one_line(sentence, NOTE_BYTES);
        } else if !is_full {
            out.push(' ');
            out.push_str(&one_line(sentence, NOTE_BYTES));
        }
    }
    (!out.is_empty()).then_some(out)
}

/// Returns whether a sentence withdraws what was said before it: "Actually, the cache is right."
fn withdraws(sentence: &str) -> bool {
    let first = sentence.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
    first.is_some_and(|first| WITHDRAWS.iter().any(|word| first.eq_ignore_ascii_case(word)))
}

/// Returns whether a sentence announces that what was said before it is checked.
fn verifies(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    VERIFIES.iter().any(|part| lower.contains(part)) && is_announcement(sentence)
}

/// Returns whether a sentence announces a change: "Let me fix that first."
fn announces_fix(sentence: &str) -> bool {
    const LEADS: [&str; 6] = ["let me ", "let's ", "let us ", "i'll ", "i will ", "i need to "];
    let lower = sentence.to_lowercase().replace('’', "'");
    let behind = LEADS.iter().find_map(|lead| Some(&lower[lower.find(lead)? + lead.len()..]));
    let mut words = behind.unwrap_or_default().split(' ').take(2);
    words.any(|word| ENDS_FAULT.contains(&word))
}

/// Returns whether a sentence announces a step, asks, or introduces the next one.
pub fn is_announcement(sentence: &str) -> bool {
    let words = sentence.trim_matches(|c: char| !c.is_alphanumeric() && !":?：？".contains(c));
    if words.ends_with([':', '?', '：', '？']) || words.starts_with("现在") {
        return true;
    }
    let lower = words.to_lowercase().replace('’', "'");
    let mut each = lower.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
    let (first, second) = (each.next().unwrap_or_default(), each.next().unwrap_or_default());
    let is_step = match first {
        "i" => !REPORTS.contains(&second) && !second.ends_with("ed"),
        "we" => second.starts_with("need") || second == "should",
        _ => ANNOUNCES.contains(&first) || first.ends_with("ing") && !THINGS.contains(&first),
    };
    is_step || ANNOUNCES_INSIDE.iter().any(|part| lower.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_noted_and_announcements_are_not() {
        for (text, expected) in [
            ("Let me look at the reader.", None),
            ("Now I’ll port src/cart.rs, since it is next.", None),
            ("Found it!", None),
            ("You’re right to be skeptical.", None),
            ("You raise a valid point.", None),
            ("I have all the context I need for that.", None),
            ("I add it to tests/checkout.rs, sorted by code.", None),
            ("Pinning the typings of the editor exactly.", None),
            (
                "I found two readers that count blank lines.",
                Some("I found two readers that count blank lines."),
            ),
            ("I checked tests/old.rs: nobody builds it.", Some("I checked tests/old.rs: nobody builds it.")),
            ("Nothing reads src/old.rs any more.", Some("Nothing reads src/old.rs any more.")),
            ("The settings have three parts that matter here:", None),
            (
                "The reader counts blank lines twice. Let me look at the writer.",
                Some("The reader counts blank lines twice."),
            ),
            (
                "The reader counts blank lines twice. Let me fix that first. The writer does too.",
                Some("The reader counts blank lines twice. Let me fix that first."),
            ),
            (
                "Both readers take the lock. Before I change that I want a survey.",
                Some("Both readers take the lock."),
            ),
            ("Only one commit has a trailer. Let me check more commits for trailers.", None),
            (
                "Good. Clippy only complains about tests/old.rs. Next I look at the writer.",
                Some("Clippy only complains about tests/old.rs."),
            ),
            (
                "The cache must be cleared by the reader. Actually, the writer can do that. It knows all of the keys.",
                Some("Actually, the writer can do that. It knows all of the keys."),
            ),
            ("The cache is stale after a write. Wait, no.", None),
            ("It does two things:\n- counts lines that are blank\n- skips them while it writes", None),
            ("现在检查下 web 端是否有测试框架和相关测试文件。", None),
        ] {
            assert_eq!(progress_note(text).as_deref(), expected, "{text}");
        }
        let many = progress_note(&"The reader counts blank lines. ".repeat(12));
        assert!(many.is_some_and(|it| it.len() <= NOTE_BYTES && it.ends_with("blank lines.")));
        let long = progress_note(&["The writer keeps a lock", &" and another one".repeat(40), "."].concat());
        assert!(long.is_some_and(|it| it.chars().count() == NOTE_BYTES && it.ends_with('…')));
    }
}
