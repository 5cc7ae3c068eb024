//! An agent in a few lines: a provider with a window, and the loop that a host runs.

use std::fmt::Write as _;

use futures::executor::block_on;
use wb_budget::{ModelCard, Usage, estimate_message_tokens};
use wb_host::{CompactionReason, FlowAction, HookList, PendingRequest, SessionFlow};
use wb_invoke::ModelInvoker;
use wb_message::{Block, Message, Pairing};
use wb_session::{CompactionSettings, EntryKind, Session, StopReason, convert_to_llm};

use crate::support::{answer, assert_paired, context, empty_session};

/// What the model does with a request that fits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Says {
    /// An answer of so many characters, which ends the turn.
    Text(usize),
    /// A call, whose result has so many characters.
    Call(usize),
}

pub(crate) struct Agent {
    pub(crate) session: Session,
    pub(crate) flow: SessionFlow,
    pub(crate) hooks: HookList,
    pub(crate) pending: PendingRequest,
    /// Tokens that the provider counts for ten estimated ones.
    pub(crate) tenths: u64,
    /// The tokens of the window that the provider really has.
    pub(crate) window_tokens: u64,
    /// What happened, a letter each: `.` a request that was answered, `x` one that was refused, `t` `o` `m` a
    /// compaction by threshold, overflow, hand; `s` results that were shortened; `-` one that failed, `S` the flow stopped.
    pub(crate) trace: String,
    n_calls: usize,
}

impl Agent {
    pub(crate) fn new(window_tokens: u64, settings: CompactionSettings) -> Self {
        Self {
            session: empty_session(),
            flow: SessionFlow::new(settings),
            hooks: HookList::default(),
            pending: PendingRequest {
                card: ModelCard::with_window(window_tokens),
                ..PendingRequest::default()
            },
            tenths: 10,
            window_tokens,
            trace: String::new(),
            n_calls: 0,
        }
    }

    fn append(&mut self, kind: &EntryKind) {
        self.session.append(kind, 1).unwrap();
    }

    pub(crate) fn context(&self) -> Vec<Message> {
        context(&self.session)
    }

    /// Sends what the user says and goes on until the model has no more calls.
    pub(crate) fn prompt(&mut self, words: &str, script: &[Says], summarizer: Option<&dyn ModelInvoker>) {
        self.append(&Message::user(words).into());
        let mut script = script.iter();
        let mut says = script.next();
        while let Some(now) = says {
            let next = self.flow.before_request(&self.session, &self.pending).unwrap();
            self.act(next, summarizer);
            let is_answered = self.ask(*now);
            let next = self.flow.after_answer(&self.session, &self.pending).unwrap();
            match self.act(next, summarizer) {
                _ if is_answered => says = script.next(),
                true => {}
                false => return,
            }
        }
    }

    /// Does what the flow says; tells whether the request is to be repeated.
    pub(crate) fn act(&mut self, next: FlowAction, summarizer: Option<&dyn ModelInvoker>) -> bool {
        match next {
            FlowAction::Compact(job) => {
                let letter = match job.reason() {
                    CompactionReason::Threshold => 't',
                    CompactionReason::Overflow => 'o',
                    _ => 'm',
                };
                let done = self.flow.complete(*job, &mut self.session, summarizer, &mut self.hooks, 1);
                let done = block_on(done);
                self.trace.push(if done.is_ok() { letter } else { '-' });
                done.is_ok_and(|done| done.will_retry)
            }
            FlowAction::Shorten(shortening) => {
                self.trace.push('s');
                let done = self.flow.shorten(*shortening, &mut self.session, &self.pending, 1);
                done.unwrap().will_retry
            }
            FlowAction::Stopped(_) => {
                self.trace.push('S');
                false
            }
            _ => false,
        }
    }

    /// Sends the context; tells whether it was answered.
    fn ask(&mut self, says: Says) -> bool {
        let context = self.context();
        assert_sendable(&context);
        let estimate: u64 = context.iter().map(estimate_message_tokens).sum();
        let tokens = estimate * self.tenths / 10 + self.pending.overhead_tokens;
        if tokens > self.window_tokens {
            self.trace.push('x');
            let error = format!("prompt is too long: {tokens} tokens > {} maximum", self.window_tokens);
            let message = Message::Assistant { content: Vec::new(), error_message: Some(error) };
            answer(&mut self.session, message, None, StopReason::Error);
            return false;
        }
        self.trace.push('.');
        let usage = Some(Usage { input_tokens: tokens, output_tokens: 0, ..Usage::EMPTY });
        match says {
            Says::Text(n_chars) => {
                let message = Message::assistant("a".repeat(n_chars));
                let output_tokens = estimate_message_tokens(&message);
                let usage = usage.map(|usage| Usage { output_tokens, ..usage });
                answer(&mut self.session, message, usage, StopReason::Stop);
            }
            Says::Call(n_chars) => {
                self.n_calls += 1;
                let id = format!("call-{}", self.n_calls);
                let call = Block::call(&*id, "read", serde_json::json!({"path": format!("{id}.rs")}));
                let message = Message::Assistant { content: vec![call], error_message: None };
                answer(&mut self.session, message, usage, StopReason::ToolUse);
                self.append(&Message::tool_result(id, "read", "r".repeat(n_chars)).into());
            }
        }
        true
    }

    /// Returns the trace since it was asked last.
    pub(crate) fn traced(&mut self) -> String {
        std::mem::take(&mut self.trace)
    }
}

/// Fails where a provider would refuse a request for its form.
pub(crate) fn assert_sendable(context: &[Message]) {
    assert_paired(context);
    assert!(Pairing::new(context).dangling().is_empty(), "a call is without its result");
    let sent = convert_to_llm(context.iter().cloned());
    let last =
        sent.last().map(|message| matches!(message, Message::User { .. } | Message::ToolResult { .. }));
    let mut shown = String::new();
    for message in &sent {
        let _ = write!(shown, "{} ", wb_message::outline::role(message));
    }
    assert_eq!(last, Some(true), "the user or a tool spoke last: {shown}");
}
