//! A file that was changed in a turn, and its line in a digest.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use wb_digest::labels::DEFINES;
use wb_message::text::tail;

use crate::facts::edited_definitions::{Definitions, MOST_NAMES};

/// Places of the changes of a file that are kept, the newest ones.
const MOST_CHANGES: usize = 64;
/// Bytes of a path in a line of a turn.
const PATH_BYTES: usize = 60;

/// A file that was changed in a turn, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// The path.
    pub path: String,
    /// The action, in the past tense.
    pub how: String,
    /// The number of times that an earlier digest counts.
    pub times: u32,
    /// The messages that show the others.
    #[serde(default)]
    pub at: Vec<u32>,
    /// Functions and types that the changes brought in.
    #[serde(default)]
    pub defined: Vec<String>,
}

impl ChangedFile {
    pub(super) fn bytes(&self) -> usize {
        let names = self.defined.iter().map(|name| size_of::<String>() + name.len()).sum::<usize>();
        size_of::<Self>() + self.path.len() + self.at.len() * size_of::<u32>() + names
    }

    /// Reads what [`Self::line`] writes of one path.
    pub(super) fn parse(line: &str) -> Option<Self> {
        const HOW: [&str; 7] = [
            "written and edited",
            "restored and edited",
            "deleted and edited",
            "written",
            "edited",
            "deleted",
            "restored",
        ];
        let (how, rest) =
            HOW.iter().find_map(|how| Some((*how, line.strip_prefix(how)?.strip_prefix(' ')?)))?;
        let (rest, defined) = match rest.split_once(DEFINES) {
            Some((rest, names)) => (rest, names.strip_suffix(')')?),
            None => (rest, ""),
        };
        let (path, times) = match rest.rsplit_once(" ×") {
            Some((path, times)) => (path, times.parse().ok()?),
            None => (rest, 1),
        };
        let defined = defined.split_whitespace().map(str::to_owned).collect();
        Some(Self { path: path.to_owned(), how: how.to_owned(), times, at: Vec::new(), defined })
    }

    pub(super) fn changes(&mut self, how: &str, at: u32) {
        // A file that was written as a whole stays a new one.
        if how == "edited" && !self.how.ends_with(how) {
            self.how.push_str(" and edited");
        } else if how != "edited" && how != self.how {
            (self.how, self.times) = (how.to_owned(), 0);
            self.at.clear();
        }
        if how != "edited" {
            self.defined.clear();
        }
        if self.at.len() == MOST_CHANGES {
            self.times += 1;
            self.at.remove(0);
        }
        self.at.push(at);
    }

    pub(super) fn defines(&mut self, names: &Definitions) {
        self.defined.retain(|name| !names.removed.contains(name));
        let is_code = !is_prose(&self.path);
        for name in names.added.iter().filter(|_| is_code) {
            if self.defined.len() < MOST_NAMES && !self.defined.contains(name) {
                self.defined.push(name.clone());
            }
        }
    }

    /// Reports whether it is of a file, whose path a digest may have cut.
    pub(super) fn is_of(&self, path: &str) -> bool {
        self.path == path || self.path.starts_with('…') && self.path == short_path(path)
    }

    /// Returns the change on a line, with both paths of a moved file; `None` if a reader sees it
    /// anyway.
    pub fn line(&self, is_shown: impl Fn(u32) -> bool) -> Option<String> {
        let n_unseen = self.at.iter().filter(|at| !is_shown(**at)).count();
        let times = self.times as usize + n_unseen;
        if times == 0 {
            return None;
        }
        let (how, to) = self.how.split_once(" to ").unwrap_or((&self.how, ""));
        let mut line = [how, " ", &short_path(&self.path)].concat();
        if !to.is_empty() {
            line.extend([" to ", &short_path(to)]);
        }
        if times > 1 {
            line.extend([" ×", &times.to_string()]);
        }
        if !self.defined.is_empty() {
            line.extend([DEFINES, &self.defined.join(" "), ")"]);
        }
        Some(line)
    }
}

/// Reports whether a file has prose or data, by the ending of its name.
fn is_prose(path: &str) -> bool {
    const ENDINGS: [&str; 11] =
        ["md", "mdx", "txt", "rst", "json", "jsonl", "yaml", "yml", "toml", "html", "css"];
    path.rsplit_once('.').is_some_and(|(_, ending)| ENDINGS.contains(&ending))
}

/// Returns the end of a long path; the list of changed files contains it in full.
pub(super) fn short_path(path: &str) -> Cow<'_, str> {
    if path.len() <= PATH_BYTES {
        return Cow::Borrowed(path);
    }
    let end = tail(path, PATH_BYTES);
    let end = end.find('/').map_or(end, |at| &end[at..]);
    Cow::Owned(["…", end].concat())
}

#[cfg(test)]
mod tests {
    use crate::facts::turns::Turn;

    #[test]
    fn a_moved_file_is_listed_with_both_paths() {
        let mut turn = Turn::default();
        turn.changes("src/shop/cart.rs", "deleted", 1);
        turn.changes("src/cart.rs", "moved to src/shop/cart.rs", 1);
        turn.changes("src/a.rs", "edited", 2);
        turn.changes("src/a.rs", "edited", 3);
        let lines: Vec<String> = turn.changed.iter().filter_map(|it| it.line(|_| false)).collect();
        assert_eq!(lines, ["moved src/cart.rs to src/shop/cart.rs", "edited src/a.rs ×2"]);
    }
}
