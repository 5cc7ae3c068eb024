//! The command line of `wb replay`.

use std::path::PathBuf;

use clap::Args;
use wb_budget::Prices;

use crate::args::values::{prices, window};

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// Session files or folders; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Windows to try, in tokens; small ones fill up repeatedly
    #[arg(long, value_name = "TOKENS", value_delimiter = ',', default_values = ["32k", "64k"], value_parser = window, allow_negative_numbers = true)]
    pub(crate) window: Vec<u64>,
    /// Number of messages after a cut that show what was needed
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) future: u32,
    /// Maximum number of cuts per segment and window
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_cuts: u32,
    /// Prices, such as input=3,cached=0.3,write=3.75,output=15
    ///
    /// In US dollars per million tokens. By default, cached and write cost as much as input, and
    /// output is free. Without prices the cost is in tokens.
    #[arg(long, value_name = "PRICES", value_parser = prices)]
    pub(crate) price: Option<Prices>,
    /// Use the prices and cache lifetime of a model in `wb models`
    #[arg(long, value_name = "ID", conflicts_with = "price")]
    pub(crate) model: Option<String>,
    /// Write a self-contained page with charts to OUT; `-` is standard output
    #[arg(long, value_name = "OUT")]
    pub(crate) html: Option<PathBuf>,
    /// Overwrite OUT if it exists
    #[arg(long, requires = "html")]
    pub(crate) overwrite: bool,
}
