//! `wb view`.

use std::path::{Path, PathBuf};

use clap::Args;
use wb_bind::Strategy;

use crate::args::model::ModelArgs;
use crate::args::write_to::WriteTo;
use crate::args::{Compact, CompactionArgs, Policy, Undo};

/// The session to look at, and where.
#[derive(Clone, Debug, Args)]
pub(crate) struct ViewArgs {
    /// Session file, id or project folder [default: this folder's newest]
    #[arg(value_name = "SESSION")]
    pub(crate) session: Option<String>,
    /// Write a page of one file to OUT; `-` is standard output
    #[arg(long, value_name = "OUT")]
    pub(crate) html: Option<PathBuf>,
    /// Overwrite OUT if it exists
    #[arg(long, requires = "html")]
    pub(crate) overwrite: bool,
    /// Let keys write even if another program uses the session
    #[arg(long, conflicts_with = "html")]
    pub(crate) allow_open: bool,
    /// Show passwords, keys and tokens
    #[arg(long)]
    pub(crate) no_redact: bool,
    #[command(flatten)]
    pub(crate) policy: Policy,
}

impl ViewArgs {
    /// Returns the compaction that is previewed and that a key applies.
    pub(crate) fn compaction(&self, file: &Path, force: bool) -> CompactionArgs {
        CompactionArgs {
            file: file.to_owned(),
            strategy: Strategy::default(),
            images: None,
            target: None,
            digest: false,
            outline: false,
            recall: None,
            no_redact: self.no_redact,
            policy: Policy { force, ..self.policy },
        }
    }

    /// Returns the compaction in place.
    pub(crate) fn compact(&self, file: &Path, force: bool) -> Compact {
        let allow_open = self.allow_open;
        let write = WriteTo { out: None, overwrite: false, in_place: true, allow_open, dry_run: false };
        Compact { write, compaction: self.compaction(file, force), model: ModelArgs::default() }
    }

    /// Returns the undo of the last operation.
    pub(crate) fn undo(&self, file: &Path) -> Undo {
        Undo { file: file.to_owned(), operation: None, allow_open: self.allow_open, dry_run: false }
    }
}
