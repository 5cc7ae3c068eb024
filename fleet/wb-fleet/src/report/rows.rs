//! The rows of queries.

use arrow_json::ArrayWriter;
use datafusion::prelude::SessionContext;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::FleetError;

/// The sums over all sessions.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default)]
pub struct Totals {
    /// The rows.
    pub sessions: u64,
    /// The rows that could be read.
    pub read: u64,
    /// Their messages.
    pub messages: u64,
    /// Their tokens.
    pub tokens: u64,
    /// The sessions above the limit at which a compaction is due.
    pub over_limit: u64,
    /// The sessions above their window.
    pub over_window: u64,
    /// The sessions that break a rule of their provider.
    pub invalid: u64,
    /// The sessions that a provider refuses, for either reason.
    pub refused: u64,
    /// The summaries that were checked.
    pub summaries: u64,
    /// Those with a mistake.
    pub untrue: u64,
}

/// The tokens of a kind of message.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct KindRow {
    /// The kind.
    pub kind: String,
    /// The tokens.
    pub tokens: u64,
}

/// The tokens of a format.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct FormatRow {
    /// The format.
    pub format: String,
    /// The sessions.
    pub sessions: u64,
    /// Their messages.
    pub messages: u64,
    /// Their tokens.
    pub tokens: u64,
    /// The tokens of the heaviest.
    pub most: u64,
    /// Those above their limit.
    pub over_limit: u64,
}

/// A heavy session.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Heaviest {
    /// The id of the row.
    #[serde(default)]
    pub id: Option<String>,
    /// The format.
    pub format: String,
    /// The messages.
    pub messages: u64,
    /// The tokens.
    pub tokens: u64,
    /// The window.
    pub window: u64,
}

/// A rule of a provider that sessions break.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct BrokenRule {
    /// The provider's protocol.
    pub dialect: String,
    /// The rule.
    pub rule: String,
    /// The sessions that break it.
    pub sessions: u64,
}

/// The figures of a strategy for the sessions of a model.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct StrategyRow {
    /// The strategy.
    pub strategy: String,
    /// The model, if the sessions name one.
    #[serde(default)]
    pub model: Option<String>,
    /// The sessions.
    pub sessions: u64,
    /// Those that it changed.
    pub compacted: u64,
    /// The tokens of those before.
    pub tokens_before: u64,
    /// The tokens of those after.
    pub tokens_after: u64,
    /// Those whose result it refuses to write.
    pub refused: u64,
    /// US dollars for a million tokens of input; none if the price is unknown.
    #[serde(default)]
    pub price: Option<f64>,
    /// The US dollars saved each time that these sessions are sent once.
    #[serde(default)]
    pub saved: Option<f64>,
}

/// A kind of mistake.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct FindingRow {
    /// The kind.
    pub kind: String,
    /// The number of them.
    pub findings: u64,
    /// One of them: what the summary says, and why it is wrong.
    #[serde(default)]
    pub example: Option<String>,
}

/// A session whose summaries have mistakes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Untrue {
    /// The id of the row.
    #[serde(default)]
    pub id: Option<String>,
    /// The format.
    pub format: String,
    /// The summaries with a mistake.
    pub summaries: u64,
    /// The number of mistakes.
    pub findings: u64,
}

/// A rule of users that gets lost.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct LostRule {
    /// The strategy that loses it, or `summary`.
    pub lost_by: String,
    /// The rule.
    pub rule: String,
    /// The sessions in which it is lost.
    pub sessions: u64,
    /// The losses of all rules by the same.
    pub all_sessions: u64,
}

/// A reason why rows cannot be read.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Unreadable {
    /// The part of the analysis that failed.
    pub part: String,
    /// The kind of the mistake.
    pub kind: String,
    /// The rows.
    pub sessions: u64,
    /// One of the messages.
    pub example: String,
    /// The id of one of the rows.
    #[serde(default)]
    pub id: Option<String>,
}

/// Returns the rows of a query.
pub(crate) async fn select<T: DeserializeOwned>(
    context: &SessionContext,
    sql: &str,
) -> Result<Vec<T>, FleetError> {
    let batches = context.sql(sql).await?.collect().await?;
    if batches.iter().all(|batch| batch.num_rows() == 0) {
        return Ok(Vec::new());
    }
    let mut writer = ArrayWriter::new(Vec::new());
    writer
        .write_batches(&batches.iter().collect::<Vec<_>>())
        .map_err(datafusion::error::DataFusionError::from)?;
    writer.finish().map_err(datafusion::error::DataFusionError::from)?;
    Ok(serde_json::from_slice(&writer.into_inner())?)
}
