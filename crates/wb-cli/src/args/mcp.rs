//! `wb mcp`.

use std::path::PathBuf;

use clap::Args;

use crate::hosts::Host;

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// The agent whose sessions to read [default: any]
    #[arg(long, value_parser = Host::parser(), value_name = "HOST")]
    pub(crate) host: Option<&'static Host>,
    /// The folder of the project [default: the working one]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) project: Option<PathBuf>,
}
