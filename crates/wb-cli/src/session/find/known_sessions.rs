//! The sessions on this machine, those of the working folder first.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::agent_folders::{AgentFolder, FoundSession, agent_folders};
use super::database::split;
use super::session_cache::SessionCache;
use super::session_head::SessionHead;
use crate::platform::environment::Environment;
use crate::terminal::number::grouped;

/// The fewest characters of a long id that are shown.
const SHOWN_ID: usize = 8;
/// The most characters of an id that is shown whole.
const WHOLE_ID: usize = 16;
/// The hexadecimal digits of an id of agents, with its dashes.
const UUID_CHARS: usize = 36;

/// A session and its subject.
#[derive(Clone, Debug)]
pub(crate) struct KnownSession {
    pub(crate) found: FoundSession,
    pub(crate) head: SessionHead,
    /// As much of the id as distinguishes it from all others.
    pub(crate) id: String,
    /// Indicates that it was held in the working folder, or in one above within its repository.
    pub(crate) is_here: bool,
}

/// All sessions: those of this folder first, each part newest first.
#[derive(Debug, Default)]
pub(crate) struct KnownSessions {
    pub(crate) all: Vec<KnownSession>,
    pub(crate) cache: SessionCache,
}

impl KnownSessions {
    /// Finds the sessions of all agents.
    pub(crate) fn read(environment: &Environment) -> Self {
        let found = agent_folders(environment).iter().flat_map(AgentFolder::sessions).collect();
        Self::from_found(environment, found, environment.working.as_deref())
    }

    /// Reads the subjects of sessions, and which of them are of a folder.
    pub(crate) fn from_found(
        environment: &Environment,
        found: Vec<FoundSession>,
        folder: Option<&Path>,
    ) -> Self {
        let mut cache = SessionCache::read(environment);
        let ids = shown_ids(&found);
        let with_head = |(found, id): (FoundSession, String)| {
            let head = cache.head(&found);
            KnownSession { found, head, id, is_here: false }
        };
        let mut all: Vec<KnownSession> = found.into_iter().zip(ids).map(with_head).collect();
        if let Some(folder) = folder {
            mark_here(&mut all, folder);
        }
        all.sort_by(|one, two| {
            let (first, second) = (&one.found, &two.found);
            let newest = second.modified.cmp(&first.modified).then_with(|| second.path.cmp(&first.path));
            two.is_here.cmp(&one.is_here).then(newest)
        });
        Self { all, cache }
    }

    /// Returns those of the working folder, newest first.
    pub(crate) fn here(&self) -> impl Iterator<Item = &KnownSession> {
        self.all.iter().take_while(|session| session.is_here)
    }

    /// Writes the cache.
    pub(crate) fn close(self) {
        self.cache.write(self.all.iter().map(|session| session.found.path.as_path()));
    }
}

impl KnownSession {
    /// Returns the title or the first prompt; without one, where it was held.
    pub(crate) fn name(&self) -> String {
        let folder = self.head.folder.as_deref().and_then(Path::file_name);
        let name = || folder.unwrap_or_default().to_string_lossy().into_owned();
        self.head.name().map_or_else(name, str::to_owned)
    }

    /// Returns one line that identifies it: id, agent, age and name.
    pub(crate) fn line(&self, now: SystemTime) -> String {
        format!("{}  {}  {}  {}", self.id, self.found.agent, self.age(now), self.name())
    }

    /// Returns how long ago it was written to.
    pub(crate) fn age(&self, now: SystemTime) -> String {
        age(now.duration_since(self.found.modified).unwrap_or_default())
    }

    /// Returns whether a word is a start of the id that is shown.
    pub(crate) fn has_start(&self, word: &str) -> bool {
        self.id.starts_with(word)
    }

    /// Returns whether a word is the id or its start. Names of files are the id, or end with it.
    pub(crate) fn has_id(&self, word: &str) -> bool {
        has_id(&self.found.path, word)
    }

    /// Returns whether all words occur in the title, the first prompt or the name of the folder.
    pub(crate) fn has_words(&self, words: &str) -> bool {
        let folder = self.head.folder.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
        let texts = [self.head.title.as_deref(), self.head.prompt.as_deref(), folder];
        let text: String = texts.into_iter().flatten().flat_map(|text| [text, " "]).collect();
        let text = text.to_lowercase();
        words.to_lowercase().split_whitespace().all(|word| text.contains(word))
    }
}

/// The fewest characters of an id that name a session, and of one that can be no other word: digits
/// and letters of a hexadecimal number.
const LEAST_ID_CHARS: usize = 6;
const LEAST_HEX_CHARS: usize = 4;

