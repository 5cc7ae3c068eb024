//! The background compaction: its state, and the effect of its events on thread and state.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config::{CompactionConfig, CompactionExecutionMode};
use super::estimate::total_tokens;
use super::message::ThreadMessage;
use super::plan::{CompactionPlan, plan_compaction};
use super::settings::ContextWindowPolicy;
use super::summary::{apply_summary, savings_ratio_ppm};

/// A compaction that waits for its summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionInFlight {
    /// The task that writes the summary.
    pub task_id: String,
    /// The id of the last summarized message.
    pub boundary_message_id: String,
    /// The start in milliseconds since the Unix epoch; nothing reads it.
    pub started_at_ms: u64,
}

/// A summary that replaced older messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionBoundary {
    /// The text.
    pub summary: String,
    /// The task that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The id of the last replaced message.
    pub boundary_message_id: String,
    /// The weight of the replaced messages in tokens: measured or from the event, whichever is
    /// larger.
    pub pre_tokens: u64,
    /// The weight of the summary in tokens.
    pub post_tokens: u64,
    /// The time of the swap in milliseconds since the Unix epoch.
    pub timestamp_ms: u64,
}

/// A compaction that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionFailure {
    /// The task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The id of the last message to summarize.
    pub boundary_message_id: String,
    /// The error.
    pub error: String,
    /// The time of the event in milliseconds since the Unix epoch.
    pub timestamp_ms: u64,
}

/// A summary that was skipped because it saves too little.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionSkipped {
    /// The task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The id of the last summarized message.
    pub boundary_message_id: String,
    /// The reason.
    pub reason: String,
    /// The weight of the summarized messages in tokens.
    pub pre_tokens: u64,
    /// The weight of the summary in tokens.
    pub post_tokens: u64,
    /// The saving in millionths of `pre_tokens`.
    pub savings_ratio_ppm: u64,
    /// The required saving in millionths.
    pub min_savings_ratio_ppm: u64,
    /// The time of the event in milliseconds since the Unix epoch.
    pub timestamp_ms: u64,
}

/// The record of a run's compactions.
///
/// Fault: the lists are unbounded, a compaction in flight never expires, failures cause no pause,
/// and a new run starts empty. Use `AgentContext` of `wb-conductor`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompactionState {
    /// The summaries that were swapped in.
    pub boundaries: Vec<CompactionBoundary>,
    /// The compactions that failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<CompactionFailure>,
    /// The skipped summaries.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<CompactionSkipped>,
    /// The number of summaries that were swapped in.
    pub total_compactions: u64,
    /// The compaction that waits for its summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<CompactionInFlight>,
}

impl CompactionState {
    /// Returns whether a compaction is in flight.
    pub fn is_compacting(&self) -> bool {
        self.in_flight.is_some()
    }
}

/// Starts a compaction if one is due: records it in the state and returns the plan for the host's
/// task.
///
/// A compaction is due if the mode is not off, none is in flight, the messages weigh at least the
/// policy's threshold, and [`plan_compaction`] has a plan. The task ends with an event for
/// [`try_consume_compaction_event`].
///
/// Fault: the document says "exceeds", but an equal weight suffices; system prompt and schemas are
/// not weighed; the saving is checked only after the request was paid. Use `AgentContext` of
/// `wb-conductor`.
///
/// # Panics
/// Panics if [`plan_compaction`] does.
#[track_caller]
pub fn maybe_spawn_compaction(
    messages: &[ThreadMessage],
    policy: &ContextWindowPolicy,
    config: &CompactionConfig,
    state: &mut CompactionState,
    task_id: impl Into<String>,
    now_ms: u64,
) -> Option<CompactionPlan> {
    let threshold = policy.autocompact_threshold?;
    let is_off = config.execution_mode == CompactionExecutionMode::Off;
    if is_off || state.is_compacting() || total_tokens(messages) < threshold {
        return None;
    }
    let plan = plan_compaction(messages, policy)?;
    state.in_flight = Some(CompactionInFlight {
        task_id: task_id.into(),
        boundary_message_id: plan.boundary_message_id.clone(),
        started_at_ms: now_ms,
    });
    Some(plan)
}

/// An event of the host's inbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompactionEvent {
    /// The kind; events of compactions are `custom`.
    pub kind: String,
    /// The task; the payload may name it instead.
    pub task_id: Option<String>,
    /// `compaction.started`, `context.compacted`, `context.compaction_failed` or
    /// `compaction.skipped`.
    pub event_type: String,
    /// `boundary_message_id`, `summary`, `pre_tokens`, `post_tokens`, `error`, `reason`,
    /// `min_savings_ratio`.
    pub payload: Value,
}

