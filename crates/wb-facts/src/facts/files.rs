//! The files of a session: read, created, edited, deleted, moved.

use serde::{Deserialize, Serialize};

use wb_message::markers::has_line_end;
use wb_shell::FileEffect;

/// Files that are kept, the ones touched last.
const MOST_FILES: usize = 256;

/// The last change to a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// The file was created or written as a whole.
    Written,
    /// A part of it was changed.
    Edited,
    /// The file was deleted.
    Deleted,
    /// The file was moved to this path.
    Moved(String),
    /// The changes were reverted.
    Restored,
}

/// One file of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFact {
    /// Its path, as it was named last.
    pub path: String,
    /// The last change, if it was not only read.
    pub change: Option<Change>,
    /// The number of the message that shows the change, 0 without one.
    pub changed_at: u32,
    /// The number of the message that showed it last.
    pub read_at: Option<u32>,
    /// True if a shell or a patch made the last change, which shows no content.
    pub by_shell: bool,
}

/// The files of a session, the one touched last at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Files {
    files: Vec<FileFact>,
}

impl Files {
    /// Returns the files, the one touched last first.
    pub fn newest(&self) -> impl Iterator<Item = &FileFact> {
        self.files.iter().rev()
    }

    /// Notes that a file was shown.
    pub(crate) fn read(&mut self, path: &str, at: u32) {
        // Such a path could pass for lines of a digest.
        if has_line_end(path) {
            return;
        }
        self.touch(path).read_at = Some(at);
    }

    /// Notes what was done to a file; what lies below a folder that is gone is gone too.
    pub(crate) fn changed(&mut self, path: &str, change: Change, at: u32, by_shell: bool) {
        if matches!(change, Change::Deleted | Change::Moved(_)) {
            let below = |file: &&mut FileFact| is_below(&file.path, path);
            for file in self.files.iter_mut().filter(below) {
                (file.change, file.changed_at, file.by_shell) = (Some(Change::Deleted), at, by_shell);
            }
        }
        if has_line_end(path) {
            return;
        }
        let file = self.touch(path);
        (file.change, file.changed_at, file.by_shell) = (Some(change), at, by_shell);
    }

    /// Notes what a command did.
    pub(crate) fn take_in(&mut self, effect: &FileEffect<'_>, at: u32) {
        match effect {
            FileEffect::Wrote(path) => self.changed(path, Change::Written, at, true),
            FileEffect::Edited(path) => self.changed(path, Change::Edited, at, true),
            FileEffect::Deleted(path) => self.changed(path, Change::Deleted, at, true),
            FileEffect::Restored(path) => self.changed(path, Change::Restored, at, true),
            FileEffect::Moved { from, to } => {
                self.changed(from, Change::Moved(to.to_string()), at, true);
                self.changed(to, Change::Written, at, true);
            }
        }
    }

    fn touch(&mut self, path: &str) -> &mut FileFact {
        let known = self.files.iter().rposition(|file| is_same_file(&file.path, path));
        let file = match known {
            Some(at) => self.files.remove(at),
            None => FileFact {
                path: path.to_owned(),
                change: None,
                changed_at: 0,
                read_at: None,
                by_shell: false,
            },
        };
        if self.files.len() == MOST_FILES {
            self.files.remove(0);
        }
        self.files.push(file);
        let last = self.files.len() - 1;
        &mut self.files[last]
    }

    /// Reports whether the last change of a file was that its changes were reverted.
    pub(crate) fn is_restored(&self, path: &str) -> bool {
        let is_one = |file: &FileFact| file.change == Some(Change::Restored);
        self.files.iter().any(|file| is_one(file) && is_same_file(&file.path, path))
    }

    /// Reports whether the content read from a file is outdated: it was deleted, or a shell has
    /// changed it since.
    pub fn is_stale(&self, path: &str) -> bool {
        self.files.iter().any(|file| file.is_stale() && is_same_file(&file.path, path))
    }
}

impl FileFact {
    fn is_stale(&self) -> bool {
        match self.change {
            Some(Change::Deleted | Change::Moved(_)) => true,
            Some(_) => self.by_shell && Some(self.changed_at) > self.read_at,
            None => false,
        }
    }
}

/// Reports whether two paths may name one file; one of them may be relative.
pub fn is_same_file(one: &str, other: &str) -> bool {
    let ends = |long: &str, short: &str| {
        let n_front = long.len() - short.len();
        let is_whole = n_front == 0 || long.as_bytes()[n_front - 1] == b'/';
        !short.is_empty() && is_whole && long.ends_with(short)
    };
    if one.len() >= other.len() { ends(one, other) } else { ends(other, one) }
}

/// Reports whether a path is below a folder; one of them may be relative.
pub(super) fn is_below(path: &str, folder: &str) -> bool {
    let mut folder = folder.as_bytes();
    while let [name @ .., b'/'] = folder {
        folder = name;
    }
    let path = path.as_bytes();
    let inside = |path: &[u8]| path.get(folder.len()) == Some(&b'/') && path.starts_with(folder);
    let slashes = || path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let is_relative = folder.first().is_some_and(|first| *first != b'/');
    path.len() > folder.len()
        && (inside(path) || (is_relative && slashes().any(|(at, _)| inside(&path[at + 1..]))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_gone_or_was_changed_by_a_shell_is_stale() {
        let mut files = Files::default();
        for path in ["/repo/src/a.rs", "/repo/src/b.rs", "/repo/src/sub/c.rs", "/repo/d.rs"] {
            files.read(path, 1);
        }
        files.changed("src/a.rs", Change::Deleted, 2, true);
        files.changed("/repo/src/b.rs", Change::Edited, 3, false);
        files.changed("src/sub", Change::Deleted, 4, true);
        files.changed("d.rs", Change::Edited, 5, true);
        let stale = |path: &str| files.is_stale(path);
        assert!(stale("/repo/src/a.rs") && stale("/repo/src/sub/c.rs") && stale("/repo/d.rs"));
        assert!(!stale("/repo/src/b.rs") && !stale("/repo/other.rs"));
        assert_eq!(files.newest().next().map(|file| file.path.as_str()), Some("/repo/d.rs"));
    }

    #[test]
    fn paths_are_compared_by_whole_names() {
        for (one, other, same, below) in [
            ("/repo/src/a.rs", "src/a.rs", true, false),
            ("a.rs", "/repo/src/a.rs", true, false),
            ("/repo/src/aa.rs", "a.rs", false, false),
            ("é/a.rs", "\u{a9}/a.rs", false, false),
            ("/repo/src/a.rs", "src/", false, true),
            ("/repo/src/a.rs", "repo", false, true),
            ("/repo/src/a.rs", "/repo", false, true),
            ("/repo/src/a.rs", "/src", false, false),
            ("/repo/src/a.rs", "rc", false, false),
            ("src/a.rs", "src", false, true),
            ("a.rs", "", false, false),
            ("/a.rs", "/", false, true),
        ] {
            assert_eq!((is_same_file(one, other), is_below(one, other)), (same, below), "{one} {other}");
        }
    }

    #[test]
    fn a_moved_file_is_found_under_its_new_path() {
        let mut files = Files::default();
        files.read("old.rs", 1);
        files.take_in(&FileEffect::Moved { from: "old.rs".into(), to: "new.rs".into() }, 2);
        assert!(files.is_stale("old.rs"));
        let moved: Vec<_> = files.newest().map(|file| (file.path.as_str(), file.change.clone())).collect();
        let to = Change::Moved("new.rs".to_owned());
        assert_eq!(moved, [("new.rs", Some(Change::Written)), ("old.rs", Some(to))]);
    }
}
