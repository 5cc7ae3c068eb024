//! The operations of a call.

pub(crate) mod weigh;
pub(crate) mod compaction_report;
pub(crate) mod compact;
pub(crate) mod facts;
pub(crate) mod provider_rules;
pub(crate) mod convert;
pub(crate) mod recall;
pub(crate) mod inspection;

use wb_record::{NotExpressible, Stamp};

use crate::call::{CallError, ErrorKind, Options};
use crate::session::Session;

fn notes(session: &Session) -> Vec<String> {
    session.view.notes.iter().map(ToString::to_string).chain(session.measure.refusal()).collect()
}

fn stamp(options: &Options) -> Stamp {
    Stamp { now_ms: options.now_ms, seed: options.seed, by_hand: true, ..Stamp::default() }
}

fn not_expressible(error: &NotExpressible) -> CallError {
    CallError::new(ErrorKind::NotExpressible, error, error.hint())
}

fn no_object(error: serde_json::Error) -> CallError {
    CallError::new(ErrorKind::Input, error, "send a JSON object")
}