impl CompactionEvent {
    fn text(&self, key: &str) -> Option<&str> {
        self.payload[key].as_str()
    }

    fn count(&self, key: &str) -> u64 {
        self.payload[key].as_u64().unwrap_or(0)
    }

    /// Returns whether the event names the task of a compaction, and its boundary if any.
    fn matches(&self, in_flight: &CompactionInFlight) -> bool {
        let task = self.task_id.as_deref().or_else(|| self.text("task_id"));
        let boundary = self.text("boundary_message_id");
        task == Some(&in_flight.task_id)
            && boundary.is_none_or(|boundary| boundary == in_flight.boundary_message_id)
    }
}

/// Handles an event of a compaction; returns whether it was one.
///
/// A summary is swapped in if its boundary is still there; failures and skipped summaries are
/// recorded. Each ends the compaction in flight. An event of another compaction is consumed without
/// effect. The summary's message gets the id `summary_id`.
///
/// Fault: a cancelled or panicking task sends no event, so its compaction stays in flight for ever;
/// a summary whose boundary is missing leaves no record. Use `AgentContext` of `wb-conductor`.
pub fn try_consume_compaction_event(
    event: &CompactionEvent,
    messages: &mut Vec<ThreadMessage>,
    state: &mut CompactionState,
    summary_id: impl Into<String>,
    now_ms: u64,
) -> bool {
    type Ending = fn(&mut CompactionState, &CompactionEvent, &CompactionInFlight, u64);
    let record: Option<Ending> = match (event.kind.as_str(), event.event_type.as_str()) {
        ("custom", "compaction.started") => return true,
        ("custom", "context.compacted") => None,
        ("custom", "context.compaction_failed") => Some(CompactionState::record_failure),
        ("custom", "compaction.skipped") => Some(CompactionState::record_skipped),
        _ => return false,
    };
    let Some(ended) = state.in_flight.take_if(|in_flight| event.matches(in_flight)) else { return true };
    match record {
        Some(record) => record(state, event, &ended, now_ms),
        None => state.complete(event, &ended, messages, summary_id.into(), now_ms),
    }
    true
}

impl CompactionState {
    fn complete(
        &mut self,
        event: &CompactionEvent,
        ended: &CompactionInFlight,
        messages: &mut Vec<ThreadMessage>,
        summary_id: String,
        now_ms: u64,
    ) {
        let named = |key| event.text(key).filter(|text| !text.is_empty());
        let (Some(boundary), Some(summary)) = (named("boundary_message_id"), named("summary")) else {
            return;
        };
        let Some(applied) = apply_summary(messages, boundary, summary, summary_id) else { return };
        self.total_compactions += 1;
        self.boundaries.push(CompactionBoundary {
            summary: summary.to_owned(),
            task_id: Some(ended.task_id.clone()),
            boundary_message_id: boundary.to_owned(),
            pre_tokens: event.count("pre_tokens").max(applied.pre_tokens as u64),
            post_tokens: applied.post_tokens as u64,
            timestamp_ms: now_ms,
        });
    }

    fn record_failure(&mut self, event: &CompactionEvent, ended: &CompactionInFlight, now_ms: u64) {
        self.failures.push(CompactionFailure {
            task_id: Some(ended.task_id.clone()),
            boundary_message_id: ended.boundary_message_id.clone(),
            error: event.text("error").unwrap_or_default().to_owned(),
            timestamp_ms: now_ms,
        });
    }

    fn record_skipped(&mut self, event: &CompactionEvent, ended: &CompactionInFlight, now_ms: u64) {
        let (pre_tokens, post_tokens) = (event.count("pre_tokens"), event.count("post_tokens"));
        let config = CompactionConfig {
            min_savings_ratio: event.payload["min_savings_ratio"].as_f64().unwrap_or(0.0),
            ..CompactionConfig::default()
        };
        self.skipped.push(CompactionSkipped {
            task_id: Some(ended.task_id.clone()),
            boundary_message_id: ended.boundary_message_id.clone(),
            reason: event.text("reason").unwrap_or_default().to_owned(),
            pre_tokens,
            post_tokens,
            savings_ratio_ppm: savings_ratio_ppm(pre_tokens, post_tokens),
            min_savings_ratio_ppm: config.min_savings_ratio_ppm(),
            timestamp_ms: now_ms,
        });
    }
}
