//! A growing session of an agent, condensed whenever it is over budget.

use std::collections::HashMap;

use serde_json::json;
use wb_budget::is_over_budget;
use wb_budget::{AUTO_CONDENSE_POLICY, BudgetPolicy, DIGEST_TOKENS, ModelCard, estimate_message_tokens};
use wb_conductor::{CompactionReport, Compactor, Unchanged};
use wb_message::markers::{digest_body, restored_file};
use wb_message::outline::outline;
use wb_message::{Block, Message};
use wb_testkit::fit_laws::{self, Landing};
use wb_testkit::laws;

use crate::support::{AUTO, condensed, digest_of, files_of};

const FIRST: &str = "Port the importer to the new API, but never change its wire format.";

/// Deterministic numbers (Knuth's MMIX constants).
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % n
    }
}

/// An agent that edits eight files, whose contents are known at any time.
struct Agent {
    dice: Dice,
    messages: Vec<Message>,
    versions: HashMap<String, usize>,
    n_calls: usize,
    /// Lines of a file, about ten tokens each.
    n_lines: usize,
    prompts: Vec<String>,
}

impl Agent {
    fn new(seed: u64, n_lines: usize) -> Self {
        let messages = vec![Message::custom("system", "You are a coding agent."), Message::user(FIRST)];
        let (dice, versions) = (Dice(seed), HashMap::new());
        Self { dice, messages, versions, n_calls: 0, n_lines, prompts: vec![FIRST.to_owned()] }
    }

    fn file(&self, path: &str) -> String {
        let version = self.versions.get(path).copied().unwrap_or(0);
        let line = format!("// {path} as of version {version}\n");
        line.repeat(self.n_lines)
    }

    /// One turn of the agent: a few calls in one message, their results, sometimes a word or a
    /// prompt.
    fn step(&mut self) {
        if self.dice.below(6) == 0 {
            let prompt = format!("Request {}: also look at the edge cases.", self.prompts.len());
            self.messages.push(Message::assistant("Done so far."));
            self.messages.push(Message::user(prompt.as_str()));
            self.prompts.push(prompt);
        }
        let n_calls = 1 + self.dice.below(3);
        let done: Vec<_> = (0..n_calls).map(|_| self.call()).collect();
        let (calls, mut results): (Vec<_>, Vec<_>) = done.into_iter().unzip();
        if self.dice.below(2) == 0 {
            results.reverse();
        }
        self.messages.push(Message::assistant_blocks(calls));
        self.messages.extend(results);
    }

    fn call(&mut self) -> (Block, Message) {
        self.n_calls += 1;
        let id = format!("call_{}", self.n_calls);
        let path = format!(
            "src/{}.rs",
            ["lib", "cart", "wire", "importer", "a", "order", "b", "api_v2"][self.dice.below(8)]
        );
        match self.dice.below(5) {
            0 => {
                *self.versions.entry(path.clone()).or_default() += 1;
                let input = json!({"path": path, "old_string": "a", "new_string": "b"});
                (Block::call(&id, "edit", input), Message::tool_result(id, "edit", "1 replacement"))
            }
            1 => {
                let log = "test checkout::total ... ok\n".repeat(5 + self.dice.below(30));
                let input = json!({"command": "cargo test"});
                (Block::call(&id, "bash", input), Message::tool_result(id, "bash", log))
            }
            _ => {
                let body = self.file(&path);
                let input = json!({"path": path});
                (Block::call(&id, "read", input), Message::tool_result(id, "read", body))
            }
        }
    }
}

/// A window and the settings for it.
struct Budget {
    card: ModelCard,
    policy: BudgetPolicy,
}

impl Budget {
    fn new(context_window: u64) -> Self {
        let small = context_window <= 2_048;
        let reserve_tokens = if small { None } else { AUTO_CONDENSE_POLICY.reserve_tokens };
        let policy = BudgetPolicy { reserve_tokens, ..AUTO_CONDENSE_POLICY };
        Self { card: ModelCard::with_window(context_window), policy }
    }

    fn settings(&self) -> Compactor {
        Compactor::new().card(self.card.clone()).policy(self.policy)
    }
}

fn check(agent: &Agent, after: &[Message], report: &CompactionReport) {
    laws::no_loose_ends(after);
    laws::pinned_untouched(&agent.messages, after);
    let target = report.target_tokens.expect("a window");
    let (least_tokens, irreducible) = (fit_laws::least_tokens(&agent.messages), report.irreducible);
    let landing = Landing { target_tokens: target, overhead_tokens: 0, least_tokens, irreducible };
    fit_laws::fits_or_cannot(&agent.messages, after, landing);
    if report.cut > 0 {
        check_digest(agent, after, report);
        check_files(agent, after);
    }
}

