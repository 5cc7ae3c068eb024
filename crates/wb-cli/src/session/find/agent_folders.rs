//! Finds the folders in which coding agents store sessions on this machine.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wb_formats::opencode::{DatabaseSession, database_sessions};

use super::database::{path_in, split};
use super::session_head::SessionHead;
use crate::platform::environment::Environment;
use crate::terminal::file_error::not_opened;
use crate::terminal::user_error::UserError;

/// The most levels of folders to search for a session.
const MOST_DEPTH: usize = 6;

/// A folder in which an agent keeps its sessions.
#[derive(Debug)]
pub(crate) struct AgentFolder {
    pub(crate) agent: &'static str,
    pub(crate) folder: PathBuf,
    names: Names,
}

/// The prefix and suffix of session file names, and the prefix of other files next to them.
#[derive(Clone, Copy, Debug)]
struct Names {
    begin: &'static str,
    end: &'static str,
    others_begin: Option<&'static str>,
}

const ANY: Names = Names { begin: "", end: "jsonl", others_begin: None };
const OF_CLAUDE: Names = Names { others_begin: Some(SUBAGENT), ..ANY };
const OF_GEMINI: Names = Names { begin: "session-", ..ANY };
const OF_CODEX: Names = Names { begin: "rollout-", ..ANY };
const OF_OPENCODE: Names = Names { begin: "opencode.", end: "db", others_begin: None };
/// The prefix of the names of subagent transcripts.
const SUBAGENT: &str = "agent-";

/// A session that was found.
#[derive(Clone, Debug)]
pub(crate) struct FoundSession {
    pub(crate) agent: &'static str,
    /// The file, or the name of a session in a database.
    pub(crate) path: PathBuf,
    pub(crate) n_bytes: u64,
    pub(crate) modified: SystemTime,
    /// The subject, if the list has it.
    pub(crate) head: Option<SessionHead>,
}

/// Returns the folders that agents use by default, in the environment of this user.
pub(crate) fn agent_folders(environment: &Environment) -> Vec<AgentFolder> {
    let home = |below: &str| environment.home.as_deref().map(|home| home.join(below));
    let claude = environment.claude_config.as_deref().map(|folder| folder.join("projects"));
    let pi = environment.pi_agent.as_deref().map(|folder| folder.join("sessions"));
    let codex = environment.codex_home.as_deref().map(|folder| folder.join("sessions"));
    let gemini = environment.gemini_home.as_deref().map(|folder| folder.join(".gemini/tmp"));
    let data = environment.data_home.clone().or_else(|| home(".local/share"));
    let known = [
        ("claude-code", claude, OF_CLAUDE),
        ("claude-code", home(".claude/projects"), OF_CLAUDE),
        ("pi", pi.or_else(|| home(".pi/agent/sessions")), ANY),
        ("codex", codex.or_else(|| home(".codex/sessions")), OF_CODEX),
        ("gemini-cli", gemini.or_else(|| home(".gemini/tmp")), OF_GEMINI),
        ("opencode", data.map(|folder| folder.join("opencode")), OF_OPENCODE),
    ];
    let mut all: Vec<AgentFolder> = Vec::new();
    for (agent, folder, names) in known {
        let Some(folder) = folder else { continue };
        if !all.iter().any(|known| known.folder == folder) {
            all.push(AgentFolder { agent, folder, names });
        }
    }
    all
}

/// Returns the session that was written to last.
pub(crate) fn newest_session(environment: &Environment) -> Option<PathBuf> {
    sessions_newest_first(&agent_folders(environment)).into_iter().next().map(|it| it.path)
}

/// Returns the sessions in folders, those that were written to last first.
pub(crate) fn sessions_newest_first(folders: &[AgentFolder]) -> Vec<FoundSession> {
    let mut found: Vec<FoundSession> = folders.iter().flat_map(AgentFolder::sessions).collect();
    found.sort_by(|one, two| two.modified.cmp(&one.modified).then_with(|| one.path.cmp(&two.path)));
    found
}

impl Names {
    fn fit(self, file: &Path) -> bool {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let is_other = self.others_begin.is_some_and(|begin| name.starts_with(begin));
        file.extension().is_some_and(|end| end == self.end) && name.starts_with(self.begin) && !is_other
    }
}

impl AgentFolder {
    /// Returns the sessions in it; one that cannot be listed has none.
    pub(crate) fn sessions(&self) -> Vec<FoundSession> {
        let mut found = Vec::new();
        self.add_below(&self.folder, MOST_DEPTH, &mut found);
        found
    }

    /// Returns why it cannot be listed, if it is there.
    pub(crate) fn problem(&self) -> Option<UserError> {
        let error = self.folder.read_dir().err()?;
        (error.kind() != ErrorKind::NotFound).then(|| not_opened(&self.folder, &error))
    }

