//! The facts of messages, and what they say about a summary.

use serde::Serialize;
use serde_json::{Value, json};
use wb_facts::{Constraint, Facts, Failure, FileFact, Finding, Noted, Turn, audit};

use crate::call::{Call, CallError};
use crate::input::Input;
use crate::session::Session;

/// The facts of the messages.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FactList {
    messages: u32,
    partial: bool,
    requests: Vec<Value>,
    constraints: Vec<Value>,
    tasks: Vec<Value>,
    files: Vec<Value>,
    failures: Vec<Value>,
    decided: Vec<Value>,
    git: Vec<Value>,
}

pub(crate) fn facts(call: &Call<'_>) -> Result<FactList, CallError> {
    let session = Session::open(Input::from_call(call)?, &call.options)?;
    Ok(FactList::new(&session.facts(Facts::without_words)))
}

impl FactList {
    pub(crate) fn new(facts: &Facts) -> Self {
        let noted = |it: &Noted| json!({ "text": it.text, "message": it.at });
        let request = |turn: &Turn| json!({ "turn": turn.number, "message": turn.start, "text": turn.asked, "reply": turn.said });
        let constraint = |it: &Constraint| json!({ "text": it.text, "message": it.at, "forbids": it.forbids, "updated": it.is_updated });
        let file = |it: &FileFact| {
            let changed_at = it.change.as_ref().map(|_| it.changed_at);
            json!({ "path": it.path, "change": it.change, "changed_at": changed_at, "read_at": it.read_at })
        };
        let failure = |it: &Failure| json!({ "what": it.what, "lines": it.lines, "message": it.at });
        Self {
            messages: facts.n_messages(),
            partial: facts.is_partial(),
            requests: facts.turns().iter().filter(|turn| !turn.asked.is_empty()).map(request).collect(),
            constraints: facts.constraints().map(constraint).collect(),
            tasks: facts
                .tasks()
                .all()
                .iter()
                .map(|task| json!({ "text": task.text, "state": task.state }))
                .collect(),
            files: facts.files().newest().map(file).collect(),
            failures: facts.failures().newest().map(failure).collect(),
            decided: facts.decided().iter().map(noted).collect(),
            git: facts.git().iter().map(noted).collect(),
        }
    }
}

pub(crate) fn check_summary(call: &Call<'_>) -> Result<Vec<Finding>, CallError> {
    let Some(summary) = &call.summary else {
        return Err(CallError::call("audit needs a summary", "send it as summary"));
    };
    let session = Session::open(Input::from_call(call)?, &call.options)?;
    Ok(audit(summary, &session.facts(Facts::default)))
}
