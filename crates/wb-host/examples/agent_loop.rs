//! A host's loop on the automatic flow: asks before each request, and repeats one that did not fit.
//!
//! The provider here is made up: it takes 3 000 tokens and counts twice of what is estimated. Nothing is sent anywhere.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use std::error::Error;

use futures::executor::block_on;
use wb_budget::{ModelCard, Usage, estimate_tokens};
use wb_host::{FlowAction, HookList, PendingRequest, SessionFlow};
use wb_message::Message;
use wb_message::outline::outline;
use wb_session::store::memory::MemoryStore;
use wb_session::{
    CompactionSettings, EntryKind, IdSource, Logged, NewSession, Request, Session, StopReason, convert_to_llm,
};

/// Answers a request, or refuses one that is too large.
fn ask_provider(messages: &[Message]) -> Logged {
    let input_tokens = 2 * estimate_tokens(messages);
    let mut request = Request { stop_reason: StopReason::Stop, ..Request::default() };
    let mut message = Message::assistant("I looked into it. ".repeat(120));
    if input_tokens > 3_000 {
        let error = format!("prompt is too long: {input_tokens} tokens > 3000 maximum");
        message = Message::Assistant { content: Vec::new(), error_message: Some(error) };
        request.stop_reason = StopReason::Error;
    } else {
        request.usage = Some(Usage { input_tokens, output_tokens: 1_080, ..Usage::EMPTY });
    }
    Logged { message, request: Some(request), is_excluded: false }
}

/// Does what the flow says; tells whether the request is to be repeated.
fn act(
    next: FlowAction,
    flow: &mut SessionFlow,
    session: &mut Session,
    pending: &PendingRequest,
) -> Result<bool, Box<dyn Error>> {
    match next {
        FlowAction::Compact(job) => {
            // Without a model the summary is written from the messages themselves.
            let done = block_on(flow.complete(*job, session, None, &mut HookList::default(), 0))?;
            println!("  compacted by {:?}, about {} tokens now", done.reason, done.context.tokens);
            Ok(done.will_retry)
        }
        FlowAction::Shorten(shortening) => {
            let done = flow.shorten(*shortening, session, pending, 0)?;
            Ok(done.will_retry)
        }
        FlowAction::Stopped(why) => Err(why.into()),
        _ => Ok(false),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let begin = NewSession { id: "s".into(), timestamp: 0, cwd: "/".into(), parent_session: None };
    let mut session = Session::create(Box::new(MemoryStore::default()), &begin, IdSource::new(7))?;
    let settings =
        CompactionSettings { reserve_tokens: 500, keep_recent_tokens: 400, ..CompactionSettings::default() };
    let mut flow = SessionFlow::new(settings);
    // The host believes in a larger window than there is.
    let pending = PendingRequest { card: ModelCard::with_window(8_000), ..PendingRequest::default() };

    for prompt in ["Port the importer.", "And the exporter.", "Now the tests.", "Write it down.", "Ship it."]
    {
        println!("> {prompt}");
        session.append(&Message::user(prompt).into(), 0)?;
        let mut is_asked = true;
        while is_asked {
            let next = flow.before_request(&session, &pending)?;
            act(next, &mut flow, &mut session, &pending)?;
            let messages = convert_to_llm(session.context(session.leaf())?.messages);
            session.append(&EntryKind::Message(ask_provider(&messages)), 0)?;
            let next = flow.after_answer(&session, &pending)?;
            is_asked = act(next, &mut flow, &mut session, &pending)?;
        }
    }
    print!("{}", outline(&session.context(session.leaf())?.messages));
    Ok(())
}
