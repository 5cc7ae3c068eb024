//! Which session is meant: a file, an id, or the newest of a project.

use std::path::{Path, PathBuf};

use wb_record::{FileParts, Parts as _, Probe, Span};

use crate::platform::environment::Environment;
use crate::session::agent_folders::{FoundSession, agent_folders, sessions_newest_first, working_folder};

/// The fewest characters of an id.
const LEAST_ID_CHARS: usize = 6;
/// The start of a database.
const DATABASE: &[u8] = b"SQLite format 3\0";
/// The sessions of a project that are searched.
const MOST_SESSIONS: usize = 50;

/// Returns the session that a word names, if it names one.
pub(crate) fn named(environment: &Environment, word: &str) -> Option<PathBuf> {
    let path = Path::new(word);
    if word == "-" {
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
    let Ok(folder) = folder.canonicalize() else { return Vec::new() };
    let root = folder.ancestors().find(|it| it.join(".git").exists()).unwrap_or(&folder);
    let all = sessions_newest_first(&agent_folders(environment)).into_iter();
    let of_agent = all.filter(|session| agent.is_none_or(|agent| session.agent == agent));
    let with_folder = |session: FoundSession| {
        let of = working_folder(&session.path)?;
        let of = of.canonicalize().unwrap_or(of);
        (folder.starts_with(&of) && of.starts_with(root)).then_some((of, session.path))
    };
    let found: Vec<(PathBuf, PathBuf)> = of_agent.filter_map(with_folder).collect();
    let nearest = found.iter().map(|(of, _)| of.components().count()).max();
    let nearest = found.iter().filter(|(of, _)| Some(of.components().count()) == nearest);
    nearest.map(|(_, path)| path.clone()).take(MOST_SESSIONS).collect()
}

/// Returns whether a word is the id of a session or its start. Names of files are the id, or end
/// with it.
fn has_id(session: &Path, word: &str) -> bool {
    let name = session.file_stem().unwrap_or_default().to_string_lossy();
    let mut starts =
        name.char_indices().filter(|(at, _)| *at == 0 || matches!(name.as_bytes()[at - 1], b'_' | b'-'));
    word.len() >= LEAST_ID_CHARS && starts.any(|(at, _)| name[at..].starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_known_by_its_start() {
        let codex = Path::new("/s/rollout-2026-01-02T03-04-05-0a1b2c3d-11.jsonl");
        let pi = Path::new("/s/2026-01-02T03-04_0a1b2c3d.jsonl");
        for session in [codex, pi, Path::new("/s/0a1b2c3d-11.jsonl")] {
            assert!(has_id(session, "0a1b2c") && !has_id(session, "0a1") && !has_id(session, "1b2c3d"));
        }
    }
}
