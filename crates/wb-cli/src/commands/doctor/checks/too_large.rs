//! A context that is larger than the window.

use super::Check;
use crate::commands::doctor::examination::Examination;
use crate::commands::doctor::problem::Problem;
use crate::session::Session;
use crate::terminal::number::grouped;

/// The check.
pub(crate) const CHECK: Check = Check { rule: "context-too-large", find };

fn find(Examination { session, remedies, .. }: &Examination<'_>) -> Vec<Problem> {
    let tokens = session.measure.context_tokens;
    // A guess is no finding.
    if tokens <= session.window || session.window_from.is_guess() {
        return Vec::new();
    }
    let what = format!("its context has {} tokens, the window {}", grouped(tokens), grouped(session.window));
    vec![Problem::new(
        what,
        remedies.fit_window(session.window),
        remedies.compaction_advice().unwrap_or(TOO_LARGE),
    )]
}

/// Notes a context that is larger than an assumed window.
pub(crate) fn assumed_window(session: &Session) -> Option<String> {
    let tokens = session.measure.context_tokens;
    let is_above = tokens > session.window && session.window_from.is_guess();
    let (tokens, window) = (grouped(tokens), grouped(session.window));
    is_above.then(|| {
        format!("the context has {tokens} tokens; a window of {window} is assumed, set it with --window")
    })
}

/// The advice when the messages that stay fill the window alone.
const TOO_LARGE: &str = "no compaction makes it small enough, since the recent messages alone fill the window: in the \
     agent, rewind to before the largest one and name a file instead, or use a model with a larger window";
