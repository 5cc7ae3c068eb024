//! Sessions of opencode: rows of its database, or one exported session.
//!
//! The files in reading order: `tool` a call with its result, `source` the messages and parts,
//! `database` the list of sessions; `live` selects those of a request, `log` holds a session as far
//! as it was read, `assemble` builds its messages, `segment` assigns usage; `plan` finds the edits
//! for a view, and `write` makes its records.

mod tool;
mod source;
#[cfg(feature = "sqlite")]
mod database;
mod live;
mod log;
mod assemble;
mod segment;
mod write;
mod plan;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use memchr::memmem;
use wb_message::ToolVocabulary;
use wb_message::tools::ToolRole::{Edit, Fetch, Plan, Read, Run, Search, Write};
use wb_record::{
    Abilities, Ability, ChangeSet, Confidence, Document, Format, FormatError, NotExpressible,
    ONLY_CONVERSATION, Parts, Probe, ProbedValue, Segment, Segments, View, Wanted,
};

#[cfg(feature = "sqlite")]
pub use self::database::{DatabaseSession, database_sessions};
use self::log::SessionLog;
use self::segment::{SegmentRequests, segment_requests};
use self::source::{Export, SESSION, Source};
use crate::kit::fields::Fields;

/// Sessions of opencode: its `SQLite` database, or what `opencode export` writes.
///
/// * The conversations of a database are its sessions, those of subagents first; an export is one.
///   An answer is one message, with a part for each of its texts, thoughts and calls; the result is
///   in the part of its call.
/// * After a compaction the model sees the summary, the messages that were kept before the
///   compaction, and what follows. Results that were cleared have the placeholder as body. Usage is
///   given for the requests since both.
/// * What the host says in the user's place is a custom message of type `meta`. Answers that failed
///   are left out, and so is what the user undid.
/// * A digest is written as the agent's own pair, a user message that asks for a compaction and a
///   summary, after all others; the pair names the first message that is kept. An older pair among
///   what is kept goes. Restored files are further texts of the summary.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Opencode;

/// The tools of opencode.
const VOCABULARY: ToolVocabulary = ToolVocabulary {
    tools: &[
        ("read", Read),
        ("edit", Edit),
        ("multiedit", Edit),
        ("patch", Edit),
        ("apply_patch", Edit),
        ("write", Write),
        ("grep", Search),
        ("glob", Search),
        ("list", Search),
        ("bash", Run),
        ("webfetch", Fetch),
        ("websearch", Fetch),
        ("codesearch", Fetch),
        ("todowrite", Plan),
        ("todoread", Plan),
    ],
    path_keys: &["filePath", "path"],
    part_keys: &["offset", "limit"],
};

/// Opens the database of opencode.
#[cfg(feature = "sqlite")]
pub fn open_database(
    path: &std::path::Path,
    access: wb_record::Access,
) -> Result<Box<dyn Document>, FormatError> {
    use wb_record::sqlite::{SqliteParts, Table};

    use self::source::{MESSAGE, PART};

    const TABLES: &[Table] = &[
        Table {
            name: SESSION,
            group: "id",
            id: "id",
            columns: &["parent_id", "directory", "time_updated", "revert"],
        },
        Table {
            name: MESSAGE,
            group: "session_id",
            id: "id",
            columns: &["time_created", "time_updated", "data"],
        },
        Table {
            name: PART,
            group: "message_id",
            id: "id",
            columns: &["session_id", "time_created", "time_updated", "data"],
        },
    ];
    Opencode.open(Box::new(SqliteParts::open(path, TABLES, access)?))
}

impl Format for Opencode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn abilities(&self) -> Abilities {
        let yes = Ability::Yes;
        Abilities {
            fold_head: yes,
            fold_inside: Ability::No("a digest precedes all kept messages"),
            clear: yes,
            body: Ability::No("a result is sent unchanged or cleared"),
            insert: yes,
            call_ids: yes,
        }
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let is_row = |part: &String| part.starts_with("message/ses_") || part.starts_with("session/ses_");
        let is_ours = probe.parts.iter().any(is_row) || is_export(probe);
        if is_ours { Confidence::Sure } else { Confidence::No }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        let export = read_export(parts.as_ref())?;
        Ok(Box::new(OpencodeDocument { parts, export, logs: Mutex::default() }))
    }
}

/// Recognizes an export by its two members; the first may be longer than the probe.
fn is_export(probe: &Probe) -> bool {
    let Some(first) = probe.first().filter(|first| first.has("info")) else { return false };
    let is_message = |message: &ProbedValue| message.has("info") || message.has("parts");
    match first.inner.as_deref() {
        Some(list) => list.is_list && list.inner.as_deref().is_none_or(is_message),
        None => !first.has("messages") && memmem::find(&probe.head, b"\"ses_").is_some(),
    }
}

