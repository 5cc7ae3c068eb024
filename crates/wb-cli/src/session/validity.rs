//! The messages of commands on sessions that a provider would refuse.

use std::path::Path;

pub(crate) use wb_bind::Validity;
use wb_formats::{SentAs, View};

use crate::terminal::escape::file_word;
use crate::terminal::user_error::UserError;

/// Refuses what providers would refuse here and would not have refused before.
pub(crate) fn refuse_new(
    after: &Validity,
    file: &str,
    before: impl FnOnce() -> Result<Validity, UserError>,
    hint: &str,
) -> Result<(), UserError> {
    if after.is_valid() {
        return Ok(());
    }
    let before = before()?;
    let new = after.new_since(&before);
    let Some(first) = new.first() else { return Ok(()) };
    let what = format!("the provider would reject the result: {first}");
    let hint = match before.violations().first() {
        Some(_) => {
            let file = file_word(Path::new(file));
            format!("nothing was written; the session already has problems, see: wb doctor {file}")
        }
        None => format!("nothing was written; please report this{hint}"),
    };
    Err(UserError::of_file(file, what, hint))
}

/// Reports the number of calls without a result that the session's agent answers itself.
pub(crate) fn answered_by_agent(view: &View, sent: &SentAs<'_>) -> Option<String> {
    let n = sent.n_answered(&view.messages);
    let format = view.format;
    (n > 0).then(|| format!("tool calls without a result, answered by {format} when it resumes: {n}"))
}

/// Explains why a write, real or planned, is discarded.
pub(crate) fn otherwise(file: &str, what_now: &str) -> UserError {
    let hint = format!("{what_now}; please report this with the version of the agent");
    UserError::of_file(file, "what was written read otherwise than planned", hint)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wb_message::{Block, Message};

    use super::*;

    fn with_call(id: &str) -> Validity {
        let call = Block::call(id, "ls", json!({}));
        let messages =
            [Message::user("Look."), Message::assistant_blocks(vec![call]), Message::user("Well?")];
        Validity::new(&messages, &SentAs::from_format("copilot-cli", None))
    }

    #[test]
    fn an_invalid_session_is_to_be_repaired_first() {
        let none = || Validity::new(&[], &SentAs::from_format("copilot-cli", None));
        let refusal = |before: Validity| {
            format!("{:?}", refuse_new(&with_call("c1"), "s.jsonl", || Ok(before), "").unwrap_err())
        };
        assert!(refusal(with_call("c2")).contains("wb doctor s.jsonl"));
        assert!(refusal(none()).contains("please report this"));
    }
}
