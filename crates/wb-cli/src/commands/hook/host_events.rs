//! Handles the hooks of Claude Code and Codex, which accept text in addition to their own summary,
//! but no compaction.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use wb_digest::redact;
use wb_facts::{Facts, Finding, FindingKind};
use wb_formats::{Document, newest, open_path};
use wb_message::ToolVocabulary;
use wb_record::Access;
use wb_replay::collect_facts;
use wb_summarize::LocalDigest;

use super::protocol::notice;
use crate::commands::audit::newest_summary;
use crate::commands::compaction_log::Entry;
use crate::session::config::Pin;
use crate::terminal::number::count;

/// The most characters of text to add to a summary.
const MOST_CHARS: usize = 6_000;

/// The time after which a compaction is not the one that a session starts from. Chosen.
const JUST_NOW_MS: i64 = 120_000;

/// An event as a host reports it.
#[derive(Debug, Deserialize)]
pub(crate) struct HostEvent {
    hook_event_name: String,
    session_id: Option<String>,
    pub(crate) transcript_path: Option<PathBuf>,
    pub(crate) cwd: Option<PathBuf>,
    /// The reason for the session start.
    source: Option<String>,
    /// The reason for the compaction.
    trigger: Option<String>,
    /// The turn, which only Codex names.
    turn_id: Option<String>,
}

/// The answer to a host.
#[derive(Debug, Default)]
pub(crate) struct EventAnswer {
    /// The text for standard output; empty lets the host proceed alone.
    pub(crate) text: String,
    pub(crate) entry: Option<Entry>,
}

impl EventAnswer {
    /// Shows a line to the person, and adds a text to the context.
    fn show(additional_context: Option<String>, system_message: String) -> Option<Self> {
        let hook_specific_output = additional_context
            .map(|additional_context| SessionStart { hook_event_name: "SessionStart", additional_context });
        let output = Output { hook_specific_output, system_message };
        Some(Self { text: serde_json::to_string(&output).ok()?, entry: None })
    }
}

/// Words for a session that starts.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Output {
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_specific_output: Option<SessionStart>,
    /// The line that the host shows to the person.
    system_message: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionStart {
    hook_event_name: &'static str,
    additional_context: String,
}

/// The session that an event is about.
struct EventSession {
    document: Box<dyn Document>,
    conversation: String,
    vocabulary: ToolVocabulary,
}

impl EventSession {
    fn facts(&self) -> Option<Facts> {
        collect_facts(Facts::default(), self.document.as_ref(), &self.conversation, &self.vocabulary).ok()
    }
}

