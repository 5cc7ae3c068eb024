//! The local digest in the form of a session's summaries.

use wb_budget::Tariff;
use wb_message::{Message, Pairing, ToolVocabulary};
use wb_session::files::{MODIFIED_FILES_TAGS, READ_FILES_TAGS};
use wb_summarize::{Section, Sections, carried_digest, local_sections};

use crate::outcome::{NO_PRIOR_HISTORY, TURN_CONTEXT};

/// Room for the headings that the form has beside those of a digest, and for their empty lines.
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
/// How an entry of a digest begins that is in the way.
const STUCK: &str = "- Stuck? ";

/// Takes a summary from the messages themselves, at most about `max_tokens` tokens; what was summarized before is
/// carried, as are the summaries among the messages.
pub(crate) fn local_summary(messages: &[Message], previous: Option<&str>, max_tokens: u64) -> String {
    let carried = carried_digest(messages);
    let prior: String = previous.into_iter().chain(carried.as_deref()).map(as_digest).collect();
    let sections = local_sections(messages, &Pairing::of(messages), &ToolVocabulary::default(), Some(&prior));
    let max_chars = Tariff::SEED.chars_within(max_tokens).saturating_sub(FRAME_CHARS);
    as_summary(&Sections::parse(&sections.render(max_chars)))
}

/// Puts a summary under the headings of a digest.
fn as_digest(summary: &str) -> String {
    let mut out = String::with_capacity(summary.len());
    let (mut is_blocked, mut is_listed) = (false, false);
    for line in summary.lines() {
        let plain = line.trim();
        let is_end = [READ_FILES_TAGS.1, MODIFIED_FILES_TAGS.1].contains(&plain);
        is_listed |= [READ_FILES_TAGS.0, MODIFIED_FILES_TAGS.0].contains(&plain);
        if is_listed {
            // The lists are made anew.
            is_listed = !is_end;
            continue;
        }
        let heading = HEADINGS.iter().find(|(known, _)| *known == plain);
        if let Some((known, heading)) = heading {
            is_blocked = *known == BLOCKED;
            out.extend([heading, "\n"]);
        } else if !matches!(plain, "" | "(none)" | "- (none)" | "---" | TURN_CONTEXT | NO_PRIOR_HISTORY) {
            match line.strip_prefix("- ").filter(|_| is_blocked && !line.starts_with(STUCK)) {
                Some(rest) => out.extend([STUCK, rest, "\n"]),
                None => out.extend([line, "\n"]),
            }
        }
    }
    out
}

/// Puts the entries of a digest under the headings of a summary.
fn as_summary(sections: &Sections) -> String {
    let of = |section| sections.entries(section).iter().collect::<Vec<_>>();
    let (blocked, rest): (Vec<_>, Vec<_>) =
        of(Section::Status).into_iter().partition(|entry| entry.starts_with(STUCK));
    let is_done = |entry: &&String| entry.starts_with("- Shipped") || entry.starts_with("- [x]");
    let (done, active): (Vec<_>, Vec<_>) = rest.into_iter().partition(is_done);
    let mut out = String::new();
    for (heading, entries) in [
        ("## Goal", of(Section::Objective)),
        ("\n## Constraints & Preferences", of(Section::Guardrails)),
        ("\n## Progress\n### Done", done),
        ("\n### In Progress", active),
        ("\n### Blocked", blocked),
        ("\n## Key Decisions", of(Section::Rationale)),
        ("\n## Next Steps", of(Section::Plan)),
        ("\n## Critical Context", of(Section::Carryover)),
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
    use super::*;

    #[test]
    fn a_summary_goes_into_the_next_one_under_the_same_headings() {
        let summary = "## Goal\n- First request: port it\n\n## Constraints & Preferences\n- (none)\n\n## Progress\n\
            ### Done\n- [x] the parser\n\n### In Progress\n- [ ] the writer\n\n### Blocked\n- no disk\n\n\
            ## Key Decisions\n- **One pass**: it is fast\n\n## Next Steps\n1. the reader\n\n## Critical Context\n- port 80";
        let again = as_summary(&Sections::parse(&as_digest(summary)));
        let expected = summary.replace("- (none)\n", "").replace("- no disk", "- Stuck? no disk");
        assert_eq!(again, expected);
        assert_eq!(as_summary(&Sections::parse(&as_digest(&again))), again);
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
    fn a_local_summary_keeps_to_its_size() {
        let messages: Vec<Message> =
            (0..200).map(|n| Message::user(format!("never do {n} {}", "x".repeat(400)))).collect();
        for max_tokens in [100, 500, 2_000] {
            let summary = local_summary(&messages, None, max_tokens);
            assert!(summary.len() as u64 <= max_tokens * 4, "{} for {max_tokens}", summary.len());
        }
    }
}
