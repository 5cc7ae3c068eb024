//! A lookup of what was said.

use serde::Serialize;
use serde_json::{Map, Value};
use wb_message::Message;
use wb_message::markers::is_from_compaction;
use wb_recall::{Question, Recall};
use wb_record::{Document, FormatError, View};

use crate::call::{Call, CallError};
use crate::input::{Input, not_read};
use crate::session::Session;

/// The answer to a question.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct LookedUp {
    /// As a tool of a model returns it.
    text: String,
    #[cfg_attr(feature = "schema", schemars(with = "Map<String, Value>"))]
    answer: wb_recall::Answer,
}

pub(crate) fn recall(call: &Call<'_>) -> Result<LookedUp, CallError> {
    let Some(question) = &call.question else {
        return Err(CallError::call(
            "recall needs a question",
            "send one as question, such as {\"query\": \"port\"}",
        ));
    };
    let session = Session::open(Input::from_call(call)?, &call.options)?;
    let recall = index(&session).map_err(|error| not_read(&error))?;
    look_up(&recall, question)
}

/// Answers a question.
pub(crate) fn look_up(
    recall: &Recall<Message>,
    question: &Map<String, Value>,
) -> Result<LookedUp, CallError> {
    let question = Question::from_arguments(&Value::Object(question.clone()));
    let question = question.map_err(|error| CallError::call(error, "name one subject"))?;
    let answer = recall.answer(&question).redacted();
    Ok(LookedUp { text: answer.to_string(), answer })
}

fn index(session: &Session) -> Result<Recall<Message>, FormatError> {
    index_document(session.input.document.as_ref(), &session.conversation, session.view.clone())
}

/// Indexes all that was said in a session, across its compactions.
pub fn index_document(
    document: &dyn Document,
    conversation: &str,
    view: View,
) -> Result<Recall<Message>, FormatError> {
    let mut recall = Recall::empty(view.vocabulary);
    if !view.is_compacted() && !view.has_asides() && !view.messages.iter().any(is_from_compaction) {
        // The model sees everything; the segments would be read once more.
        view.messages.into_iter().for_each(|message| recall.push(message));
        return Ok(recall);
    }
    drop(view);
    let mut n_visible = 0;
    for segment in wb_replay::segments(document, conversation)? {
        let segment = segment?;
        n_visible = segment.messages.len() - segment.n_synthetic();
        let mut asides = segment.asides.into_iter().peekable();
        for (at, message) in segment.messages.into_iter().enumerate() {
            while let Some(aside) = asides.next_if(|aside| aside.n_before <= at) {
                recall.push_aside(aside.words);
            }
            if at >= segment.n_seen {
                recall.push(message);
            }
        }
        asides.for_each(|aside| recall.push_aside(aside.words));
    }
    let first_visible = recall.len().saturating_sub(n_visible);
    Ok(recall.visible_from(first_visible))
}
