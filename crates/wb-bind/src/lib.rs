//! One function in JSON: [`call()`] weighs, compacts, checks, repairs, converts and looks up a
//! session or request of any format. It is what the packages for Python and JavaScript and the
//! command `wb api` call.
//!
//! ```
//! let call = r#"{"operation": "weigh", "format": "openai-chat",
//!                "messages": [{"role": "user", "content": "Hello."}]}"#;
//! let answer: serde_json::Value = serde_json::from_str(&wb_bind::call(call))?;
//! assert_eq!(answer["result"]["messages"], 1);
//! # Ok::<(), serde_json::Error>(())
//! ```

mod strategy;
mod known_window;
mod measure;
mod validity;
mod conversion_losses;
mod conversion;
mod compaction_progress;
mod caller_model;
mod call;
mod input;
mod session;
mod operations;
mod context;
#[cfg(feature = "schema")]
mod schema;

use serde::Serialize;

pub use call::{Call, CallError, ErrorKind, Operation, Options, VERSION};
pub use caller_model::{ModelReply, ModelRequest, SummarizerOptions};
pub use compaction_progress::{OnProgress, Progress};
pub use context::{Compaction, Context};
pub use conversion::{Conversion, ConversionError, NewPlace, Target, convert_document};
pub use known_window::{KnownWindow, WindowFrom};
pub use measure::{Measure, Size, card_of, follow_from, kind, tracker_of};
pub use operations::compact::Compacted;
pub use operations::compaction_report::Report;
pub use operations::facts::FactList;
pub use operations::inspection::Inspection;
pub use operations::provider_rules::Validated;
pub use operations::recall::index_document;
pub use operations::weigh::Weighed;
#[cfg(feature = "schema")]
pub use schema::schema;
pub use session::whole_facts;
pub use strategy::Strategy;
pub use validity::Validity;

use call::Answer;

/// Carries out a call and returns the answer, both as JSON.
pub fn call(text: &str) -> String {
    call_with_progress(text, &mut |_| {})
}

/// Carries out a call as [`call()`] does, and reports the stages of a compaction.
pub fn call_with_progress(text: &str, on_progress: OnProgress<'_>) -> String {
    match Call::parse(text) {
        Ok(call) => match call.operation {
            Operation::Weigh => json(operations::weigh::weigh(&call)),
            Operation::Compact => json(operations::compact::compact(&call, on_progress)),
            Operation::Facts => json(operations::facts::facts(&call)),
            Operation::Audit => json(operations::facts::check_summary(&call)),
            Operation::Validate => json(operations::provider_rules::validate(&call)),
            Operation::Repair => json(operations::provider_rules::repair(&call)),
            Operation::Convert => json(operations::convert::convert(&call)),
            Operation::Recall => json(operations::recall::recall(&call)),
        },
        Err(error) => json::<()>(Err(error)),
    }
}

fn json<T: Serialize>(result: Result<T, CallError>) -> String {
    // Maps have text as keys, and numbers are finite.
    serde_json::to_string(&Answer::from(result)).unwrap_or_default()
}

/// Returns whether an answer reports an error.
pub fn is_error(answer: &str) -> bool {
    answer.starts_with(&format!("{{\"version\":{VERSION},\"error\""))
}
