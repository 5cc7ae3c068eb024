//! A file that is too large for most agents.

use super::Check;
use crate::commands::doctor::complaint::Complaint;
use crate::commands::doctor::examination::Examination;

/// Most agents read larger files whole, slowly or not at all.
const LARGE_BYTES: u64 = 200 << 20;

/// The check.
pub(crate) const CHECK: Check = Check { rule: "large-file", find };

fn find(case: &Examination<'_>) -> Vec<Complaint> {
    let n_bytes = case.path.metadata().map_or(0, |file| file.len());
    let what = format!("its file has {} MB, which most agents read whole", n_bytes >> 20);
    (n_bytes > LARGE_BYTES).then(|| Complaint::new(what, None, HEAVY)).into_iter().collect()
}

const HEAVY: &str = "a compaction leaves what it folds in the file of most agents: begin a new session, for which `wb convert \
     FILE --to AGENT` writes what the model still sees";