/// Reads a single file; a database has no part without a name.
fn read_export(parts: &dyn Parts) -> Result<Option<Export>, FormatError> {
    match parts.len("")? {
        Some(_) => Export::parse(parts.whole("")?).map(Some),
        None => Ok(None),
    }
}

/// A database or an export.
#[derive(Debug)]
struct OpencodeDocument {
    parts: Box<dyn Parts>,
    export: Option<Export>,
    /// The sessions that were read, so that a view and its rendering use the same rows.
    logs: Mutex<HashMap<String, Arc<SessionLog>>>,
}

impl OpencodeDocument {
    fn source<'a>(&'a self, conversation: &'a str) -> Source<'a> {
        match &self.export {
            Some(export) => Source::Export(export),
            None => Source::Rows { parts: self.parts.as_ref(), session: conversation },
        }
    }

    fn log(&self, conversation: &str) -> Result<Arc<SessionLog>, FormatError> {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(log) = logs.get(conversation) {
            return Ok(Arc::clone(log));
        }
        let log = Arc::new(SessionLog::read(&self.source(conversation))?);
        if self.export.is_none() && !log.is_there() {
            let what = format!("the database has no session {conversation:?}");
            return Err(FormatError::Log { line: None, what, hint: "name one of its sessions".to_owned() });
        }
        logs.insert(conversation.to_owned(), Arc::clone(&log));
        Ok(log)
    }
}

impl Document for OpencodeDocument {
    fn format(&self) -> &'static dyn Format {
        &Opencode
    }

    fn abilities(&self) -> Abilities {
        let is_reverted = |export: &Export| {
            SessionLog::read(&Source::Export(export)).is_ok_and(|log| log.reverted.is_some())
        };
        match &self.export {
            Some(export) if is_reverted(export) => Abilities::none(plan::REVERTED),
            _ => Opencode.abilities(),
        }
    }

    fn conversations(&self) -> Result<Vec<String>, FormatError> {
        if self.export.is_some() {
            return Ok(vec![ONLY_CONVERSATION.to_owned()]);
        }
        let mut sessions = Vec::new();
        for part in self.parts.list(&format!("{SESSION}/"))? {
            let row = self.parts.whole(&part).unwrap_or_default();
            let fields = Fields::parse(&row);
            let is_main = fields.as_ref().is_some_and(|it| it.string("parent_id").is_none());
            let updated = fields.and_then(|it| it.integer("time_updated")).unwrap_or(0);
            let id = part.rsplit('/').next().unwrap_or_default().to_owned();
            sessions.push((is_main, updated, id));
        }
        sessions.sort();
        Ok(sessions.into_iter().map(|(.., id)| id).collect())
    }

    fn view(&self, conversation: &str) -> Result<View, FormatError> {
        let log = self.log(conversation)?;
        let epoch = log.epochs().pop().unwrap_or_default();
        let mut view = View::new(Opencode.name(), VOCABULARY);
        if let Some(last) = segment_requests(&log, &epoch).pop() {
            let assembled = last.assembled(&log);
            (view.messages, view.provenance) = (assembled.messages, assembled.provenance);
            view.provenance.join_records();
            (view.usage, view.notes) = (assembled.usage, assembled.notes);
        }
        view.model = log.heads[..log.n_sent()].iter().rev().find_map(|head| head.model.clone());
        Ok(view)
    }

    fn segments(&self, conversation: &str) -> Result<Segments<'_>, FormatError> {
        let log = SessionLog::whole(&self.source(conversation))?;
        let all: Vec<SegmentRequests> =
            log.epochs().iter().flat_map(|epoch| segment_requests(&log, epoch)).collect();
        Ok(Segments::new(all.len(), move |at| {
            let assembled = all[at].assembled(&log);
            Ok(Segment::new(assembled.messages, assembled.usage))
        }))
    }

    fn render_changed(&self, wanted: &Wanted<'_>) -> Result<ChangeSet, NotExpressible> {
        let log = self.log(wanted.conversation).map_err(NotExpressible::unreadable)?;
        plan::render(&self.source(wanted.conversation), &log, wanted)
    }

    fn parts(&self) -> &dyn Parts {
        self.parts.as_ref()
    }

    fn parts_mut(&mut self) -> &mut dyn Parts {
        self.parts.as_mut()
    }

    fn refresh(&mut self) -> Result<(), FormatError> {
        self.export = read_export(self.parts.as_ref())?;
        self.logs = Mutex::default();
        Ok(())
    }
}

fn refused(why: impl Into<String>) -> NotExpressible {
    NotExpressible::Refused { format: "opencode", why: why.into() }
}
