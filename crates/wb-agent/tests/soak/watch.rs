//! Invariants of each request and of the end.

use wb_agent::{Agent, Event};
use wb_conductor::DigestSource;
use wb_message::{Block, Conversation, Turn};

use crate::model::tokens;

/// Checks all events.
#[derive(Debug)]
pub(crate) struct Watch {
    window: u64,
    instruction: &'static str,
    /// The most compactions per 100 requests.
    most_compactions_percent: u64,
    n_requests: u64,
    n_compactions: u64,
    n_by_model: u64,
    n_findings: usize,
    /// The compactions since the last request.
    n_in_a_row: u64,
    most_tokens: u64,
    result_bytes: u64,
    longest_result: usize,
    most_facts_bytes: usize,
}

impl Watch {
    pub(crate) fn new(window: u64, instruction: &'static str, most_compactions_percent: u64) -> Self {
        Self {
            window,
            instruction,
            most_compactions_percent,
            n_requests: 0,
            n_compactions: 0,
            n_by_model: 0,
            n_findings: 0,
            n_in_a_row: 0,
            most_tokens: 0,
            result_bytes: 0,
            longest_result: 0,
            most_facts_bytes: 0,
        }
    }

    pub(crate) fn see(&mut self, event: &Event<'_>) {
        match event {
            Event::Sent(conversation) => self.sent(conversation),
            Event::Result(output) => {
                self.result_bytes += output.text.len() as u64;
                self.longest_result = self.longest_result.max(output.text.len());
            }
            Event::Compacted(report) if report.is_changed() => {
                self.n_compactions += 1;
                self.n_in_a_row += 1;
                self.n_by_model += u64::from(matches!(report.digest, Some(DigestSource::Model { .. })));
                self.n_findings += report.findings.len();
                assert!(report.tokens_after < report.tokens_before, "{report}");
            }
            _ => {}
        }
    }

    fn sent(&mut self, conversation: &Conversation) {
        self.n_requests += 1;
        assert!(self.n_in_a_row <= 2, "compacted {} times for one request", self.n_in_a_row);
        self.n_in_a_row = 0;
        let tokens = tokens(conversation);
        assert!(tokens <= self.window, "{tokens} tokens were sent");
        self.most_tokens = self.most_tokens.max(tokens);
        let texts = || conversation.turns.iter().flat_map(Turn::blocks).filter_map(Block::as_text);
        let is_there = texts().any(|text| text.contains(self.instruction));
        assert!(is_there, "request {}: the first instruction is gone: {:?}", self.n_requests, texts().next());
    }

    /// Checks that the agent's memory is bounded by the window, not by the session.
    pub(crate) fn bounded(&mut self, agent: &mut Agent) {
        let facts = serde_json::to_vec(agent.facts()).unwrap().len();
        self.most_facts_bytes = self.most_facts_bytes.max(facts);
    }

    pub(crate) fn finish(&self, agent: &Agent, n_turns: u64) {
        println!("{n_turns} turns: {self:?}, {} facts", agent.facts().n_messages());
        assert!(self.longest_result > 150_000 && self.n_requests > n_turns);
        assert!(
            self.n_by_model > 0 && self.n_compactions > self.n_by_model,
            "both kinds of digests: {self:?}"
        );
        // A request brings 39 kB on average, a third of the window, and the user's requests have a
        // quarter of the limit.
        assert!(self.n_compactions * 100 <= self.n_requests * self.most_compactions_percent, "{self:?}");
        assert!(self.most_facts_bytes < 4 * 1024 * 1024, "{self:?}");
    }
}

/// Returns the resident memory of the process; 0 if the system does not report it.
pub(crate) fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
