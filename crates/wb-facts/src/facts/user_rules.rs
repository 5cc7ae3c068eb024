//! The rules that the user's words set, and what they demand of the current step.

use super::{Constraint, Facts};
use wb_language::constraints::{Constraint as UserRule, Kind, constraints};
use wb_language::{UTTERANCE_BYTES, plain_words};

/// Constraints that are kept, the newest ones.
const MOST_CONSTRAINTS: usize = 200;
/// Bytes of a constraint that are kept.
const CONSTRAINT_BYTES: usize = 600;

impl Facts {
    /// Keeps the rules in the user's words, and what a long request demands of its step.
    pub(super) fn constrain(&mut self, words: &str, at: u32) {
        let is_first = self.turns.iter().len() <= 1;
        let holds = |found: &UserRule<'_>| {
            // There is nothing yet that the first words could correct.
            !is_step(found) && (!is_first || found.kind != Kind::Corrects)
        };
        for found in constraints(words).into_iter().filter(holds) {
            let forbids = found.kind == Kind::Forbids;
            let passing = !found.is_lasting && is_passing(&found, is_first);
            // A request that is never shortened says what its step is to be like; a list may bind
            // for longer.
            let is_list = found.text.contains('\n');
            if passing && words.len() <= UTTERANCE_BYTES && !is_list && !is_strict(&found) {
                continue;
            }
            let text = found.text.to_owned();
            self.keep_constraint(Constraint { text, forbids, passing, is_updated: false, at });
        }
    }

    /// Keeps a constraint unless it is known; what a digest quotes is kept for good. Of too many
    /// the oldest that forbids nothing goes.
    pub(super) fn keep_constraint(&mut self, new: Constraint) {
        if let Some(known) = self.constraints.iter_mut().find(|known| known.text == new.text) {
            known.is_updated &= new.is_updated;
            known.passing &= new.passing;
            return;
        }
        if new.text.len() > CONSTRAINT_BYTES {
            return;
        }
        if self.constraints.len() == MOST_CONSTRAINTS {
            let oldest = self.constraints.iter().position(|known| !known.forbids).unwrap_or(0);
            self.constraints.remove(oldest);
        }
        self.constraints.push(new);
    }
}

/// Words that make a rule of what is said.
const LASTING: [&str; 16] = [
    "always",
    "never",
    "all",
    "any",
    "every",
    "each",
    "everywhere",
    "only",
    "everything",
    "nothing",
    "anything",
    "generally",
    "future",
    "ever",
    "whenever",
    "remember",
];

/// Reports whether a constraint concerns the current step: a correction, a proposal, a demand that
/// is no rule or refers to one thing, and, after the first request, a ban after the demand it
/// belongs to.
fn is_passing(found: &UserRule<'_>, is_first: bool) -> bool {
    let words: Vec<String> = plain_words(found.rule).map(str::to_lowercase).collect();
    let is_lasting = words.iter().any(|word| LASTING.contains(&word.as_str()));
    match found.kind {
        Kind::Corrects => true,
        Kind::Requires => found.rule.is_ascii() && !decides(&words) && (!is_lasting || points_back(&words)),
        Kind::Prefers => found.rule.ends_with('?') || !is_lasting && proposes(&words) && !compares(&words),
        Kind::Forbids => !is_first && !is_lasting && demands_before(found.rule),
    }
}

/// Reports whether it says what is to be made in the end: "we want a tool that needs no network".
fn decides(words: &[String]) -> bool {
    words.windows(3).any(|three| three[0] == "we" && three[1] == "want" && three[2] != "to")
}

/// Reports whether it is a demand that allows nothing else: "the page has to load at once".
fn is_strict(found: &UserRule<'_>) -> bool {
    const STRICT: [&str; 8] = ["must", "shall", "required", "mandatory", "has", "have", "needs", "need"];
    found.kind == Kind::Requires
        && plain_words(found.rule).any(|word| STRICT.iter().any(|strict| word.eq_ignore_ascii_case(strict)))
}

/// Reports whether it is a proposal for the current step: "let's use something simple".
fn proposes(words: &[String]) -> bool {
    matches!(words, [first, ..] if first == "lets")
        || matches!(words, [one, two, ..] if one == "let" && two == "s")
}

/// Reports whether it prefers one thing to another: "let's use pnpm instead of npm".
fn compares(words: &[String]) -> bool {
    const TO: [[&str; 2]; 2] = [["instead", "of"], ["rather", "than"]];
    words.windows(2).any(|pair| TO.iter().any(|to| pair == to))
}

