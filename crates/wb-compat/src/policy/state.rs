//! A compaction in the background: what is in flight, and what its events do to thread and state.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config::{CompactionConfig, CompactionExecutionMode};
use super::estimate::total_tokens;
use super::message::ThreadMessage;
use super::plan::{CompactionPlan, plan_compaction};
use super::settings::ContextWindowPolicy;
use super::summary::{apply_summary, savings_ratio_ppm};

/// A compaction whose summary is being made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionInFlight {
    /// The task that makes it.
    pub task_id: String,
    /// The id of the last message that it summarizes.
    pub boundary_message_id: String,
    /// When it was started, in milliseconds since the Unix epoch; nothing reads it.
    pub started_at_ms: u64,
}

/// A summary that took the place of older messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionBoundary {
    /// What it says.
    pub summary: String,
    /// The task that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The id of the last message that went.
    pub boundary_message_id: String,
    /// What went, in tokens: the larger of what was there and what the event told.
    pub pre_tokens: u64,
    /// What the summary weighs, in tokens.
    pub post_tokens: u64,
    /// When it was applied, in milliseconds since the Unix epoch.
    pub timestamp_ms: u64,
}

/// A compaction that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionFailure {
    /// The task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The id of the last message that it would have summarized.
    pub boundary_message_id: String,
    /// Why.
    pub error: String,
    /// When it was noticed, in milliseconds since the Unix epoch.
    pub timestamp_ms: u64,
}

/// A summary that was left out because it saves too little.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionSkipped {
    /// The task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The id of the last message that it summarizes.
    pub boundary_message_id: String,
    /// Why.
    pub reason: String,
    /// What would have gone, in tokens.
    pub pre_tokens: u64,
    /// What the summary weighs, in tokens.
    pub post_tokens: u64,
    /// What it saves, in millionths of `pre_tokens`.
    pub savings_ratio_ppm: u64,
    /// What it had to save, in millionths.
    pub min_savings_ratio_ppm: u64,
    /// When it was noticed, in milliseconds since the Unix epoch.
    pub timestamp_ms: u64,
}

/// What a run remembers of its compactions.
///
/// Fault: the lists are unbounded, a compaction in flight never expires, failures make no pause, and a new run forgets
/// all of it. Use `CompactionState` of `wb-conductor`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompactionState {
    /// The summaries that were swapped in.
    pub boundaries: Vec<CompactionBoundary>,
    /// The compactions that failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<CompactionFailure>,
    /// The summaries that were left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<CompactionSkipped>,
    /// How many summaries were swapped in.
    pub total_compactions: u64,
    /// The compaction whose summary is being made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<CompactionInFlight>,
}

impl CompactionState {
    /// Tells if a summary is being made.
    pub fn is_compacting(&self) -> bool {
        self.in_flight.is_some()
    }
}

/// Starts a compaction if one is due: notes it in the state and returns what the host's task has to summarize.
///
/// It is due if the mode is not off, none is in flight, the messages weigh the policy's threshold or more, and
/// [`plan_compaction`] has a plan. The task ends in an event for [`try_consume_compaction_event`].
///
/// Fault: the document says "exceeds" and equal is enough; system prompt and schemas are not weighed; the saving is
/// looked at only after the request was paid. Use `BackgroundCompaction` of `wb-conductor`.
///
/// # Panics
/// Panics where [`plan_compaction`] does.
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
    /// What kind of event; those of compactions are `custom`.
    pub kind: String,
    /// The task that it is about; the payload may name it too.
    pub task_id: Option<String>,
    /// `compaction.started`, `context.compacted`, `context.compaction_failed` or `compaction.skipped`.
    pub event_type: String,
    /// `boundary_message_id`, `summary`, `pre_tokens`, `post_tokens`, `error`, `reason`, `min_savings_ratio`.
    pub payload: Value,
}

impl CompactionEvent {
    fn text(&self, key: &str) -> Option<&str> {
        self.payload[key].as_str()
    }

    fn count(&self, key: &str) -> u64 {
        self.payload[key].as_u64().unwrap_or(0)
    }

    /// Tells if the event is of that compaction: its task, and its boundary if it names one.
    fn is_of(&self, in_flight: &CompactionInFlight) -> bool {
        let task = self.task_id.as_deref().or_else(|| self.text("task_id"));
        let boundary = self.text("boundary_message_id");
        task == Some(&in_flight.task_id)
            && boundary.is_none_or(|boundary| boundary == in_flight.boundary_message_id)
    }
}

/// Claims an event of a compaction and does what it says; tells if it was one.
///
/// A summary is swapped in if its boundary is still there; failures and summaries that save too little are recorded.
/// Either ends what is in flight. An event of another compaction is claimed and changes nothing. The summary's message
/// gets the id `summary_id`.
///
/// Fault: a cancelled or panicking task tells nothing, so that its compaction stays in flight for ever; a summary whose
/// boundary is gone leaves no record. Use `BackgroundCompaction` of `wb-conductor`.
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
    let Some(ended) = state.in_flight.take_if(|in_flight| event.is_of(in_flight)) else { return true };
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
