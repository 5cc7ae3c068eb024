//! The report: SQL over the answers of the function.

mod queries;
mod rows;
mod prices;
mod tables;
mod text;
mod page;

use datafusion::dataframe::DataFrameWriteOptions;
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use serde::Serialize;
use serde_json::json;

use crate::error::FleetError;
use crate::report::prices::priced;
use crate::report::rows::select;
use crate::run::{Job, answers};

pub use rows::{
    BrokenRule, FindingRow, FormatRow, Heaviest, KindRow, LostRule, StrategyRow, Totals, Unreadable, Untrue,
};

/// A report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The version of this object.
    pub version: u32,
    /// The inputs.
    pub inputs: Vec<String>,
    /// The sums.
    pub totals: Totals,
    /// The tokens by kind of message.
    pub kinds: Vec<KindRow>,
    /// The tokens by format.
    pub formats: Vec<FormatRow>,
    /// The heaviest sessions.
    pub heaviest: Vec<Heaviest>,
    /// The rules of providers that sessions break.
    pub broken_rules: Vec<BrokenRule>,
    /// The tokens and the price that each strategy saves.
    pub strategies: Vec<StrategyRow>,
    /// The kinds of mistakes in summaries.
    pub findings: Vec<FindingRow>,
    /// The sessions whose summaries have most mistakes.
    pub untrue: Vec<Untrue>,
    /// The rules of users that summaries or compactions lose.
    pub lost_rules: Vec<LostRule>,
    /// The reasons why rows cannot be read.
    pub unreadable: Vec<Unreadable>,
}

impl Report {
    /// Analyzes the inputs of a job and reports on them. `price` is that of a million tokens in US
    /// dollars, for each model; the catalog's without it.
    pub async fn new(job: &Job, price: Option<f64>) -> Result<Self, FleetError> {
        let folder = tempfile::tempdir()
            .map_err(|error| FleetError::Write("the temporary folder".to_owned(), error))?;
        let context = job.context();
        let place = folder.path().join("answers").display().to_string();
        let answers = answers(&context, &with_parts(job)?).await?;
        context.register_table("analyzed", answers.into_view())?;
        let narrow = context.sql(queries::NARROW).await?;
        narrow.write_parquet(&format!("{place}/"), DataFrameWriteOptions::new(), None).await?;
        context.register_parquet("answers", &place, ParquetReadOptions::default()).await?;
        Self::from_answers(&context, job, price).await
    }

    async fn from_answers(
        context: &SessionContext,
        job: &Job,
        price: Option<f64>,
    ) -> Result<Self, FleetError> {
        let totals: Vec<Totals> = select(context, queries::TOTALS).await?;
        Ok(Self {
            version: 1,
            inputs: job.inputs.clone(),
            totals: totals.into_iter().next().unwrap_or_default(),
            kinds: select(context, queries::KINDS).await?,
            formats: select(context, queries::FORMATS).await?,
            heaviest: select(context, queries::HEAVIEST).await?,
            broken_rules: select(context, queries::BROKEN_RULES).await?,
            strategies: priced(select(context, queries::STRATEGIES).await?, price),
            findings: select(context, queries::FINDINGS).await?,
            untrue: select(context, queries::UNTRUE).await?,
            lost_rules: select(context, queries::LOST_RULES).await?,
            unreadable: select(context, queries::UNREADABLE).await?,
        })
    }

    /// Returns the report as a page of one file.
    pub fn html(&self) -> String {
        page::page(self)
    }

    /// Returns the report as tables for a terminal of some columns.
    pub fn text(&self, columns: u16) -> String {
        text::text(self, columns)
    }
}

/// Asks for the parts that the queries read.
fn with_parts(job: &Job) -> Result<Job, FleetError> {
    let text = if job.options.trim().is_empty() { "{}" } else { &job.options };
    let mut options: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text)?;
    options.insert("parts".to_owned(), json!(["weigh", "validate", "facts", "audit", "compare"]));
    let options = serde_json::to_string(&options)?;
    Ok(Job { options, ..job.clone() })
}
