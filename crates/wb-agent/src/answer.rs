//! One request and its answer.

use futures::StreamExt;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use wb_conductor::ReplyDraft;
use wb_invoke::{Emission, InvokeError, ModelInvoker, Reply, StopReason, StreamOptions};
use wb_message::{Block, Conversation, Message};
use wb_session::Request;

/// The outcome of a request.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The model's whole answer, as it is streamed and as it is at the end.
    Whole(ReplyDraft, Reply),
    /// The text until the user stopped it.
    Stopped(String),
    /// A failure.
    Failed(InvokeError),
}

/// Sends a request to a model; its text is shown as it streams. Dropping the stream closes the
/// connection.
pub(crate) async fn ask(
    invoker: &dyn ModelInvoker,
    conversation: Conversation,
    prompt_cache: bool,
    cancel: &CancellationToken,
    show: &mut (dyn FnMut(&str) + Send),
) -> Answer {
    let options = StreamOptions { cancel: Some(cancel.clone()), prompt_cache, ..StreamOptions::default() };
    let mut stream = invoker.invoke(conversation, options);
    let mut draft = ReplyDraft::default();
    loop {
        let next = tokio::select! {
            biased;
            () = cancel.cancelled() => return Answer::Stopped(draft.text),
            next = stream.next() => next,
        };
        let Some(emission) = next else {
            return Answer::Failed(InvokeError::new("the answer ended before its end"));
        };
        draft.push(&emission);
        match emission {
            Emission::Text { delta } => show(&delta),
            Emission::Error { error } => return Answer::Failed(error),
            Emission::Done { reply } if reply.stop == StopReason::Aborted => {
                return Answer::Stopped(draft.text);
            }
            Emission::Done { reply } => return Answer::Whole(draft, reply),
            _ => {}
        }
    }
}

/// A call to run, or to answer with the reason that it cannot run.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) input: Result<serde_json::Value, &'static str>,
}

/// Turns an answer into a message, and returns the calls in it. A call without a unique id gets one
/// that begins with `prefix`: some providers restart the count of calls with each answer. A call
/// whose arguments are not an object loses them. An empty answer gets a text that says so.
pub(crate) fn message_of(
    mut blocks: Vec<Block>,
    prefix: &str,
    is_taken: impl Fn(&str) -> bool,
) -> (Message, Vec<Call>) {
    let mut calls: Vec<Call> = Vec::new();
    for (at, block) in blocks.iter_mut().enumerate() {
        let Block::ToolCall { id, name, input } = block else { continue };
        if id.is_empty() || is_taken(id) || calls.iter().any(|call| call.id == *id) {
            *id = format!("{prefix}_{at}");
        }
        if name.is_empty() {
            "unnamed".clone_into(name);
        }
        let known =
            if input.is_object() { Ok(input.clone()) } else { Err("the arguments are no JSON object") };
        if known.is_err() {
            *input = json!({});
        }
        calls.push(Call { id: id.clone(), name: name.clone(), input: known });
    }
    let says = |block: &Block| {
        block.as_text().map_or(!matches!(block, Block::Thinking { .. }), |it| !it.trim().is_empty())
    };
    if !blocks.iter().any(says) {
        blocks.push(Block::text("(nothing)"));
    }
    (Message::assistant_blocks(blocks), calls)
}

/// Returns the log's record of the request that an answer belongs to.
pub(crate) fn request_of(reply: &Reply) -> Request {
    let stop_reason = match reply.stop {
        StopReason::Complete => wb_session::StopReason::Stop,
        StopReason::ToolCalls => wb_session::StopReason::ToolUse,
        StopReason::MaxOutput => wb_session::StopReason::Length,
        StopReason::Aborted => wb_session::StopReason::Aborted,
        StopReason::Error => wb_session::StopReason::Error,
        StopReason::Refusal => wb_session::StopReason::Other,
    };
    let usage = Some(reply.usage).filter(|usage| usage.prompt_tokens() > 0);
    Request { model: Some(reply.model.clone()), usage, stop_reason, ..Request::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_whose_id_an_earlier_answer_has_gets_one_of_its_own() {
        let call = || Block::call("call_1", "ls", json!({}));
        let (_, calls) =
            message_of(vec![call(), call(), Block::call("", "ls", json!([]))], "p", |id| id == "call_1");
        let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["p_0", "p_1", "p_2"]);
        assert!(calls[2].input.is_err());
        assert_eq!(message_of(vec![call()], "p", |_| false).1[0].id, "call_1");
    }
}
