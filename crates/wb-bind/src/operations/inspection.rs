//! Several operations on one input, which is read and weighed once.

use std::convert::Infallible;
use std::sync::Arc;

use wb_conductor::Plan;
use wb_dialect::Dialect;
use wb_facts::{Facts, Finding, audit};
use wb_message::markers::digest_body;
use wb_message::text::one_line;
use wb_replay::{AuditedSummary, audit_summaries, body};

use crate::call::{Call, CallError, Options};
use crate::input::{Input, not_read};
use crate::operations::compact::{Compacted, compact_session};
use crate::operations::facts::FactList;
use crate::operations::provider_rules::{Validated, validate_session};
use crate::operations::weigh::Weighed;
use crate::session::Session;

/// The characters of a rule that are looked for.
const PROBE_CHARS: usize = 200;

/// An input that was read and weighed. Each method returns what a call of its operation does.
///
/// ```
/// use wb_bind::{Call, Inspection};
///
/// let text = r#"{"operation": "weigh", "messages": [{"role": "user", "content": "Hello."}]}"#;
/// let call = Call::parse(text)?;
/// let inspection = Inspection::open(&call)?;
/// assert_eq!(inspection.weigh().messages, 1);
/// # Ok::<(), wb_bind::CallError>(())
/// ```
pub struct Inspection {
    session: Session,
    summary: Option<String>,
    facts: Option<Arc<Facts>>,
}

impl std::fmt::Debug for Inspection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inspection").field("view", &self.session.view).finish_non_exhaustive()
    }
}

impl Inspection {
    /// Reads and weighs the input of a call, whatever its operation.
    pub fn open(call: &Call<'_>) -> Result<Self, CallError> {
        let session = Session::open(Input::from_call(call)?, &call.options)?;
        Ok(Self { session, summary: call.summary.clone(), facts: None })
    }

    /// Returns the weight.
    pub fn weigh(&self) -> Weighed {
        Weighed::new(&self.session)
    }

    /// Validates by the rules of some dialects, or those of the format.
    pub fn validate(&self, dialects: &[Dialect]) -> Result<Validated, CallError> {
        validate_session(&self.session, dialects)
    }

    /// Returns the facts.
    pub fn facts(&mut self) -> FactList {
        FactList::new(&self.collected())
    }

    /// Returns the sentences in which the user always requires or forbids something.
    pub fn rules(&mut self) -> Vec<String> {
        self.collected().constraints().map(|rule| rule.text.clone()).collect()
    }

    /// Checks the summary of the call, if it has one.
    pub fn audit(&mut self) -> Option<Vec<Finding>> {
        let summary = self.summary.clone()?;
        Some(audit(&summary, &self.collected()))
    }

    /// Checks every summary that the session records by what was said before it.
    pub fn audit_recorded(&self) -> Result<Vec<AuditedSummary>, CallError> {
        let Session { input, conversation, view, .. } = &self.session;
        if !view.is_compacted() && view.messages.iter().all(|message| digest_body(message).is_none()) {
            return Ok(Vec::new());
        }
        let audited = audit_summaries(input.document.as_ref(), conversation, view.vocabulary);
        audited.map_err(|error| not_read(&error))
    }

    /// Compacts a copy of the messages; returns the rules that the result no longer contains, too.
    pub fn compact(&mut self, options: &Options) -> Result<(Compacted, Vec<String>), CallError> {
        let facts = self.collected();
        let local = |plan: Plan<'_>| Ok::<_, Infallible>(plan.local());
        let Ok((compacted, messages)) = compact_session(&mut self.session, options, facts, local)?;
        if !compacted.report.changed {
            return Ok((compacted, Vec::new()));
        }
        let after: Vec<String> =
            messages.iter().map(|message| one_line(&body(message), usize::MAX)).collect();
        let mut lost = self.rules();
        lost.retain(|rule| {
            let probe = one_line(rule, usize::MAX);
            let probe = probe.char_indices().nth(PROBE_CHARS).map_or(&*probe, |(end, _)| &probe[..end]);
            !after.iter().any(|text| text.contains(probe))
        });
        Ok((compacted, lost))
    }

    fn collected(&mut self) -> Arc<Facts> {
        let empty = if self.summary.is_some() { Facts::default } else { Facts::without_words };
        self.facts.get_or_insert_with(|| Arc::new(self.session.facts(empty))).clone()
    }
}
