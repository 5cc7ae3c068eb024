//! A context that is larger than the window.

use super::Check;
use crate::commands::doctor::examination::Examination;
use crate::commands::doctor::problem::Problem;
use crate::terminal::number::grouped;

/// The check.
pub(crate) const CHECK: Check = Check { rule: "context-too-large", find };

fn find(Examination { session, remedies, .. }: &Examination<'_>) -> Vec<Problem> {
    let tokens = session.measure.context_tokens;
    if tokens <= session.window {
        return Vec::new();
    }
    let what = format!("its context has {} tokens, the window {}", grouped(tokens), grouped(session.window));
    vec![Problem::new(
        what,
        remedies.fit_window(session.window),
        remedies.compaction_advice().unwrap_or(TOO_LARGE),
    )]
}

/// The advice when the messages that stay fill the window alone.
const TOO_LARGE: &str = "no compaction makes it small enough, since the recent messages alone fill the window: in the \
     agent, rewind to before the largest one and name a file instead, or use a model with a larger window";