impl HostEvent {
    pub(crate) fn host(&self) -> &'static str {
        if self.turn_id.is_some() || self.is_rollout() { "codex" } else { "claude-code" }
    }

    fn is_rollout(&self) -> bool {
        let name = self.transcript_path.as_deref().and_then(|path| path.file_name());
        name.is_some_and(|name| name.to_string_lossy().starts_with("rollout-"))
    }

    /// Returns the answer to the event; irrelevant events are ignored. `log` has the compactions of
    /// all agents.
    pub(crate) fn answer(&self, pin: &[Pin], log: &[Entry], now_ms: i64) -> EventAnswer {
        match (self.hook_event_name.as_str(), self.source.as_deref()) {
            ("PreCompact", _) if self.host() == "claude-code" => self.before(pin).unwrap_or_default(),
            ("SessionStart", Some("compact")) => {
                let notice = self.notice(log, now_ms).and_then(|notice| EventAnswer::show(None, notice));
                notice.or_else(|| self.after(pin)).unwrap_or_default()
            }
            ("PostCompact", _) => self.checked().unwrap_or_default(),
            _ => EventAnswer::default(),
        }
    }

    /// Lists for a summarizing model what the summary must contain.
    fn before(&self, pin: &[Pin]) -> Option<EventAnswer> {
        let facts = self.session()?.facts()?;
        let digest = facts_of(&facts);
        let pinned = listed(pin);
        let lead = "These facts were collected from the whole session. Keep those that still matter in the \
                    summary, what the user asks for word for word:";
        Some(EventAnswer {
            text: format!("{lead}\n\n{pinned}{digest}\n"),
            entry: Some(self.entry("told", 0)),
        })
    }

    /// Lists for a compacted session what its summary, by a model, lacks.
    fn after(&self, pin: &[Pin]) -> Option<EventAnswer> {
        let (facts, found) = self.audit()?;
        let lines = listed(pin) + &found.iter().map(described).collect::<String>();
        let mut text = String::new();
        if self.host() == "codex" {
            let digest = facts_of(&facts);
            text = format!("Collected from the whole session:\n\n{digest}\n\n");
        }
        if !lines.is_empty() {
            text += "The summary above was held against the whole session:\n";
            text += &lines;
        }
        let entry = Some(self.entry("told", found.len()));
        if text.is_empty() {
            return Some(EventAnswer { text, entry });
        }
        let added = match found.len() {
            0 => "wb added what it collected from the session to the summary".to_owned(),
            n => format!(
                "wb added to the summary: {}",
                count(n, "point that it left out", "points that it left out")
            ),
        };
        Some(EventAnswer { entry, ..EventAnswer::show(Some(text), added)? })
    }

    /// Returns a line about the compaction that `wb` has just made of this session.
    fn notice(&self, log: &[Entry], now_ms: i64) -> Option<String> {
        let is_here = |entry: &&Entry| {
            entry.file.is_some() && entry.file == self.transcript_path
                || entry.session.is_some() && entry.session == self.session_id
        };
        let last = log.iter().rev().find(is_here)?;
        let is_new = last.action == "replace" && now_ms.saturating_sub(last.at_ms) < JUST_NOW_MS;
        let sizes = (last.tokens_before, last.tokens_after);
        is_new.then(|| notice(sizes, last.ms, self.session_id.as_deref()))
    }

    /// Audits a summary, for the log.
    fn checked(&self) -> Option<EventAnswer> {
        let (_, found) = self.audit()?;
        Some(EventAnswer { text: String::new(), entry: Some(self.entry("audited", found.len())) })
    }

    /// Returns the facts of the whole session, and what its newest summary says that they do not
    /// bear out.
    fn audit(&self) -> Option<(Facts, Vec<Finding>)> {
        let EventSession { document, conversation, vocabulary } = self.session()?;
        let newest = newest_summary(document.as_ref(), &conversation, vocabulary, |_| ());
        let (facts, findings) = newest.ok()?;
        Some((facts, findings?))
    }

    fn session(&self) -> Option<EventSession> {
        let document = open_path(self.transcript_path.as_deref()?, Access::Read).ok()?;
        let conversation = newest(document.as_ref()).ok()?;
        let vocabulary = document.view(&conversation).ok()?.vocabulary;
        Some(EventSession { document, conversation, vocabulary })
    }

    fn entry(&self, action: &str, findings: usize) -> Entry {
        Entry {
            host: self.host().to_owned(),
            session: self.session_id.clone(),
            file: self.transcript_path.clone(),
            trigger: self.trigger.clone().or(self.source.clone()).unwrap_or_default(),
            action: action.to_owned(),
            findings,
            ..Entry::default()
        }
    }
}

/// Renders the facts of a session without credentials.
fn facts_of(facts: &Facts) -> String {
    redact(&LocalDigest::new(facts, facts.n_messages() as usize).render(MOST_CHARS)).text.into_owned()
}

fn listed(pin: &[Pin]) -> String {
    pin.iter().flat_map(|pin| ["- ".to_owned(), pin.line(), "\n".to_owned()]).collect()
}

fn described(finding: &Finding) -> String {
    if finding.kind == FindingKind::MissingConstraint {
        return format!("- It leaves out what the user asked for: “{}”\n", finding.text);
    }
    format!("- It says “{}”, which is not borne out: {}\n", finding.text, finding.why)
}
