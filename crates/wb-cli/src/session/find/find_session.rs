//! Which session is meant: a file, an id, words of a title, or the newest of a project.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use wb_record::{FileParts, Parts as _, Probe, Span};

use super::agent_folders::{AgentFolder, agent_folders, sessions_newest_first};
use super::database::split;
use super::known_sessions::{KnownSession, KnownSessions, has_id};
use crate::args::database_url::is_database;
use crate::platform::environment::Environment;
use crate::terminal::user_error::UserError;

/// The start of a database.
const DATABASE: &[u8] = b"SQLite format 3\0";
/// The sessions of a project that are searched.
const MOST_SESSIONS: usize = 50;
/// The sessions that an error lists.
const MOST_CANDIDATES: usize = 5;
/// The ends of names of files that hold sessions.
const ENDINGS: [&str; 6] = ["jsonl", "json", "db", "traj", "yaml", "txt"];

/// The session that a command works on.
#[derive(Debug)]
pub(crate) struct ChosenSession {
    pub(crate) path: PathBuf,
    /// Its subject, if its file was not named.
    pub(crate) known: Option<KnownSession>,
}

impl ChosenSession {
    fn of_path(path: &Path) -> Self {
        Self { path: path.to_owned(), known: None }
    }
}

impl From<&KnownSession> for ChosenSession {
    fn from(known: &KnownSession) -> Self {
        Self { path: known.found.path.clone(), known: Some(known.clone()) }
    }
}

/// Finds the session that a word names; a folder is the newest session in it.
pub(crate) fn choose(environment: &Environment, word: &Path) -> Result<ChosenSession, UserError> {
    let is_folder = word.is_dir();
    let Some(text) = word.to_str().filter(|text| is_folder || !is_file(text, word)) else {
        return Ok(ChosenSession::of_path(word));
    };
    let known = if is_folder { of_folder(environment, word) } else { KnownSessions::read(environment) };
    let chosen = if is_folder { newest_here(&known, word) } else { by_word(&known, text) };
    known.close();
    chosen
}

/// Returns whether a word names a file, whether or not it is there.
fn is_file(text: &str, word: &Path) -> bool {
    let is_named = || word.extension().is_some_and(|end| ENDINGS.iter().any(|known| end == *known));
    let looks_like_one = text.contains('/') && !text.contains(char::is_whitespace) || is_named();
    text == "-"
        || is_database(word)
        || word.symlink_metadata().is_ok()
        || looks_like_one
        || split(word).1.is_some()
}

fn of_folder(environment: &Environment, folder: &Path) -> KnownSessions {
    let found = agent_folders(environment).iter().flat_map(AgentFolder::sessions).collect();
    KnownSessions::from_found(environment, found, Some(folder))
}

fn newest_here(known: &KnownSessions, folder: &Path) -> Result<ChosenSession, UserError> {
    match known.here().next() {
        Some(newest) => Ok(newest.into()),
        // A folder of files may be meant; reading it says so.
        None if folder != Path::new(".") => Ok(ChosenSession::of_path(folder)),
        None if known.all.is_empty() => Err(UserError::new(
            "no session of this folder was found",
            "name a session file; `wb` lists the folders it searches",
        )),
        None => Err(UserError::new("no session of this folder was found", TO_TYPE)
            .with_candidates(lines(&known.all.iter().collect::<Vec<_>>()))),
    }
}

/// The ways to name a session.
const TO_TYPE: &str = "name a session by its id, a file or words of its title; `wb` lists sessions";

/// Finds a session by its id, the start of it, or words of its title.
fn by_word(known: &KnownSessions, word: &str) -> Result<ChosenSession, UserError> {
    let by_id: Vec<&KnownSession> = known.all.iter().filter(|session| session.has_id(word)).collect();
    let whole: Vec<&KnownSession> = by_id.iter().filter(|session| session.id == word).copied().collect();
    let by_id = if let [_] = whole.as_slice() { whole } else { by_id };
    // A short word may be the start of an id and a word of a title.
    let others = || known.all.iter().filter(|session| session.has_start(word) || session.has_words(word));
    let matches: Vec<&KnownSession> = if by_id.is_empty() { others().collect() } else { by_id };
    let exact = |session: &&&KnownSession| session.head.title.as_deref() == Some(word);
    let mut same = matches.iter().filter(exact);
    match (matches.as_slice(), same.next(), same.next()) {
        ([], ..) => Err(UserError::new(format!("no session is named `{word}`"), TO_TYPE)
            .with_candidates(lines(&known.all.iter().collect::<Vec<_>>()))),
        ([one], ..) | (_, Some(one), None) => Ok((*one).into()),
        (many, ..) => Err(UserError::new(
            format!("`{word}` names {} sessions", many.len()),
            format!("type the id of one, which is first in its line{}", more(many.len())),
        )
        .with_candidates(lines(many))),
    }
}

/// Returns where those that are not listed are.
fn more(n: usize) -> String {
    let more = n.saturating_sub(MOST_CANDIDATES);
    if more > 0 { format!("; `wb --all` also lists the other {more}") } else { String::new() }
}

fn lines(sessions: &[&KnownSession]) -> Vec<String> {
    let now = SystemTime::now();
    sessions.iter().take(MOST_CANDIDATES).map(|session| session.line(now)).collect()
}

/// Returns the session that a word names by its file, folder or id, if it names one.
pub(crate) fn named(environment: &Environment, word: &str) -> Option<PathBuf> {
    let path = Path::new(word);
    if word == "-" || is_database(path) || split(path).1.is_some() {
        return Some(path.to_owned());
    }
    if path.is_dir() {
        return of_project(environment, path, None).into_iter().next();
    }
    if path.is_file() {
        // Why a file of this name cannot be read is said when it is read.
        return (is_session(path) || is_like_one(word)).then(|| path.to_owned());
    }
    let mut found = sessions_newest_first(&agent_folders(environment)).into_iter();
    found.find(|session| has_id(&session.path, word)).map(|session| session.path)
}

/// Returns whether a file looks like a session, from its start.
fn is_session(path: &Path) -> bool {
    let Ok(parts) = FileParts::open_for_reading(path) else { return false };
    let magic = parts.bytes(&Span { len: DATABASE.len() as u64, ..Span::default() });
    magic.is_ok_and(|start| *start == *DATABASE)
        || Probe::new(&parts).is_ok_and(|probe| wb_formats::detect(&probe).is_some())
}

/// Returns whether a word can only be meant as a session: a file of one, or an id.
pub(crate) fn is_like_one(word: &str) -> bool {
    let is_id = |part: &str| part.len() >= 8 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_file = Path::new(word).extension().is_some_and(|end| end == "jsonl" || end == "db");
    is_file || word.split('-').count() > 2 && word.split('-').next().is_some_and(is_id)
}

/// Returns the sessions whose project is a folder or, in a repository, a folder above it; newest
/// first.
pub(crate) fn of_project(environment: &Environment, folder: &Path, agent: Option<&str>) -> Vec<PathBuf> {
    let all = agent_folders(environment);
    let of_agent = all.iter().filter(|folder| agent.is_none_or(|agent| folder.agent == agent));
    let found = of_agent.flat_map(AgentFolder::sessions).collect();
    let known = KnownSessions::from_found(environment, found, Some(folder));
    known.here().map(|session| session.found.path.clone()).take(MOST_SESSIONS).collect()
}
