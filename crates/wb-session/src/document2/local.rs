//! The local digest in the form of a session's summaries.

use std::borrow::Cow;

use crate::document2::files::{MODIFIED_FILES_TAGS, READ_FILES_TAGS};
use wb_budget::TokenHeuristic;
use wb_message::markers::digest_body;
use wb_message::{Message, ToolVocabulary};
use wb_summarize::extractive::{ACTIVE, UNRESOLVED};
use wb_summarize::{Section, Sections, carried_digest, local_digest};

use crate::document2::compaction_result::{NO_PRIOR_HISTORY, TURN_CONTEXT};

/// Room for the headings that the form has besides those of a digest, and for their empty lines.
const FRAME_CHARS: usize = 120;

/// The headings of the forms, and the heading of a digest that stands for each.
const HEADINGS: [(&str, &str); 12] = [
    ("## Goal", "# Objective"),
    ("## Original Request", "# Objective"),
    ("## Constraints & Preferences", "# Guardrails"),
    ("## Progress", "# Status"),
    ("## Early Progress", "# Status"),
    ("### Done", "# Status"),
    ("### In Progress", "# Status"),
    ("### Blocked", "# Status"),
    ("## Key Decisions", "# Rationale"),
    ("## Next Steps", "# Plan"),
    ("## Critical Context", "# Carryover"),
    ("## Context for Suffix", "# Carryover"),
];
/// The heading below which each entry is in the way.
const BLOCKED: &str = "### Blocked";

/// Takes a summary from the messages themselves, at most about `max_tokens` tokens; what was summarized before is
/// carried, as are the summaries among the messages.
pub(crate) fn local_summary(messages: &[Message], previous: Option<&str>, max_tokens: u64) -> String {
    let carried = carried_digest(messages);
    let prior: String = previous.into_iter().chain(carried.as_deref()).map(as_digest).collect();
    let others: Vec<&Message> = messages.iter().filter(|message| digest_body(message).is_none()).collect();
    let digest = local_digest(&others, &ToolVocabulary::default(), Some(&prior));
    let max_chars = TokenHeuristic::DEFAULT.chars_within(max_tokens).saturating_sub(FRAME_CHARS);
    as_summary(&Sections::parse(&digest.render(max_chars)))
}

/// Tells that the first request of a turn's start is not that of the session, of which there is a history.
pub(crate) fn after_history(prefix: &str) -> String {
    prefix.replacen("\n- First request:", "\n- Latest request:", 1)
}

/// How an entry of an earlier summary begins that may be done since, which nobody knows without a model; it is carried
/// once.
const BEFORE: &str = "- Before: ";
/// The headings below which entries tell what was to be done.
const OPEN: [&str; 2] = ["### In Progress", "## Next Steps"];

/// Puts a summary under the headings of a digest.
///
/// The start of a turn that was cut in two comes before the history, since it is newer. What stands below other headings
/// goes to the carryover, under the words of its heading.
fn as_digest(summary: &str) -> String {
    let mut out = String::with_capacity(summary.len());
    for part in summary.rsplit(&["\n", TURN_CONTEXT, "\n"].concat()) {
        part_as_digest(&mut out, part);
    }
    out
}

fn part_as_digest(out: &mut String, part: &str) {
    out.extend([CARRYOVER, "\n"]);
    let (mut below, mut is_listed, mut is_over, mut is_code) = ("", false, false, false);
    for line in part.lines() {
        let known = HEADINGS.iter().find(|(known, _)| *known == line.trim_end());
        if let Some((known, heading)) = known {
            (below, is_listed, is_over, is_code) = (known, false, false, false);
            out.extend([heading, "\n"]);
            continue;
        }
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        let continues = line.starts_with([' ', '\t']) || is_fence || is_code;
        is_listed |= !continues && [READ_FILES_TAGS.0, MODIFIED_FILES_TAGS.0].contains(&line.trim_end());
        if is_listed {
            // The lists are made anew.
            is_listed = ![READ_FILES_TAGS.1, MODIFIED_FILES_TAGS.1].contains(&line.trim_end());
            continue;
        }
        is_over = OPEN.contains(&below) && (line.starts_with(BEFORE) || (is_over && continues));
        if is_over || NOTHING.contains(&line.trim()) {
            continue;
        }
        if continues {
            out.extend([if line.starts_with("  ") { "" } else { "  " }, line, "\n"]);
        } else if let Some(title) = foreign_heading(line) {
            below = "";
            out.extend([CARRYOVER, "\n- **", title, "**\n"]);
        } else {
            out.extend([&entry(line, below), "\n"]);
        }
    }
}

/// Lines that say nothing.
const NOTHING: [&str; 5] = ["", "(none)", "- (none)", "---", NO_PRIOR_HISTORY];
const CARRYOVER: &str = "# Carryover";

/// Returns the words of a heading.
fn foreign_heading(line: &str) -> Option<&str> {
    let title = line.trim_start_matches('#');
    (title.len() < line.len() && title.starts_with(' ')).then(|| title.trim())
}