    fn add_below(&self, folder: &Path, depth: usize, found: &mut Vec<FoundSession>) {
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if depth > 0 {
                    self.add_below(&path, depth - 1, found);
                }
            } else if self.names.fit(&path) {
                // Opening a pipe would wait for its writer.
                let file = fs::metadata(&path).ok().filter(fs::Metadata::is_file);
                let Some(file) = file else { continue };
                let Ok(modified) = file.modified() else { continue };
                let (agent, n_bytes) = (self.agent, file.len());
                let session = FoundSession { agent, path, n_bytes, modified, head: None };
                found.extend(in_file(session));
            }
        }
    }
}

/// Returns the sessions in a file: itself, or those of a database that can be read.
fn in_file(file: FoundSession) -> Vec<FoundSession> {
    if file.path.extension().is_none_or(|end| end != OF_OPENCODE.end) {
        return vec![file];
    }
    let Ok(sessions) = database_sessions(&file.path) else { return vec![file] };
    let one = |session: DatabaseSession| FoundSession {
        path: path_in(&file.path, &session.id),
        n_bytes: 0,
        modified: UNIX_EPOCH + Duration::from_millis(u64::try_from(session.updated_ms).unwrap_or(0)),
        head: Some(SessionHead {
            folder: session.folder.map(PathBuf::from),
            title: session.title,
            prompt: None,
        }),
        ..file
    };
    sessions.into_iter().map(one).collect()
}

/// Returns the working folder of a session, if the start of its file contains it.
pub(crate) fn working_folder(session: &Path) -> Option<PathBuf> {
    let (file, name) = split(session);
    match name {
        None => SessionHead::read(file).ok()?.folder,
        Some(name) => {
            let mut known = database_sessions(file).ok()?.into_iter();
            known.find(|it| it.id == name)?.folder.map(PathBuf::from)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_the_agents_say_where_else_to_look() {
        let names = |environment: &Environment| -> Vec<String> {
            agent_folders(environment).iter().map(|it| it.folder.display().to_string()).collect()
        };
        let plain = Environment { home: Some("/home/a".into()), ..Environment::default() };
        let opencode = "/home/a/.local/share/opencode";
        let gemini = "/home/a/.gemini/tmp";
        let usual = [
            "/home/a/.claude/projects",
            "/home/a/.pi/agent/sessions",
            "/home/a/.codex/sessions",
            gemini,
            opencode,
        ];
        assert_eq!(names(&plain), usual);
        let moved = Environment {
            claude_config: Some("/c".into()),
            pi_agent: Some("/p".into()),
            codex_home: Some("/x".into()),
            gemini_home: Some("/g".into()),
            data_home: Some("/d".into()),
            ..plain
        };
        let elsewhere = [
            "/c/projects",
            "/home/a/.claude/projects",
            "/p/sessions",
            "/x/sessions",
            "/g/.gemini/tmp",
            "/d/opencode",
        ];
        assert_eq!(names(&moved), elsewhere);
        assert_eq!(names(&Environment::default()), [""; 0]);
    }

    #[test]
    fn sessions_are_known_by_their_names() {
        let home = tempfile::tempdir().unwrap();
        let files = [
            ".claude/projects/-a/1.jsonl",
            ".claude/projects/-a/agent-2.jsonl",
            ".claude/projects/-a/memory.md",
            ".pi/agent/sessions/--a--/3.jsonl",
            ".codex/sessions/2026/01/02/rollout-4.jsonl",
            ".codex/sessions/2026/01/02/history.jsonl",
            ".gemini/tmp/b/chats/session-2026-01-02-5.jsonl",
            ".gemini/tmp/b/logs.jsonl",
        ];
        for file in files.map(|file| home.path().join(file)) {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "{\"payload\":{\"cwd\":\"/a/b\"}}\n").unwrap();
        }
        fs::write(home.path().join(files[6]), "{\"sessionId\":\"5\"}\n").unwrap();
        fs::write(home.path().join(".gemini/tmp/b/.project_root"), "/a/g\n").unwrap();
        let environment = Environment { home: Some(home.path().into()), ..Environment::default() };
        let found: Vec<FoundSession> =
            agent_folders(&environment).iter().flat_map(AgentFolder::sessions).collect();
        let names: Vec<_> = found.iter().map(|it| it.path.strip_prefix(home.path()).unwrap()).collect();
        assert_eq!(names, [files[0], files[3], files[4], files[6]].map(Path::new));
        assert_eq!(working_folder(&found[0].path), Some("/a/b".into()));
        assert_eq!(working_folder(&found[3].path), Some("/a/g".into()));
    }
}
