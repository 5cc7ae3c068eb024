//! Helpers of the conductor's tests.

use std::borrow::Cow;
use std::sync::Arc;

use futures::executor::block_on;
use wb_budget::{
    AUTO_CONDENSE_POLICY, Budget, BudgetPolicy, ModelCard, TokenCounter, TokenHeuristic, WeighedTranscript,
};
use wb_conductor::{
    CompactionReport, Compactor, CondenseOpts, Pipeline, PlanInput, Trigger, compact_in_place,
};
use wb_invoke::scripted::{Script, ScriptedInvoker};
use wb_message::markers::{digest_body, restored_file};
use wb_message::outline::outline;
use wb_message::{Block, Content, Message};

/// A manual `/compact`.
pub(crate) const FORCE: CondenseOpts = CondenseOpts {
    force: true,
    overflow: false,
    model: None,
    context_tokens: 0,
    instructions: None,
    fixed: Cow::Borrowed(&[]),
    joined: Cow::Borrowed(&[]),
    facts: None,
    cancel: None,
};

/// The automatic path.
pub(crate) const AUTO: CondenseOpts = CondenseOpts {
    force: false,
    overflow: false,
    model: None,
    context_tokens: 0,
    instructions: None,
    fixed: Cow::Borrowed(&[]),
    joined: Cow::Borrowed(&[]),
    facts: None,
    cancel: None,
};

/// A reply with all six headings and one fact.
pub(crate) fn good_reply(fact: &str) -> String {
    format!(
        "# Objective\n- {fact}\n# Guardrails\nnone\n# Status (Shipped / Active / Stuck)\n- Active: tests\n\
         # Rationale\nnone\n# Plan\n- go on\n# Carryover\nnone"
    )
}

/// A model that gives the same reply to every request.
pub(crate) fn model(reply: Script) -> Arc<ScriptedInvoker> {
    Arc::new(ScriptedInvoker::new([reply]))
}

/// Settings with a window of `context_window` tokens under the seed's policy.
pub(crate) fn window(context_window: u64) -> Compactor {
    Compactor::new().card(ModelCard::with_window(context_window))
}

/// The seed's policy with a tail of `keep_recent` tokens.
pub(crate) fn keep(keep_recent: u64) -> BudgetPolicy {
    BudgetPolicy { keep_recent, ..AUTO_CONDENSE_POLICY }
}

/// Condenses a copy of a transcript outside of a runtime.
pub(crate) fn condensed(
    messages: &[Message],
    settings: &Compactor,
    opts: &CondenseOpts,
) -> (Vec<Message>, CompactionReport) {
    let mut after = messages.to_vec();
    let report = block_on(compact_in_place(&mut after, settings, opts));
    (after, report)
}

/// One figure for the limit and the target.
pub(crate) fn flat(tokens: u64, overhead: u64) -> Budget {
    Budget::from_limit(tokens, &AUTO_CONDENSE_POLICY, overhead).with_target(tokens)
}

/// Runs a pipeline without a model.
pub(crate) fn run(
    pipeline: &Pipeline,
    messages: &mut Vec<Message>,
    budget: Budget,
    force: bool,
) -> CompactionReport {
    let counter: Arc<dyn TokenCounter> = Arc::new(TokenHeuristic::DEFAULT);
    let trigger = if force { Trigger::Forced } else { Trigger::Auto };
    let ready = {
        let view = WeighedTranscript::new(messages, &counter);
        pipeline.plan(view, PlanInput::new(budget, trigger)).map(wb_conductor::Plan::local)
    };
    ready.map_or_else(|report| *report, |ready| ready.apply(messages))
}

/// Returns the text of a user message, pieces joined by line ends.
pub(crate) fn text_of(message: &Message) -> String {
    match message {
        Message::User { content, .. } | Message::Custom { content, .. } => {
            content.texts().collect::<Vec<_>>().join("\n")
        }
        Message::ToolResult { content, .. } => {
            Content::Blocks(content.clone()).texts().collect::<Vec<_>>().join("\n")
        }
        other => panic!("not a message of one text: {}", outline(std::slice::from_ref(other))),
    }
}

/// Returns the text of the only digest of a transcript.
pub(crate) fn digest_of(messages: &[Message]) -> String {
    let mut digests: Vec<_> = messages.iter().filter_map(digest_body).collect();
    assert_eq!(digests.len(), 1, "{}", outline(messages));
    digests.remove(0).into_owned()
}

/// Returns the digest of messages without the user's requests, which every digest adds to a model's
/// words.
pub(crate) fn words_of_model(messages: &[Message]) -> String {
    const LABELS: [&str; 4] =
        ["- First request:", "- Earlier request", "- Latest request:", "- The user's answer:"];
    let digest = digest_of(messages);
    assert!(digest.starts_with("# Objective\n- First request: "), "{digest}");
    let mut is_request = false;
    let stays = |line: &&str| {
        is_request =
            LABELS.iter().any(|label| line.starts_with(label)) || (is_request && line.starts_with("  "));
        !is_request
    };
    digest.lines().filter(stays).collect::<Vec<_>>().join("\n")
}

/// Returns path and body of every restored file, in order.
pub(crate) fn files_of(messages: &[Message]) -> Vec<(&str, &str)> {
    messages.iter().filter_map(restored_file).collect()
}

/// Builds a reply with one call and its result.
pub(crate) fn call(id: &str, tool: &str, input: serde_json::Value, output: &str) -> [Message; 2] {
    [Message::assistant_blocks(vec![Block::call(id, tool, input)]), Message::tool_result(id, tool, output)]
}

/// A text of `n_lines` numbered lines, each about 54 characters long.
pub(crate) fn lines(label: &str, n_lines: usize) -> String {
    let line = |n| format!("{label} {n:04}: the quick brown fox jumps over it all\n");
    (0..n_lines).map(line).collect::<Vec<_>>().concat()
}
