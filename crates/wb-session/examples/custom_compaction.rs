//! A hook that makes compactions with another model, as an extension of a host would.
//!
//! It summarizes all that a compaction would, the first part of a split turn included, under its
//! own prompt. Here the model plays back a script; any `ModelInvoker` will do.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use std::error::Error;
use std::sync::Arc;
use wb_invoke::ModelInvoker;
use wb_invoke::StreamOptions;
use wb_invoke::collect_text;
use wb_invoke::scripted::Script;
use wb_invoke::scripted::ScriptedInvoker;

use futures::FutureExt;
use futures::executor::block_on;
use serde_json::json;
use wb_budget::ModelCard;
use wb_conductor::{AgentContext, CondenseOpts};
use wb_message::outline::outline;
use wb_message::{Conversation, Message, Turn};
use wb_session::store::memory::MemoryStore;
use wb_session::{
    BeforeCompact, CompactionSettings, HookCompaction, HookError, HookFuture, HookList, IdSource, NewSession,
    SerializeOpts, Session, SessionBeforeCompactEvent, SessionDriver, SessionHooks, convert_to_llm,
    serialize_conversation,
};

/// Summarizes with a cheap model instead of the agent's.
struct CheapSummaries {
    model: Arc<dyn ModelInvoker>,
}

impl CheapSummaries {
    async fn answer(&self, event: &SessionBeforeCompactEvent) -> Result<BeforeCompact, HookError> {
        let preparation = &event.preparation;
        let messages = preparation.messages_to_summarize.iter().chain(&preparation.turn_prefix_messages);
        let messages: Vec<Message> = convert_to_llm(messages.cloned());
        let conversation = serialize_conversation(&messages, SerializeOpts::default());
        let prompt = format!("Summarize in three lines:\n<conversation>\n{conversation}\n</conversation>");
        let options = StreamOptions { cancel: Some(event.signal.clone()), ..StreamOptions::default() };
        let asked = Conversation { system: None, turns: vec![Turn::user(prompt)], tools: None };
        // Without an answer the host proceeds as if there were no hook.
        let Some(summary) = collect_text(self.model.invoke(asked, options)).await else {
            return Ok(BeforeCompact::Proceed);
        };
        Ok(BeforeCompact::Replace(HookCompaction {
            summary,
            first_kept_entry_id: preparation.first_kept_entry_id.clone(),
            tokens_before: preparation.tokens_before,
            details: Some(json!({ "by": "cheap-summaries" })),
        }))
    }
}

impl SessionHooks for CheapSummaries {
    fn session_before_compact<'a>(
        &'a self,
        event: &'a SessionBeforeCompactEvent,
    ) -> HookFuture<'a, BeforeCompact> {
        self.answer(event).boxed()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let begin = NewSession { id: "s".into(), timestamp: 0, cwd: "/".into(), parent_session: None };
    let mut session = Session::create(Box::new(MemoryStore::default()), &begin, IdSource::new(7))?;
    session.append(&Message::user("Port the importer.").into(), 1)?;
    session.append(&Message::assistant("Working on it. ".repeat(200)).into(), 2)?;
    session.append(&Message::user("Go on.").into(), 3)?;
    session.append(&Message::assistant("Done.").into(), 4)?;

    let model = Arc::new(ScriptedInvoker::new([Script::says("The importer was being ported.")]));
    let mut hooks = HookList::default();
    hooks.push(Arc::new(CheapSummaries { model }));
    let context = AgentContext::new(ModelCard::with_window(48_000));
    let mut driver = SessionDriver::new(session, context, CompactionSettings::default())?.with_hooks(hooks);
    let done = block_on(driver.compact(&CondenseOpts::default(), 5))?;

    println!("{done}");
    print!("{}", outline(driver.messages()));
    Ok(())
}
