//! Changes of a session log: made in memory, then appended to the file or written to a new one.

use std::io;
use std::path::Path;
use std::time::SystemTime;

use wb_formats::SentAs;
use wb_message::Message;
use wb_session::DriverError;
use wb_session::store::memory::MemoryStore;
use wb_session::{EntryId, EntryKind, NEWEST_VERSION, Session, SessionError, StoreError};

use super::session_log::{self, OpenLog};
use crate::args::session::SessionChange;
use crate::platform::clock::{ids, unix_ms};
use crate::session::output_file::write_whole;
use crate::session::validity::{Validity, refuse_new};
use crate::terminal::escape::{file_word, shell_word};
use crate::terminal::user_error::UserError;

/// The destination of a change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteTarget<'a> {
    pub(crate) file: &'a Path,
    /// The new file that gets the whole session.
    pub(crate) out: Option<&'a Path>,
    /// Indicates that the change stays in memory.
    pub(crate) is_dry: bool,
}

impl<'a> WriteTarget<'a> {
    pub(crate) fn from_args(args: &'a SessionChange) -> Self {
        Self { file: &args.file, out: args.out.as_deref(), is_dry: args.dry_run }
    }

    pub(crate) fn out_name(&self) -> Option<String> {
        self.out.map(|out| out.display().to_string())
    }

    /// Returns the name of the changed file, quoted for a shell.
    pub(crate) fn shell_name(&self) -> String {
        file_word(self.out.unwrap_or(self.file))
    }

    /// Returns an entry with the place that it was written to.
    pub(crate) fn appended(&self, entry: &EntryId) -> String {
        match self.out {
            Some(out) => format!("{entry}, at the end of the new file {}", out.display()),
            None => format!("{entry}, appended"),
        }
    }

    /// Returns the command that returns to an entry.
    pub(crate) fn way_back(&self, session: &Session, leaf: &EntryId) -> Result<String, SessionError> {
        let is_prompt = match session.entry(leaf)?.kind {
            EntryKind::Message(logged) => matches!(logged.message, Message::User { .. }),
            EntryKind::CustomMessage(_) => true,
            _ => false,
        };
        let before = if is_prompt { "  (before this prompt, and prints it)" } else { "" };
        Ok(format!("wb session branch {} {}{before}", self.shell_name(), shell_word(leaf.as_str())))
    }
}

/// A change that was carried out.
#[derive(Debug)]
pub(crate) struct Changed<T> {
    pub(crate) log: OpenLog,
    pub(crate) done: T,
    /// Indicates that a file contains the change; never true if nothing was appended.
    pub(crate) is_written: bool,
    /// Notes on the file.
    pub(crate) notes: Vec<String>,
}

impl<T> Changed<T> {
    /// Returns the notes on what the reader skipped, and on the file.
    pub(crate) fn all_notes(&self) -> Vec<String> {
        self.log.notes().into_iter().chain(self.notes.iter().cloned()).collect()
    }
}

/// Carries out a change, which returns its effect and the entry of the digest that it wrote.
///
/// New entries are staged, and written in one step. A refused change, or one that appends nothing,
/// leaves the file unchanged, including a torn end.
pub(crate) fn apply_change<T>(
    mut log: OpenLog,
    dest: WriteTarget<'_>,
    change: impl FnOnce(&mut Session, i64) -> Result<(T, Option<EntryId>), DriverError>,
) -> Result<Changed<T>, UserError> {
    let (mut present, mut notes) = prepared(&log, dest)?;
    let session = present.as_mut().unwrap_or(&mut log.session);
    let n_before = session.tree().nodes().len();
    let (done, digest) =
        change(session, unix_ms(SystemTime::now())).map_err(|error| failure(&log.file, &error))?;
    let has_new = session.tree().nodes().len() > n_before;
    let is_written = written(&log.file, session, digest.as_ref(), has_new, dest, &mut notes)?;
    Ok(Changed { log, done, is_written, notes })
}

/// Returns a session in the current layout, with a note if it was migrated.
fn prepared(log: &OpenLog, dest: WriteTarget<'_>) -> Result<(Option<Session>, Vec<String>), UserError> {
    check(log, dest)?;
    if !is_older(log) {
        return Ok((None, Vec::new()));
    }
    let present = in_present_layout(log).map_err(|error| log.failure(&error))?;
    let is_here = dest.out.is_none();
    let note = || format!("a layout of version {} is not appended to: the run needs -o OUT", version(log));
    Ok((Some(present), is_here.then(note).into_iter().collect()))
}

/// Writes the new entries of a session to their destination, and returns whether there were any.
fn written(
    file: &str,
    session: &mut Session,
    digest: Option<&EntryId>,
    has_new: bool,
    dest: WriteTarget<'_>,
    notes: &mut Vec<String>,
) -> Result<bool, UserError> {
    if let Some(digest) = digest {
        refuse_invalid(file, session, digest)?;
    }
    if !has_new || dest.is_dry {
        return Ok(false);
    }
    match dest.out {
        Some(out) => write_whole(out, Some(dest.file), false, |to| session.write_to(to).map_err(io_error))?,
        None => notes.extend(append(session).map_err(|error| failure(file, &error.into()))?),
    }
    Ok(true)
}