/// Returns whether a word is the id of a session or its start.
pub(crate) fn has_id(session: &Path, word: &str) -> bool {
    let name = session.file_stem().unwrap_or_default().to_string_lossy();
    let mut starts =
        name.char_indices().filter(|(at, _)| *at == 0 || matches!(name.as_bytes()[at - 1], b'_' | b'-'));
    let mut is_start = || starts.any(|(at, _)| name[at..].starts_with(word));
    let is_hex = || {
        let has = |is: fn(&u8) -> bool| word.as_bytes().iter().any(is);
        word.bytes().all(|byte| byte.is_ascii_hexdigit())
            && has(u8::is_ascii_digit)
            && has(u8::is_ascii_alphabetic)
    };
    let is_long = word.len() >= LEAST_ID_CHARS || word.len() >= LEAST_HEX_CHARS && is_hex();
    name == word || is_long && is_start()
}

/// Returns the id in the name of a session's file.
fn id_in(path: &Path) -> String {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if split(path).1.is_some() {
        return name;
    }
    let start = name.len().saturating_sub(UUID_CHARS);
    let is_uuid = name.is_char_boundary(start)
        && name[start..].len() == UUID_CHARS
        && name[start..].split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    if is_uuid { name[start..].to_owned() } else { name }
}

/// Returns as much of each id as distinguishes it from the others.
fn shown_ids(found: &[FoundSession]) -> Vec<String> {
    let ids: Vec<String> = found.iter().map(|found| id_in(&found.path)).collect();
    let mut sorted: Vec<&str> = ids.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    sorted.dedup();
    let shared = |one: &str, two: &str| {
        let same = one.chars().zip(two.chars()).take_while(|(one, two)| one == two);
        same.count()
    };
    let mut lens: HashMap<&str, usize> = HashMap::new();
    for pair in sorted.windows(2) {
        let n = shared(pair[0], pair[1]) + 1;
        for id in pair {
            let len = lens.entry(id).or_default();
            *len = n.max(*len);
        }
    }
    let shown = |id: &String| {
        if id.chars().count() <= WHOLE_ID {
            return id.clone();
        }
        let len = lens.get(id.as_str()).copied().unwrap_or(0).max(SHOWN_ID);
        id.chars().take(len).collect()
    };
    ids.iter().map(shown).collect()
}

/// Marks the sessions of a folder, or of the nearest folder above it in its repository.
fn mark_here(sessions: &mut [KnownSession], folder: &Path) {
    let Ok(folder) = folder.canonicalize() else { return };
    let root = folder.ancestors().find(|it| it.join(".git").exists()).unwrap_or(&folder);
    let mut known: HashMap<PathBuf, PathBuf> = HashMap::new();
    let mut real = |path: &PathBuf| {
        let real = || path.canonicalize().unwrap_or_else(|_| path.clone());
        known.entry(path.clone()).or_insert_with(real).clone()
    };
    let depths: Vec<Option<usize>> = sessions
        .iter()
        .map(|session| {
            let of = real(session.head.folder.as_ref()?);
            (folder.starts_with(&of) && of.starts_with(root)).then(|| of.components().count())
        })
        .collect();
    let nearest = depths.iter().flatten().max().copied();
    for (session, depth) in sessions.iter_mut().zip(depths) {
        session.is_here = depth.is_some() && depth == nearest;
    }
}

/// Returns how long ago something was, in one unit.
fn age(since: Duration) -> String {
    let minutes = since.as_secs() / 60;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes} min"),
        60..1_440 => format!("{} h", minutes / 60),
        _ => format!("{} d", grouped(minutes / 1_440)),
    }
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

    #[test]
    fn an_id_is_shown_as_far_as_it_differs() {
        let uuid = "0a1b2c3d-0000-7000-8000-000000000001";
        let paths = [
            format!("/s/rollout-2026-01-02T03-04-05-{uuid}.jsonl"),
            "/s/0a1b2c3d-0001-7000-8000-000000000001.jsonl".to_owned(),
            "/s/ff.jsonl".to_owned(),
        ];
        let found = paths.map(|path| FoundSession {
            agent: "pi",
            path: path.into(),
            n_bytes: 0,
            modified: SystemTime::UNIX_EPOCH,
            head: None,
        });
        assert_eq!(shown_ids(&found), ["0a1b2c3d-0000", "0a1b2c3d-0001", "ff"]);
    }

    #[test]
    fn an_age_is_in_its_largest_unit() {
        let of = |seconds| age(Duration::from_secs(seconds));
        assert_eq!((of(0), of(59)), ("now".to_owned(), "now".to_owned()));
        assert_eq!((of(60), of(3_599)), ("1 min".to_owned(), "59 min".to_owned()));
        assert_eq!((of(3_600), of(86_399)), ("1 h".to_owned(), "23 h".to_owned()));
        assert_eq!((of(86_400), of(86_400 * 400)), ("1 d".to_owned(), "400 d".to_owned()));
    }
}
