//! The log of a session: what was said, and what was folded.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wb_conductor::{CompactionReport, DigestSource};
use wb_facts::Facts;
use wb_message::{Message, ToolVocabulary};
use wb_session::store::jsonl::JsonlStore;
use wb_session::{
    Compaction, ContextEdit, Custom, CustomMessage, Durability, EntryId, EntryKind, EntryTag, IdSource,
    Logged, NewSession, Replacement, Request, Session, SessionError, iso_ms,
};
use wb_summarize::{CondenseScope, digest_message};

use crate::clock::now_ms;
use crate::error::AgentError;
use crate::step::Step;

/// The type of the custom entry that stands in front of the entries of a compaction.
const STEP_MARK: &str = "wb_agent.compaction";

/// What is noted of a compaction beside its entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StepNote {
    /// The report in one line.
    pub report: String,
    /// Whether a model wrote the digest, so that it was audited.
    pub by_model: bool,
    /// What the audit found, a line each.
    pub findings: Vec<String>,
}

impl StepNote {
    /// Notes a report.
    pub fn of(report: &CompactionReport) -> Self {
        let line = |it: &wb_facts::Finding| format!("“{}”: {}", it.text, it.why);
        let by_model = matches!(report.digest, Some(DigestSource::Model { .. }));
        Self { report: report.to_string(), by_model, findings: report.findings.iter().map(line).collect() }
    }
}

/// What a log holds when it is opened.
#[derive(Debug, Default)]
pub(crate) struct Opened {
    pub(crate) messages: Vec<Message>,
    pub(crate) entries: Vec<EntryId>,
    pub(crate) facts: Facts,
    pub(crate) last_step: Option<StepNote>,
}

/// A log that is appended to; nothing in it is ever changed.
#[derive(Debug)]
pub struct Journal {
    session: Session,
    path: PathBuf,
}

impl Journal {
    /// Begins a log in a folder of logs, for an agent that works in `cwd`.
    pub fn create(folder: &Path, cwd: &Path) -> Result<Self, AgentError> {
        fs::create_dir_all(folder).map_err(AgentError::of_file(folder.display().to_string()))?;
        let now = now_ms();
        let id = format!("{}_{}", iso_ms(now).replace(':', "-"), std::process::id());
        let path = folder.join(format!("{id}.jsonl"));
        let begin = NewSession { id, timestamp: now, cwd: cwd.display().to_string(), parent_session: None };
        let store = JsonlStore::create(&path, Durability::OnClose).map_err(SessionError::from)?;
        let session = Session::create(Box::new(store), &begin, ids(now))?;
        Ok(Self { session, path })
    }

    /// Opens a log to go on with it.
    pub fn open(path: &Path) -> Result<Self, AgentError> {
        let store = JsonlStore::open(path, Durability::OnClose).map_err(SessionError::from)?;
        let session = Session::open(Box::new(store), ids(now_ms()))?;
        Ok(Self { session, path: path.to_owned() })
    }

    /// Finds the newest log of an agent that works in `cwd`.
    pub fn newest(folder: &Path, cwd: &Path) -> Option<PathBuf> {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
        paths.sort();
        let is_ours = |path: &PathBuf| {
            let session = JsonlStore::open_for_reading(path).ok();
            let session = session.and_then(|store| Session::open(Box::new(store), IdSource::new(0)).ok());
            session.is_some_and(|it| it.header().cwd.as_deref() == Some(&*cwd.to_string_lossy()))
        };
        paths.into_iter().rev().find(is_ours)
    }

    /// Returns the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns how many entries there are, on all branches.
    pub fn n_entries(&self) -> usize {
        self.session.tree().nodes().len()
    }