fn check_digest(agent: &Agent, after: &[Message], report: &CompactionReport) {
    let digest = digest_of(after);
    let message = after.iter().find(|message| digest_body(message).is_some()).expect("a digest");
    let limit = report.limit_tokens.expect("a window");
    // Lines of evidence take up to three quarters of the share of restored files, and many words of
    // the user more than their share.
    let cap = (DIGEST_TOKENS.min(limit / 8) + 8_000.min(limit / 4) / 4 * 3).max(120);
    let words = digest.split("# Guardrails").next().map_or(0, |words| words.len() as u64 / 4);
    let cap = cap + words.saturating_sub(DIGEST_TOKENS.min(limit / 8) / 2).min(limit / 16);
    assert!(estimate_message_tokens(message) <= cap, "the digest exceeds {cap}: {report}\n{digest}");
    assert!(digest.contains(FIRST), "the first request is lost:\n{digest}");
    let in_tail = |prompt: &String| after.iter().any(|message| *message == Message::user(prompt.as_str()));
    let latest = agent.prompts.iter().rev().find(|prompt| !in_tail(prompt)).expect("the first at least");
    assert!(digest.contains(latest.as_str()), "`{latest}` is lost:\n{digest}");
}

fn check_files(agent: &Agent, after: &[Message]) {
    for (path, body) in files_of(after) {
        let now = agent.file(path);
        let start = now.lines().next().expect("a line");
        assert!(body.starts_with(start), "{path} is stale: {body}");
        let shown_later = after.iter().filter_map(restored_file).filter(|(other, _)| *other == path).count();
        assert_eq!(shown_later, 1, "{path} is restored twice");
    }
}

/// Lets a session grow until it was condensed `n` times, and returns it with the number of restored
/// files.
fn grow(context_window: u64, n_condenses: usize, seed: u64) -> (Vec<Message>, usize) {
    let budget = Budget::new(context_window);
    // A file takes about a twelfth of the window.
    let n_lines = usize::try_from(context_window / 120).expect("a small number");
    let mut agent = Agent::new(seed, n_lines);
    let (mut n_done, mut n_restored) = (0, 0);
    while n_done < n_condenses {
        agent.step();
        if !is_over_budget(&agent.messages, &budget.card, &budget.policy) {
            continue;
        }
        let (after, report) = condensed(&agent.messages, &budget.settings(), &AUTO);
        check(&agent, &after, &report);
        let (again, second) = condensed(&after, &budget.settings(), &AUTO);
        assert_eq!(again, after, "a condense right after another: {report}\n{second}");
        n_restored += report.restored.len();
        n_done += 1;
        agent.messages = after;
    }
    (agent.messages, n_restored)
}

fn grows(context_window: u64, least_restored: usize) {
    for (n_condenses, seed) in [(1, 1), (2, 2), (50, 3)] {
        let (messages, n_restored) = grow(context_window, n_condenses, seed);
        assert!(messages.len() > 2, "{}", outline(&messages));
        if n_condenses == 50 {
            assert!(n_restored >= least_restored, "{n_restored} files were restored");
        }
    }
}

#[test]
fn a_session_in_2k_stays_valid_and_within_its_budget() {
    grows(2_000, 0);
}

#[test]
fn a_session_in_4k_stays_valid_and_within_its_budget() {
    grows(4_000, 20);
}

#[test]
fn a_session_in_8k_stays_valid_and_within_its_budget() {
    grows(8_000, 10);
}

#[test]
fn a_session_in_32k_stays_valid_and_within_its_budget() {
    grows(32_000, 3);
}

#[test]
fn a_long_first_request_is_still_named_after_many_compactions() {
    let long = format!("{FIRST}\n\n# Plan\n{}", "1. Read all of the old code first.\n".repeat(60));
    for context_window in [2_000, 8_000, 32_000] {
        let budget = Budget::new(context_window);
        let mut agent = Agent::new(9, 8);
        agent.messages[1] = Message::user(long.as_str());
        for round in 0..20 {
            while !is_over_budget(&agent.messages, &budget.card, &budget.policy) {
                agent.step();
            }
            let (after, report) = condensed(&agent.messages, &budget.settings(), &AUTO);
            if report.cut > 1 {
                let digest = digest_of(&after);
                let named = format!("- First request: {}", &FIRST[..24]);
                assert!(digest.contains(&named), "round {round} of {context_window}: {report}\n{digest}");
            }
            agent.messages = after;
        }
    }
}

#[test]
fn a_session_far_below_its_budget_is_never_touched() {
    let budget = Budget::new(200_000);
    let mut agent = Agent::new(4, 8);
    for _ in 0..30 {
        agent.step();
        let (after, report) = condensed(&agent.messages, &budget.settings(), &AUTO);
        assert_eq!((after, report.unchanged), (agent.messages.clone(), Some(Unchanged::UnderBudget)));
    }
}
