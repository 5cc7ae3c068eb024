//! One row of the answer.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use wb_bind::{Call, CallError, Compacted, Inspection, Operation, VERSION};
use wb_facts::Finding;

use crate::columns::Columns;
use crate::options::{Options, Part};

/// A row of the answer, with the names of its columns.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Row {
    id: Option<String>,
    format: Option<String>,
    model: Option<String>,
    n_messages: Option<usize>,
    tokens: Option<u64>,
    tokens_by_kind: Option<BTreeMap<&'static str, u64>>,
    window: Option<u64>,
    token_limit: Option<u64>,
    fits: Option<bool>,
    n_violations: Option<usize>,
    violations: Option<Vec<Value>>,
    facts: Option<String>,
    rules: Option<Vec<String>>,
    n_findings: Option<usize>,
    findings: Option<Vec<Value>>,
    n_summaries: Option<usize>,
    n_untrue: Option<usize>,
    strategy: Option<&'static str>,
    compacted: Option<bool>,
    reason: Option<String>,
    tokens_after: Option<u64>,
    digest: Option<String>,
    compacted_messages: Option<String>,
    lost_rules: Option<Vec<String>>,
    strategies: Option<Vec<Compared>>,
    error: Option<RowError>,
}

/// The figures of a strategy.
#[derive(Debug, Default, Serialize)]
struct Compared {
    strategy: &'static str,
    compacted: Option<bool>,
    reason: Option<String>,
    tokens_after: Option<u64>,
    lost_rules: Option<Vec<String>>,
    error: Option<String>,
}

/// The reason why a part of a row is missing.
#[derive(Debug, Serialize)]
pub(crate) struct RowError {
    part: &'static str,
    kind: String,
    message: String,
    hint: String,
}

impl RowError {
    fn input(message: &impl ToString, hint: &str) -> Self {
        Self { part: "read", kind: "input".to_owned(), message: message.to_string(), hint: hint.to_owned() }
    }

    fn new(part: &'static str, error: CallError) -> Self {
        let kind = json!(error.kind).as_str().unwrap_or_default().to_owned();
        Self { part, kind, message: error.message, hint: error.hint }
    }

    fn panic(payload: &(dyn Any + Send)) -> Self {
        let message = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let message = message.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        let hint = "report this with the row".to_owned();
        Self { part: "read", kind: "panic".to_owned(), message, hint }
    }
}

impl Row {
    /// Analyzes a row. Whatever is wrong with it is its error.
    pub(crate) fn new(columns: &mut Columns<'_>, at: usize, options: &Options) -> Self {
        let id = columns.id.get(at).ok().flatten().map(std::borrow::Cow::into_owned);
        let row = catch(|| Self::read(columns, at, options)).unwrap_or_else(Self::failed);
        Self { id, ..row }
    }

    /// Returns a row with an error alone.
    pub(crate) fn failed(error: RowError) -> Self {
        Self { error: Some(error), ..Self::default() }
    }

    /// Returns the same row without what makes it too large.
    pub(crate) fn too_large(self) -> Self {
        let error = RowError::input(&"the answer is too large for its batch", "analyze smaller batches");
        Self { id: self.id, ..Self::failed(error) }
    }

    /// Returns the approximate size of its texts.
    pub(crate) fn n_bytes(&self) -> usize {
        let texts = [&self.facts, &self.digest, &self.compacted_messages];
        let texts = texts.into_iter().flatten().map(String::len).sum::<usize>();
        let values = [&self.violations, &self.findings].into_iter().flatten().map(Vec::len).sum::<usize>();
        texts + values * 512 + 512
    }

    fn read(columns: &mut Columns<'_>, at: usize, options: &Options) -> Result<Self, RowError> {
        let no_text = |error| RowError::input(&error, "send UTF-8");
        let null = || RowError::input(&"the messages are null", "send [] for a conversation without any");
        let messages = columns.messages.get(at).map_err(no_text)?.ok_or_else(null)?;
        let format = columns.format.get(at).map_err(no_text)?.map(std::borrow::Cow::into_owned);
        let is_list = messages.trim_start().starts_with('[');
        let list: Option<&RawValue> = is_list
            .then(|| serde_json::from_str(&messages))
            .transpose()
            .map_err(|error| RowError::input(&error, "send a list of messages in JSON"))?;
        let summary = columns.summary.get(at).map_err(no_text)?.filter(|_| options.has(Part::Audit));
        let call = Call {
            version: VERSION,
            operation: Operation::Weigh,
            format,
            messages: list,
            body: None,
            session: (!is_list).then(|| (&*messages).into()),
            options: options.options.clone(),
            summary: summary.map(std::borrow::Cow::into_owned),
            to: None,
            dialects: Vec::new(),
            question: None,
        };
        let mut inspection = Inspection::open(&call).map_err(|error| RowError::new("read", error))?;
        let mut row = Self::default();
        row.weigh(&inspection);
        if let Err(error) = row.act(&mut inspection, options) {
            row.error = Some(error);
        }
        Ok(row)
    }