/// Refuses a digest with which providers would refuse what they would take without it.
fn refuse_invalid(file: &str, session: &Session, digest: &EntryId) -> Result<(), UserError> {
    let validity = |leaf: Option<&EntryId>| {
        let context = session.context(leaf).map_err(|error| failure(file, &error.into()))?;
        Ok(Validity::new(&context.messages, &SentAs::from_format("pi", None)))
    };
    let parent = session.tree().node(digest).and_then(|node| node.parent_id);
    refuse_new(&validity(session.leaf())?, file, || validity(parent.as_ref()), "")
}

/// Returns a session of an older layout in the present one, in memory.
fn in_present_layout(log: &OpenLog) -> Result<Session, SessionError> {
    let mut lines = Vec::new();
    log.session.write_to(&mut lines)?;
    Session::open(Box::new(MemoryStore::of_lines(lines)), ids())
}

/// Writes the staged entries of a session, and returns a note on the file, if any.
fn append(session: &mut Session) -> Result<Option<String>, SessionError> {
    session.sync()?;
    let aside = session.torn().and_then(|torn| torn.kept_in.as_ref());
    Ok(aside.map(|aside| format!("the truncated last line was moved to {}", aside.display())))
}

/// Refuses a destination that cannot be written.
fn check(log: &OpenLog, dest: WriteTarget<'_>) -> Result<(), UserError> {
    if let Some(out) = dest.out {
        return check_out(out);
    }
    if dest.is_dry {
        return Ok(());
    }
    if log.is_stream() {
        return Err(UserError::of_file(&log.file, "a pipe can't be appended to", NAME_OUT));
    }
    if is_older(log) {
        let error = SessionError::OtherLayout { version: version(log) };
        return Err(failure(&log.file, &error.into()));
    }
    Ok(())
}

fn version(log: &OpenLog) -> u64 {
    log.session.header().version
}

fn is_older(log: &OpenLog) -> bool {
    version(log) < NEWEST_VERSION
}

fn check_out(out: &Path) -> Result<(), UserError> {
    let name = out.display().to_string();
    if out == Path::new("-") {
        return Err(UserError::of_file(&name, "standard output has the report", "name a new file with -o"));
    }
    if out.symlink_metadata().is_ok() {
        return Err(UserError::of_file(
            &name,
            "already exists",
            "name a new file with -o, or move this one away",
        ));
    }
    Ok(())
}

const NAME_OUT: &str = "write the whole session to a new file with -o OUT";

fn io_error(error: SessionError) -> io::Error {
    match error {
        SessionError::Io { source, .. } => source,
        other => io::Error::other(other),
    }
}

/// Builds the error of a change, with a hint for a command that writes.
fn failure(file: &str, error: &DriverError) -> UserError {
    let hint = match error {
        DriverError::Session(error) => hint(error),
        _ => "`wb session context` shows what there is to summarize",
    };
    UserError::of_file(file, error.to_string(), hint)
}

fn hint(error: &SessionError) -> &str {
    match error {
        SessionError::OtherLayout { version: 0..NEWEST_VERSION } => {
            "-o OUT writes the whole session to a new file in the present layout, with the change"
        }
        SessionError::OtherLayout { .. } => "a newer `wb` may know this layout",
        SessionError::Store(StoreError::Io { .. }) => {
            "check that the file may be written and the disk has room, or write to a new file with -o OUT"
        }
        SessionError::Store(StoreError::Locked { .. }) => {
            "close the other program, or write to a new file with -o OUT"
        }
        SessionError::Store(StoreError::Changed { .. } | StoreError::Broken { .. }) => {
            "close the program that writes to it, look at `wb session tree`, then try again"
        }
        SessionError::NothingToUndo => {
            "`wb session tree` shows where compactions are; go to an entry after one first"
        }
        other => session_log::hint(other),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wb_message::Block;
    use wb_session::{Compaction, NewSession};

    use super::*;

    /// Appends a digest, and two calls of these ids with their results.
    fn digest_and(call_ids: [&str; 2], dest: &WriteTarget<'_>) -> Result<Changed<()>, UserError> {
        let begin = NewSession { id: "s".into(), timestamp: 0, cwd: "/".into(), parent_session: None };
        let mut session = Session::create(Box::new(MemoryStore::default()), &begin, ids()).unwrap();
        session.append(&Message::user("Look around.").into(), 1).unwrap();
        apply_change(OpenLog::of_session("s.jsonl", session), *dest, |session, now| {
            let digest = Compaction { summary: "# Goal".into(), ..Compaction::default() };
            let digest = session.append(&EntryKind::Compaction(digest), now)?;
            let calls = call_ids.map(|id| Block::call(id, "ls", json!({})));
            session.append(&Message::assistant_blocks(calls.to_vec()).into(), now)?;
            for id in call_ids {
                session.append(&Message::tool_result(id, "ls", "a.rs").into(), now)?;
            }
            Ok(((), Some(digest)))
        })
    }

    #[test]
    fn a_digest_with_which_the_provider_would_refuse_the_session_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let (file, out) = (folder.path().join("s.jsonl"), folder.path().join("new.jsonl"));
        std::fs::write(&file, "").unwrap();
        let dest = WriteTarget { file: &file, out: Some(&out), is_dry: false };
        let refused = digest_and(["c1", "c1"], &dest).unwrap_err().to_string();
        assert!(refused.contains("the provider would reject the result: "), "{refused}");
        assert!(!out.exists());
        assert!(digest_and(["c1", "c2"], &dest).unwrap().is_written && out.exists());
    }
}
