//! Records what `wb undo` needs for a compaction that an agent writes itself: the session's earlier
//! records.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use wb_formats::{newest, open_path};
use wb_record::{
    Access, DelegatedCompaction, Document, History, HistoryError, ONLY_CONVERSATION, Stamp, View,
};

use super::decide::messages_at;
use super::protocol::{Answer, Place, Request, Source};
use crate::platform::clock;
use crate::platform::environment::Environment;
use crate::session::find::agent_folders::agent_folders;
use crate::session::find::database::file_of;

/// The time that a host may take to write the newest record after it asked: Claude Code takes up to
/// half a second.
const RECORD_DELAY: Duration = Duration::from_secs(2);
/// The time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(40);

/// A session file that contains the newest record.
struct WrittenSession {
    document: Box<dyn Document>,
    conversation: String,
    view: View,
    newest: Range<usize>,
}

/// Opens a session; nothing if it does not contain the newest record yet.
fn written(request: &Request<'_>, path: &Path) -> Option<WrittenSession> {
    let document = open_path(path, Access::Read).ok()?;
    let conversation = match document.conversations().ok()? {
        named if named != [ONLY_CONVERSATION] => {
            request.session_id.clone().filter(|id| named.contains(id))?
        }
        _ => newest(document.as_ref()).ok()?,
    };
    let view = document.view(&conversation).ok()?;
    let newest = Place::Id(request.newest_record.clone()?);
    let newest = messages_at(&newest, document.as_ref(), &view)?;
    Some(WrittenSession { document, conversation, view, newest })
}

/// Waits for the newest record: an undo would not restore one that the host has not written yet.
fn wait_for_newest(request: &Request<'_>, path: &Path) -> Option<WrittenSession> {
    let start = Instant::now();
    request.newest_record.as_ref()?;
    loop {
        if let Some(written) = written(request, path) {
            return Some(written);
        }
        if start.elapsed() > RECORD_DELAY {
            return None;
        }
        sleep(LOOK_EVERY);
    }
}

/// Notes a compaction next to its session, and returns whether it could. The host has its answer
/// already.
pub(crate) fn note(
    request: &Request<'_>,
    path: &Path,
    answer: &Answer,
    by_agent: DelegatedCompaction,
) -> Option<()> {
    let WrittenSession { mut document, conversation, mut view, newest } = wait_for_newest(request, path)?;
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
    let mut history = match History::open_for(path, Access::Write) {
        Err(HistoryError::DamagedList { .. }) => {
            History::rebuild_list(path).ok()?;
            History::open_for(path, Access::Write)
        }
        history => history,
    }
    .ok()?;
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
    let mut found = folders.flat_map(|folder| folder.sessions()).map(|found| file_of(&found.path).to_owned());
    found.find(|path| {
        path.file_name().is_some_and(|name| names.iter().any(|it| *it == *name.to_string_lossy()))
    })
}
