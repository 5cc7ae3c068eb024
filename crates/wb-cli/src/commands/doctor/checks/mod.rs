//! The checks of `wb doctor`, one file each.

pub(crate) mod last_request;
pub(crate) mod lost_record;
pub(crate) mod raw_request;
pub(crate) mod refused;
pub(crate) mod half_characters;
pub(crate) mod too_large;
pub(crate) mod compaction_loop;
pub(crate) mod untrue_summary;
pub(crate) mod unreadable_record;
pub(crate) mod large_file;
pub(crate) mod unreadable_operations;

use wb_dialect::Violation;

use super::examination::Examination;
use super::problem::Problem;

/// A check of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Check {
    /// The id of the rule that its complaints report.
    pub(crate) rule: &'static str,
    pub(crate) find: fn(&Examination<'_>) -> Vec<Problem>,
}

/// Every check, in the order of the report.
pub(crate) const CHECKS: [Check; 11] = [
    last_request::CHECK,
    lost_record::CHECK,
    refused::CHECK,
    raw_request::CHECK,
    half_characters::CHECK,
    too_large::CHECK,
    compaction_loop::CHECK,
    untrue_summary::CHECK,
    unreadable_record::CHECK,
    large_file::CHECK,
    unreadable_operations::CHECK,
];

/// The advice when no command helps.
const GO_BACK: &str = "wb cannot repair it: in the agent, rewind to before it, or start a new session";

fn place(violation: &Violation) -> String {
    violation.message.map_or_else(|| "the request".to_owned(), |at| format!("message {at}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wb_dialect::Dialect;

    use super::*;

    #[test]
    fn what_is_refused_of_the_whole_request_names_no_message() {
        let body = json!({"model": "m", "max_tokens": 1, "messages": [{"role": "assistant", "content": "I speak first."}]});
        let mut found = wb_dialect::validate(&body, Dialect::Anthropic).remove(0);
        found.message = Some(3);
        assert_eq!(place(&found), "message 3");
        found.message = None;
        assert_eq!(place(&found), "the request");
    }
}