/// Reports whether it is a demand on one thing: "it needs to cover all", "this plan must hold every
/// step", but not "all of it must".
fn points_back(words: &[String]) -> bool {
    const MODALS: [&str; 6] = ["must", "needs", "need", "should", "has", "have"];
    const BACK: [&str; 6] = ["it", "this", "that", "these", "those", "they"];
    let modal = words.iter().position(|word| MODALS.contains(&word.as_str()));
    let Some((subject, last)) =
        modal.and_then(|modal| words[..modal].split_last().map(|(last, _)| (&words[..modal], last)))
    else {
        return false;
    };
    let is_back = |word: &str| BACK.contains(&word);
    (is_back(last) || is_back(&subject[0])) && !subject.iter().any(|word| LASTING.contains(&word.as_str()))
}

/// Reports whether a ban follows a demand: "make it dimmer, don't touch the theme". A clause of
/// time, place or manner and a transition demand nothing.
fn demands_before(text: &str) -> bool {
    const NO_DEMANDS: [&str; 26] = [
        "if", "when", "while", "until", "unless", "before", "after", "as", "since", "because", "for", "in",
        "on", "at", "from", "by", "with", "to", "and", "so", "but", "also", "please", "again", "note",
        "remember",
    ];
    let Some((first, second)) = text.split_once(", ") else { return false };
    // "Use full paths, no short ones": that is how all of them are to be.
    if second.starts_with("no ") {
        return false;
    }
    let mut words = plain_words(first).map(str::to_lowercase);
    let leads = words.next().is_none_or(|word| NO_DEMANDS.contains(&word.as_str()));
    !leads && words.nth(1).is_some() && constraints(first).iter().all(|it| it.kind != Kind::Forbids)
}

/// Reports whether a correction applies once, with no effect later: "no, that's wrong", "revert
/// that".
fn is_step(found: &UserRule<'_>) -> bool {
    let has = |word: &str| plain_words(found.rule).any(|it| it.eq_ignore_ascii_case(word));
    let is_short = || found.rule.split_whitespace().nth(3).is_none();
    let starts = |start: &str| found.rule.get(..start.len()).is_some_and(|it| it.eq_ignore_ascii_case(start));
    if ["after you", "once you", "when you're done", "when you are done"].into_iter().any(starts) {
        return true;
    }
    // A skipped item is one of the current list.
    let skips = || found.rule.split(", ").any(|clause| clause.starts_with("skip "));
    if starts("then ") && found.kind != Kind::Forbids || skips() {
        return true;
    }
    if found.kind != Kind::Forbids && found.rule.contains("would be great") {
        return true;
    }
    // An opinion of the user is a rule only if it says what to do.
    let thinks = found.rule.to_lowercase().contains("i think");
    if thinks && !["you", "we", "should", "need", "needs"].into_iter().any(has) {
        return true;
    }
    found.kind == Kind::Corrects && (found.rule.ends_with('?') || is_short() || has("revert") || has("undo"))
}

#[cfg(test)]
mod tests {
    use wb_message::{Message, ToolVocabulary};

    use super::*;

    fn check(requests: &[&str], expected: &[&str]) {
        let messages: Vec<Message> = requests.iter().map(|words| Message::user(*words)).collect();
        let facts = Facts::default().with_messages(&messages, &ToolVocabulary::default());
        let rules: Vec<&str> = facts.constraints().map(|it| it.text.as_str()).collect();
        assert_eq!(rules, expected, "{requests:?}");
    }

    #[test]
    fn a_request_for_a_step_is_no_rule() {
        for step in [
            "we need to fix the sources of the parser tests.",
            "can you ensure we have a demo that runs.",
            "I actually want to move these modules to their new folder.",
            "make sure the accent color is also used.",
            "the heading should be as wide as the list",
            "no, the block should stay as it is",
            "I mean the parser, not the lexer",
        ] {
            check(&["Port the footer.", step], &[]);
        }
    }

    #[test]
    fn a_rule_a_decision_and_a_strict_demand_are_kept() {
        for rule in [
            "never log a password!",
            "the page has to load within a second",
            "I think we want a reader that needs to be in the same process.",
            "let's use podman instead of docker.",
            "I'd rather have one file.",
        ] {
            check(&["Port the footer.", rule], &[rule]);
        }
    }

    #[test]
    fn a_demand_that_a_digest_quotes_is_kept_for_good() {
        let demand = "the page has to load within a second";
        let mut facts = Facts::default();
        let mut observe = |message: &Message| facts.observe(message, &ToolVocabulary::default());
        observe(&Message::user("Port the footer."));
        observe(&Message::user(demand));
        let digest = format!("# Guardrails\n- {demand}\n# Carryover\n2 messages elided into this digest.");
        observe(&Message::CompactionSummary { summary: digest, tokens_before: 0 });
        (0..30).for_each(|nth| observe(&Message::user(format!("Now part {nth}."))));
        let rules: Vec<&str> = facts.constraints().map(|it| it.text.as_str()).collect();
        assert_eq!(rules, [demand]);
    }
}
