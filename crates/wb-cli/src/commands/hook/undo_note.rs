//! Records what `wb undo` needs for a compaction that an agent writes itself: the session's earlier
//! records.

use std::path::{Path, PathBuf};

use wb_formats::{newest, open_path};
use wb_record::{Access, DelegatedCompaction, History, ONLY_CONVERSATION, Stamp};

use super::decide::messages_at;
use super::protocol::{Answer, Place, Request, Source};
use crate::platform::clock;
use crate::platform::environment::Environment;
use crate::session::agent_folders::agent_folders;

/// Notes a compaction next to its session, and returns whether it could.
pub(crate) fn note(
    request: &Request<'_>,
    path: &Path,
    answer: &Answer,
    by_agent: DelegatedCompaction,
) -> Option<()> {
    let mut document = open_path(path, Access::Read).ok()?;
    let conversation = match document.conversations().ok()? {
        named if named != [ONLY_CONVERSATION] => {
            request.session_id.clone().filter(|id| named.contains(id))?
        }
        _ => newest(document.as_ref()).ok()?,
    };
    let mut view = document.view(&conversation).ok()?;
    // Records that the agent has not written yet would be missing after an undo.
    let newest = Place::Id(request.newest_record.clone()?);
    let newest = messages_at(&newest, document.as_ref(), &view)?;
    if let Source::Content(_) = request.session {
        // What already follows it is the agent's compaction request, which is removed with it.
        view.messages.truncate(newest.end);
    }
    let report = answer.report?;
    let stamp = Stamp {
        tokens_before: report.tokens_before,
        tokens_after: report.tokens_after,
        by_hand: false,
        ..clock::stamp()
    };
    let mut history = History::open_for(path, Access::Write).ok()?;
    history.leave_to_agent(document.as_mut(), &conversation, &view, by_agent, &stamp).ok()
}

/// Returns the session's file: the one in the request, the opencode database, or the file of the
/// session that Claude Code names in the environment.
pub(crate) fn session_file(request: &Request<'_>, environment: &Environment) -> Option<PathBuf> {
    if let Some(path) = &request.session_file {
        return Some(path.clone());
    }
    if let Source::Path(path) = &request.session {
        return Some(path.clone());
    }
    let host = request.host.as_deref()?;
    let names: Vec<String> = match host {
        "claude-code" => environment
            .claude_sessions
            .as_deref()?
            .split(',')
            .map(|id| format!("{}.jsonl", id.trim()))
            .collect(),
        "opencode" => vec!["opencode.db".to_owned()],
        _ => return None,
    };
    let folders = agent_folders(environment).into_iter().filter(|folder| folder.agent == host);
    let mut found = folders.flat_map(|folder| folder.sessions()).map(|found| found.path);
    found.find(|path| {
        path.file_name().is_some_and(|name| names.iter().any(|it| *it == *name.to_string_lossy()))
    })
}
