//! `wb plan`: previews a compaction, message by message.

use std::io::Write;

use anyhow::Result;

use crate::args::CompactionArgs;
use crate::session::Session;
use crate::session::config::images;
use crate::session::json::Compacted;
use crate::session::outcome::Outcome;
use crate::session::{outline, report};
use crate::terminal::shell::Shell;

/// Compacts a session in memory, and prints the report and the whole outline.
pub(crate) fn plan(shell: &Shell, args: &CompactionArgs) -> Result<()> {
    let images = images(shell, args.images)?;
    let mut session = Session::open(shell, &args.file, args.policy, args.strategy)?
        .with_images(images)
        .with_target(args.target)
        .without_redaction(args.no_redact)
        .with_recall_tool(args.recall.clone());
    let outcome = shell.timed("compacting", || Outcome::new(&mut session, None));
    if shell.is_json {
        return shell.print_json(&Compacted::new(&session, &outcome));
    }
    shell.print(|page| {
        report::summary(page, &session, &outcome)?;
        writeln!(page)?;
        outline::legend(page, outcome.digest().is_some())?;
        outline::write(page, &outcome.outline, true)
    })
}