    fn weigh(&mut self, inspection: &Inspection) {
        let weighed = inspection.weigh();
        self.format = Some(weighed.format.to_owned());
        self.model = weighed.model;
        self.n_messages = Some(weighed.messages);
        self.tokens = Some(weighed.tokens);
        self.tokens_by_kind = Some(weighed.by_kind);
        self.window = Some(weighed.window);
        self.token_limit = Some(weighed.limit);
        self.fits = Some(!weighed.over_budget);
    }

    /// Audits the summary of the row, and those that its session records.
    fn audit(&mut self, inspection: &mut Inspection) -> Result<(), RowError> {
        let given = inspection.audit().map(|findings| (None, findings));
        let recorded = inspection.audit_recorded().map_err(|error| RowError::new("audit", error))?;
        let recorded = recorded.into_iter().zip(1..).map(|(it, nth)| (Some(nth), it.findings));
        let audited: Vec<(Option<usize>, Vec<Finding>)> = given.into_iter().chain(recorded).collect();
        if audited.is_empty() {
            return Ok(());
        }
        self.n_summaries = Some(audited.len());
        self.n_untrue = Some(audited.iter().filter(|(_, findings)| !findings.is_empty()).count());
        let findings = audited.iter().flat_map(|(nth, all)| all.iter().map(|it| numbered(it, *nth)));
        let findings: Vec<Value> = findings.collect();
        self.n_findings = Some(findings.len());
        self.findings = Some(findings);
        Ok(())
    }

    fn act(&mut self, inspection: &mut Inspection, options: &Options) -> Result<(), RowError> {
        if options.has(Part::Facts) {
            self.facts = Some(text(&inspection.facts()));
            self.rules = Some(inspection.rules());
        }
        if options.has(Part::Audit) {
            self.audit(inspection)?;
        }
        if options.has(Part::Compare) {
            self.strategies = Some(compare(inspection, options));
        }
        if options.has(Part::Validate) {
            let validated = inspection.validate(&options.dialects);
            let validated = validated.map_err(|error| RowError::new("validate", error))?;
            let violations: Vec<Value> = validated.violations.iter().map(|it| json!(it)).collect();
            self.n_violations = Some(violations.len());
            self.violations = Some(violations);
        }
        if options.has(Part::Compact) {
            let done = inspection.compact(&options.options);
            let (compacted, lost) = done.map_err(|error| RowError::new("compact", error))?;
            self.compact(compacted, lost, options);
        }
        Ok(())
    }

    fn compact(&mut self, compacted: Compacted, lost: Vec<String>, options: &Options) {
        self.strategy = Some(options.options.strategy.name());
        self.compacted_messages = compacted.text().map(str::to_owned);
        let report = compacted.report;
        self.compacted = Some(report.changed);
        self.reason = report.reason;
        self.tokens_after = Some(report.tokens_after);
        self.digest = report.digest;
        self.lost_rules = Some(lost);
    }
}

/// Returns a finding with the number of the recorded summary that has it.
fn numbered(finding: &Finding, summary: Option<usize>) -> Value {
    let mut value = json!(finding);
    value["summary"] = json!(summary);
    value
}

fn compare(inspection: &mut Inspection, options: &Options) -> Vec<Compared> {
    let one = |strategy: &wb_bind::Strategy| {
        let name = strategy.name();
        let asked = wb_bind::Options { strategy: *strategy, ..options.options.clone() };
        match inspection.compact(&asked) {
            Ok((compacted, lost)) => Compared {
                strategy: name,
                compacted: Some(compacted.report.changed),
                reason: compacted.report.reason,
                tokens_after: Some(compacted.report.tokens_after),
                lost_rules: Some(lost),
                error: None,
            },
            Err(error) => Compared { strategy: name, error: Some(error.message), ..Compared::default() },
        }
    };
    options.strategies.iter().map(one).collect()
}

fn text(value: &impl Serialize) -> String {
    // Maps have text as keys, and numbers are finite.
    serde_json::to_string(value).unwrap_or_default()
}

/// Runs an analysis; a panic is an error.
fn catch<T>(analysis: impl FnOnce() -> Result<T, RowError>) -> Result<T, RowError> {
    // What the analysis changed is dropped with it.
    catch_unwind(AssertUnwindSafe(analysis)).unwrap_or_else(|payload| Err(RowError::panic(&*payload)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        let error = catch::<()>(|| panic!("at row {}", 7)).unwrap_err();
        assert_eq!((error.kind.as_str(), error.message.as_str()), ("panic", "at row 7"));
        let error = catch::<()>(|| panic!("plain")).unwrap_err();
        assert_eq!(error.message, "plain");
    }
}
