//! What `wb undo` needs of a compaction that an agent writes itself: the records that the session had before.

use std::path::PathBuf;

use wb_formats::{newest, open_path};
use wb_record::{Access, ByAgent, History, Stamp};

use super::decide::index_of;
use super::protocol::{Answer, Place, Request, Source};
use crate::agent_folders::agent_folders;
use crate::clock;
use crate::environment::Environment;

/// Notes a compaction next to the session that it is of, and tells whether it could.
pub(crate) fn note(
    request: &Request<'_>,
    environment: &Environment,
    answer: &Answer,
    by_agent: ByAgent,
) -> Option<()> {
    let path = session_file(request, environment)?;
    let mut document = open_path(&path, Access::Read).ok()?;
    let conversation = match document.conversations().ok()? {
        several if several.len() > 1 => request.session_id.clone().filter(|id| several.contains(id))?,
        _ => newest(document.as_ref()).ok()?,
    };
    let view = document.view(&conversation).ok()?;
    // What the agent has not written yet would be missing after an undo.
    let newest = Place::Id(request.newest_record.clone()?);
    index_of(&newest, document.as_ref(), &view)?;
    let report = answer.report?;
    let stamp = Stamp {
        tokens_before: report.tokens_before,
        tokens_after: report.tokens_after,
        by_hand: false,
        ..clock::stamp()
    };
    let mut history = History::beside(&path, Access::Write).ok()?;
    history.leave_to_agent(document.as_mut(), &conversation, &view, by_agent, &stamp).ok()
}

/// Returns the session's file: the one that is told, or that of the session by which Claude Code says that it runs this
/// program.
fn session_file(request: &Request<'_>, environment: &Environment) -> Option<PathBuf> {
    if let Some(path) = &request.session_file {
        return Some(path.clone());
    }
    if let Source::Path(path) = &request.session {
        return Some(path.to_path_buf());
    }
    let ids =
        environment.claude_sessions.as_deref().filter(|_| request.host.as_deref() == Some("claude-code"))?;
    let names: Vec<String> = ids.split(',').map(|id| format!("{}.jsonl", id.trim())).collect();
    let folders = agent_folders(environment).into_iter().filter(|folder| folder.agent == "claude-code");
    let mut found = folders.flat_map(|folder| folder.sessions()).map(|found| found.path);
    found.find(|path| {
        path.file_name().is_some_and(|name| names.iter().any(|it| *it == *name.to_string_lossy()))
    })
}