    /// Reads what the model sees, and what the whole path to it shows, one entry after the other.
    pub(crate) fn load(&self, vocabulary: &ToolVocabulary) -> Result<Opened, AgentError> {
        let (messages, entries) = self.context()?;
        let mut opened = Opened { messages, entries, ..Opened::default() };
        for node in self.session.path()? {
            if !node.tag.is_visible() && node.tag != EntryTag::Custom {
                continue;
            }
            match self.session.entry(&node.id)?.kind {
                EntryKind::Message(Logged { message, .. }) => opened.facts.take_in(&message, vocabulary),
                EntryKind::CustomMessage(it) => {
                    opened.facts.take_in(&Message::custom(it.custom_type, it.content), vocabulary);
                }
                EntryKind::Compaction(Compaction { summary, details: Some(_), .. }) => {
                    opened.facts.take_in_judgement(&summary);
                }
                EntryKind::Custom(Custom { custom_type, data: Some(data) }) if custom_type == STEP_MARK => {
                    opened.last_step = serde_json::from_value(data).ok();
                }
                _ => {}
            }
        }
        Ok(opened)
    }

    /// Reads what the model sees, and the entry that each message comes from.
    pub(crate) fn context(&self) -> Result<(Vec<Message>, Vec<EntryId>), AgentError> {
        let context = self.session.context(self.session.leaf())?;
        Ok((context.messages.into_iter().map(as_sent).collect(), context.entries))
    }

    /// Appends a message, with the request that it answers.
    pub(crate) fn append(
        &mut self,
        message: &Message,
        request: Option<Request>,
    ) -> Result<EntryId, AgentError> {
        let kind = match message {
            Message::Custom { custom_type, content } => EntryKind::CustomMessage(CustomMessage {
                custom_type: custom_type.clone(),
                content: content.clone(),
                display: false,
                details: None,
            }),
            message => EntryKind::Message(Logged { message: message.clone(), request, is_excluded: false }),
        };
        Ok(self.session.append(&kind, now_ms())?)
    }

    /// Appends a compaction, and returns the entry of its digest.
    pub(crate) fn append_step(&mut self, step: Step, note: &StepNote) -> Result<Option<EntryId>, AgentError> {
        let now = now_ms();
        let mark = Custom { custom_type: STEP_MARK.to_owned(), data: serde_json::to_value(note).ok() };
        self.session.append(&EntryKind::Custom(mark), now)?;
        for (target_id, content) in step.edited {
            let edit = ContextEdit { target_id, replacement: Some(Replacement { content }) };
            self.session.append(&EntryKind::ContextEdit(edit), now)?;
        }
        let mut digest = None;
        if let Some(summary) = step.digest {
            let compaction = Compaction {
                summary,
                first_kept_entry_id: step.first_kept,
                tokens_before: step.tokens_before,
                details: note.by_model.then(|| serde_json::json!({ "by": "model" })),
                from_hook: false,
            };
            digest = Some(self.session.append(&EntryKind::Compaction(compaction), now)?);
        }
        for target_id in step.hidden {
            self.session
                .append(&EntryKind::ContextEdit(ContextEdit { target_id, replacement: None }), now)?;
        }
        Ok(digest)
    }

    /// Takes the last compaction back; false where there is none. What came after it is repeated on a new branch.
    pub(crate) fn take_back(&mut self) -> Result<bool, AgentError> {
        let path = self.session.path()?;
        let mut last = None;
        for (at, node) in path.iter().enumerate().rev().filter(|(_, node)| node.tag == EntryTag::Custom) {
            let EntryKind::Custom(custom) = self.session.entry(&node.id)?.kind else { continue };
            if custom.custom_type == STEP_MARK {
                last = Some(at);
                break;
            }
        }
        let Some(first) = last else { return Ok(false) };
        let of_step = |tag| matches!(tag, EntryTag::ContextEdit | EntryTag::Compaction);
        let n = path[first + 1..].iter().take_while(|node| of_step(node.tag)).count();
        self.session.take_back(&path[first].id, &path[first + n].id, now_ms())?;
        Ok(true)
    }

    /// Waits until all of it is on the disk.
    pub fn sync(&mut self) -> Result<(), AgentError> {
        Ok(self.session.sync()?)
    }
}

/// Brings a message of the log into the form in which it was sent.
fn as_sent(message: Message) -> Message {
    match message {
        Message::CompactionSummary { summary, .. } => digest_message(CondenseScope::Session, summary, 0),
        message => message,
    }
}

fn ids(now: i64) -> IdSource {
    IdSource::new(now.unsigned_abs() ^ (u64::from(std::process::id()) << 40))
}
