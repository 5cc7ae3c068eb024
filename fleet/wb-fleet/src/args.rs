//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use serde_json::{Map, Value, json};

/// Report on sessions of agents in Parquet or JSON lines
#[derive(Debug, Parser)]
#[command(name = "wb fleet", bin_name = "wb fleet", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show where tokens go, what is refused, untrue or lost
    Report(ReportArgs),
    /// Write a row for each session as Parquet
    Map(MapArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a page of one file
    #[arg(long, value_name = "OUT")]
    pub(crate) html: Option<PathBuf>,
    /// US dollars for a million tokens of input, for every model
    #[arg(long, value_name = "DOLLARS")]
    pub(crate) price: Option<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct MapArgs {
    #[command(flatten)]
    pub(crate) input: Input,
    /// Write the Parquet files into this new folder
    #[arg(long, short, value_name = "FOLDER")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Input {
    /// Parquet or JSON lines: files, folders, `s3://BUCKET/PREFIX`
    #[arg(required = true, value_name = "INPUT")]
    pub(crate) inputs: Vec<String>,
    /// Read messages from this column, if not `messages`
    #[arg(long, value_name = "COLUMN")]
    messages: Option<String>,
    /// Read ids from this column, if not `id`
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,
    /// Read summaries from this column, if not `summary`
    #[arg(long, value_name = "COLUMN")]
    summary: Option<String>,
    /// Take this model for every session
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Take this context window, in tokens
    #[arg(long, value_name = "TOKENS")]
    window: Option<u64>,
    /// Compact sessions within their limit, too
    #[arg(long)]
    force: bool,
    /// Pass options in JSON, as docs/reference/arrow.md lists them
    #[arg(long, value_name = "JSON", default_value = "{}")]
    options: String,
    /// Analyze this many partitions at once, if not one for each core
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) partitions: usize,
    /// Overwrite a file that exists
    #[arg(long)]
    pub(crate) overwrite: bool,
}

impl Input {
    /// Returns the options in JSON, with those that have a separate flag.
    pub(crate) fn options(&self) -> Result<String, serde_json::Error> {
        let mut options: Map<String, Value> = serde_json::from_str(&self.options)?;
        let calls = [
            ("model", self.model.as_ref().map(|model| json!(model))),
            ("window", self.window.map(|window| json!(window))),
            ("force", self.force.then(|| json!(true))),
        ];
        let columns = [("messages", &self.messages), ("id", &self.id), ("summary", &self.summary)];
        let columns = columns.map(|(name, column)| (name, column.as_ref().map(|column| json!(column))));
        add(&mut options, "options", calls);
        add(&mut options, "columns", columns);
        serde_json::to_string(&options)
    }
}

fn add<const N: usize>(options: &mut Map<String, Value>, key: &str, values: [(&str, Option<Value>); N]) {
    let values: Vec<_> = values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    if values.is_empty() {
        return;
    }
    let group = options.entry(key).or_insert_with(|| json!({}));
    if let Some(group) = group.as_object_mut() {
        group.extend(values.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
}
