//! The command line of `wb replay`.

use std::path::PathBuf;

use clap::Args;
use wb_budget::Prices;

use crate::args::values::{prices, window};

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// Session files, or folders of them; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Windows that are tried, in tokens: smaller than a model's, so that a session fills them more than once
    #[arg(long, value_name = "TOKENS", value_delimiter = ',', default_values = ["32k", "64k"], value_parser = window, allow_negative_numbers = true)]
    pub(crate) window: Vec<u64>,
    /// How many messages after a place tell what was needed
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) future: u32,
    /// The most places in one segment of a session, for one window
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_cuts: u32,
    /// Prices in US dollars per million tokens, such as input=3,cached=0.3,write=3.75,output=15
    ///
    /// What is left out follows from input: cached and write cost as much, output nothing. Without prices the cost is
    /// told in tokens.
    #[arg(long, value_name = "PRICES", value_parser = prices)]
    pub(crate) price: Option<Prices>,
    /// Take the prices of a model of the catalog, those for long prompts and the life of its cache too; see `wb models`
    #[arg(long, value_name = "ID", conflicts_with = "price")]
    pub(crate) model: Option<String>,
    /// Write a page with charts to OUT, one file that needs no other; `-` is standard output
    #[arg(long, value_name = "OUT")]
    pub(crate) html: Option<PathBuf>,
    /// Write over OUT if it is there already
    #[arg(long, requires = "html")]
    pub(crate) overwrite: bool,
}