/// Marks an entry of an earlier summary by the heading that it stands below.
fn entry<'a>(line: &'a str, below: &str) -> Cow<'a, str> {
    if below == BLOCKED
        && let Some(rest) = line.strip_prefix("- ").filter(|_| !line.starts_with(UNRESOLVED))
    {
        return [UNRESOLVED, rest].concat().into();
    }
    // What the agent did last is replaced, and not carried.
    if OPEN.contains(&below)
        && !line.starts_with(ACTIVE)
        && let Some(rest) = item(line)
    {
        return [BEFORE, rest].concat().into();
    }
    line.into()
}

/// Returns the words of an item of a list, with a mark or a number.
fn item(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = if rest.len() < line.len() { rest.strip_prefix(". ") } else { line.strip_prefix("- ") };
    rest.map(|rest| rest.strip_prefix("[ ] ").unwrap_or(rest))
}

/// Puts the entries of a digest under the headings of a summary.
fn as_summary(sections: &Sections) -> String {
    let of = |section| sections.entries(section).iter().collect::<Vec<_>>();
    // Turns stand oldest first, as they were done.
    let status = of(Section::Turns).into_iter().rev().chain(of(Section::Status));
    let (blocked, rest): (Vec<_>, Vec<_>) = status.partition(|entry| entry.starts_with(UNRESOLVED));
    let is_done = |entry: &&String| {
        ["- Turn ", "- Files changed last", "- [x]"].iter().any(|label| entry.starts_with(label))
    };
    let (done, active): (Vec<_>, Vec<_>) = rest.into_iter().partition(is_done);
    // The lists after a summary have the files that were read.
    let context = of(Section::Carryover).into_iter().filter(|entry| !entry.starts_with("- read: ")).collect();
    let mut out = String::new();
    for (heading, entries) in [
        ("## Goal", of(Section::Objective)),
        ("\n## Constraints & Preferences", of(Section::Guardrails)),
        ("\n## Progress\n### Done", done),
        ("\n### In Progress", active),
        ("\n### Blocked", blocked),
        ("\n## Key Decisions", of(Section::Rationale)),
        ("\n## Next Steps", of(Section::Plan)),
        ("\n## Critical Context", context),
    ] {
        out.extend([heading, "\n"]);
        for entry in entries {
            out.extend([entry, "\n"]);
        }
    }
    out.truncate(out.trim_end().len());
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Lines as models, people and tools write them.
    fn odd_text() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec![
            "## Goal",
            "# Objective",
            "### Blocked",
            "## Next Steps",
            "####### seven",
            "Title",
            "=====",
            "---",
            "```sh",
            "```",
            "#!/bin/sh",
            "# comment",
            "  ## Goal",
            "\t- [ ] tab",
            "| a | b |",
            "<read-files>",
            "</read-files>",
            "- Before: it",
            "- [x] done",
            "1. one",
            "- (none)",
            "none",
            "- Stuck? make: error",
            "- `make` → failed",
            "- names: a · b",
            "- First request: ok",
            "- Latest request: x",
            "3 messages elided into this digest (99999999999999999999 in all).",
            "7 messages elided into this digest (7 in all).",
            "**Turn Context (split turn):**",
            "No prior history.",
            "a\r",
            "\u{a0}\u{a0}nbsp",
            "\u{202e}right to left",
            "\u{7}\u{1b}[31m",
            "",
            "長い行です",
            "[… clipped …]",
            "- Files changed last: a.rs, b.rs",
            "-",
            "- ",
            "#",
            " #x",
            "word word word",
        ]);
        prop::collection::vec(line, 0..30).prop_map(|lines| lines.join("\n"))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn whatever_was_said_digests_of_digests_keep_to_their_size_and_to_the_first_request(
            texts in prop::collection::vec(odd_text(), 1..8),
            previous in prop::option::of(odd_text()),
            max_tokens in prop::sample::select(vec![0_u64, 1, 40, 150, 500, 2_000]),
        ) {
            let mut summary = local_summary(&[Message::user("Port the importer.")], None, max_tokens);
            if let Some(previous) = previous {
                // One of a model, of which nothing is known.
                let next = local_summary(&[Message::user("Go on.")], Some(&previous), max_tokens);
                prop_assert!(next.len() as u64 <= (max_tokens * 4).max(1_000) * 4);
            }
            for text in &texts {
                let talk = [Message::user(text.as_str()), Message::assistant(text.as_str())];
                let next = local_summary(&talk, Some(&summary), max_tokens);
                prop_assert_eq!(&next, &local_summary(&talk, Some(&summary), max_tokens));
                prop_assert!(next.chars().count() as u64 <= (max_tokens * 4).max(FRAME_CHARS as u64 * 4), "{}", next);
                prop_assert!(max_tokens < 500 || next.starts_with("## Goal\n- First request: Port the importer.\n"), "{}", next);
                prop_assert!(max_tokens < 500 || next.matches("\n## ").count() == 5, "{}", next);
                summary = next;
            }
        }
    }

    #[test]
    fn a_summary_goes_into_the_next_one_under_the_same_headings() {
        let summary = "## Goal\n- First request: port it\n\n## Constraints & Preferences\n- (none)\n\n## Progress\n\
            ### Done\n- [x] the parser\n\n### In Progress\n- [ ] the writer\n\n### Blocked\n- no disk\n\n\
            ## Key Decisions\n- **One pass**: it is fast\n\n## Next Steps\n1. the reader\n\n## Critical Context\n- port 80";
        let again = as_summary(&Sections::parse(&as_digest(summary)));
        let expected = summary.replace("- (none)\n", "").replace("- no disk", "- Stuck? no disk");
        let marked = expected.replace("- [ ] the writer", "- Before: the writer");
        let marked = marked.replace("1. the reader", "- Before: the reader");
        assert_eq!(again, marked);
        let once_more = as_summary(&Sections::parse(&as_digest(&again)));
        assert_eq!(
            once_more,
            marked.replace("- Before: the writer\n", "").replace("- Before: the reader\n", "")
        );
    }

    #[test]
    fn what_stands_below_a_foreign_heading_is_told_under_its_words_and_does_not_break_the_goal() {
        let summary = "## Goal\n- port it\n\n## Completed Work (1-16)\n- the parser\n  with tests\n\n# Checkpoint\nold\n\n## Next Steps\n1. ship";
        let next = local_summary(&[Message::user("go on with it")], Some(summary), 500);
        let (goal, rest) = next.split_once("## Constraints").unwrap();
        assert!(goal.contains("port it") && !goal.contains("parser"), "{next}");
        assert!(rest.contains("- **Completed Work (1-16)**\n- the parser\n  with tests"), "{next}");
        assert!(rest.contains("- Before: ship") && rest.contains("- **Checkpoint**\nold"), "{next}");
        assert!(!next.contains("## Completed"), "{next}");
    }

    #[test]
    fn what_stands_between_two_summaries_in_one_is_no_entry_of_the_next() {
        let summary =
            format!("{NO_PRIOR_HISTORY}\n\n---\n\n{TURN_CONTEXT}\n\n## Original Request\n- port it");
        let next = local_summary(&[Message::user("go on")], Some(&summary), 500);
        assert!(next.contains("port it"), "{next}");
        assert!([NO_PRIOR_HISTORY, TURN_CONTEXT, "---"].iter().all(|line| !next.contains(line)), "{next}");
    }

    #[test]
    fn a_request_with_headings_stays_a_request_however_often_it_is_carried() {
        let request = "Carry out this plan:\n# Plan\n## Goal\n```sh\n# build\nmake\n```\n<read-files>\n## Next Steps\n1. ship";
        let first = local_summary(&[Message::user(request)], None, 500);
        let mut summary = first.clone();
        for _ in 0..3 {
            summary = local_summary(&[Message::assistant("I am at it.")], Some(&summary), 500);
            let goal = |summary: &str| summary.split_once("\n\n## Constraints").unwrap().0.to_owned();
            assert_eq!(goal(&summary), goal(&first));
        }
        assert!(first.contains("  # build\n  make") && first.contains("  ## Next Steps"), "{first}");
    }

    #[test]
    fn code_in_a_summary_is_no_heading_and_stays_whole() {
        let summary = "## Goal\n- run this:\n```sh\n# all\nif a; then\nfi\nif b; then\nfi\n```\n- and that\n\n## Next Steps\n- (none)";
        let next = local_summary(&[Message::user("go on with it")], Some(summary), 500);
        let code = "- run this:\n  ```sh\n  # all\n  if a; then\n  fi\n  if b; then\n  fi\n  ```\n";
        assert!(next.contains(code), "{next}");
        let unclosed = "## Goal\n```\n# a\n\n## Next Steps\n- ship it";
        assert!(
            local_summary(&[Message::user("go on with it")], Some(unclosed), 500)
                .contains("- Before: ship it")
        );
    }

    #[test]
    fn the_start_of_a_turn_is_newer_than_the_history_and_has_no_first_request_of_its_own() {
        let history =
            local_summary(&[Message::user("port the parser"), Message::user("and its tests")], None, 500);
        let prefix = after_history(&local_summary(
            &[Message::user("now the writer"), Message::assistant("The writer is next.")],
            None,
            500,
        ));
        let both = [&history, "\n\n---\n\n", TURN_CONTEXT, "\n\n", &prefix].concat();
        let next = local_summary(&[Message::assistant("Ok.")], Some(&both), 500);
        let goal = "## Goal\n- First request: port the parser\n- Latest request: now the writer\n- Earlier request: and its tests\n\n";
        assert!(next.starts_with(goal), "{next}");
        assert!(next.contains("1 message elided into this digest (5 in all)."), "{next}");
    }

    #[test]
    fn a_local_summary_keeps_to_its_size() {
        let messages: Vec<Message> =
            (0..200).map(|n| Message::user(format!("never do {n} {}", "x".repeat(400)))).collect();
        for max_tokens in [100, 500, 2_000] {
            let summary = local_summary(&messages, None, max_tokens);
            assert!(summary.len() as u64 <= max_tokens * 4, "{} for {max_tokens}", summary.len());
        }
    }
}
