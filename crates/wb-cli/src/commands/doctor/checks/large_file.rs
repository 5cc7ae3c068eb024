//! A file that is too large for most agents.

use super::Check;
use crate::commands::doctor::examination::Examination;
use crate::commands::doctor::problem::Problem;

/// Most agents read larger files whole, slowly or not at all.
const LARGE_BYTES: u64 = 200 << 20;

/// The check.
pub(crate) const CHECK: Check = Check { rule: "large-file", find };

fn find(case: &Examination<'_>) -> Vec<Problem> {
    let n_bytes = case.path.metadata().map_or(0, |file| file.len());
    let what = format!("its file has {} MB, and most agents read it whole", n_bytes >> 20);
    (n_bytes > LARGE_BYTES).then(|| Problem::new(what, None, HEAVY)).into_iter().collect()
}

const HEAVY: &str = "most agents keep compacted messages in the file: start a new session from what the model sees, with `wb convert \
     FILE --to AGENT`";
