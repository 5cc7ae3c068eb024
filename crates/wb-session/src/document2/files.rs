//! Which files a session read and changed: taken from calls and from what earlier summaries noted.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use wb_message::{Message, ToolRole, ToolVocabulary};

use crate::entry::{Entry, EntryKind};

/// The most bytes of a path (that of Linux); a longer text is no path.
pub(crate) const MAX_PATH_BYTES: usize = 4096;
/// The most UTF-16 units of the paths between a pair of tags: about 1000 tokens.
pub(crate) const MAX_TAGGED_UNITS: usize = 4000;
/// The last line between a pair of tags where paths were left out.
pub(crate) const PATHS_LEFT_OUT: &str = "(more paths were left out)";

/// Opens and closes the list of files that were only read.
pub(crate) const READ_FILES_TAGS: (&str, &str) = ("<read-files>", "</read-files>");
/// Opens and closes the list of files that were changed.
pub(crate) const MODIFIED_FILES_TAGS: (&str, &str) = ("<modified-files>", "</modified-files>");

/// The files that were read, written and edited, each path once in each set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileOps {
    read: Paths,
    written: Paths,
    edited: Paths,
    n_noted: u64,
}

/// Paths and when each was noted last, as a count.
type Paths = BTreeMap<String, u64>;

/// The notes on files in a summary's entry, as its `details`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileLists {
    /// The files that were read and not changed, ordered by UTF-16 units.
    pub read_files: Vec<String>,
    /// The files that were written or edited, ordered by UTF-16 units.
    pub modified_files: Vec<String>,
}

impl FileOps {
    /// Returns the paths that were read.
    pub fn read(&self) -> impl Iterator<Item = &str> {
        self.read.keys().map(String::as_str)
    }

    /// Returns the paths that were written.
    pub fn written(&self) -> impl Iterator<Item = &str> {
        self.written.keys().map(String::as_str)
    }

    /// Returns the edited paths, with those that an earlier summary lists as modified.
    pub fn edited(&self) -> impl Iterator<Item = &str> {
        self.edited.keys().map(String::as_str)
    }

    /// Notes a read of a path.
    pub fn note_read(&mut self, path: &str) {
        note(&mut self.read, &mut self.n_noted, path);
    }

    /// Notes that a path was written.
    pub fn note_written(&mut self, path: &str) {
        note(&mut self.written, &mut self.n_noted, path);
    }

    /// Notes that a path was edited.
    pub fn note_edited(&mut self, path: &str) {
        note(&mut self.edited, &mut self.n_noted, path);
    }

    /// Notes the files of a message's calls of the tools `read`, `write` and `edit` with a `path`.
    pub fn note_calls(&mut self, message: &Message) {
        let Message::Assistant { .. } = message else { return };
        for (_, name, input) in message.calls() {
            let Some(path) = input.get("path").and_then(Value::as_str) else { continue };
            match role(name) {
                Some(ToolRole::Read) => self.note_read(path),
                Some(ToolRole::Write) => self.note_written(path),
                Some(ToolRole::Edit) => self.note_edited(path),
                _ => {}
            }
        }
    }

    /// Adds the files that a compaction or branch summary names in its details.
    ///
    /// Details from an extension or of another shape are skipped.
    pub(crate) fn note_summary(&mut self, entry: &Entry) {
        let (details, from_hook) = match &entry.kind {
            EntryKind::Compaction(it) => (&it.details, it.from_hook),
            EntryKind::BranchSummary(it) => (&it.details, it.from_hook),
            _ => return,
        };
        let Some(details) = details.as_ref().filter(|_| !from_hook) else { return };
        for path in paths(details, "readFiles") {
            self.note_read(path);
        }
        for path in paths(details, "modifiedFiles") {
            self.note_edited(path);
        }
    }

    /// Notes the files that the lists at the end of a summary's text name.
    pub(crate) fn note_tagged(&mut self, tagged: &FileLists) {
        tagged.read_files.iter().for_each(|path| self.note_read(path));
        tagged.modified_files.iter().for_each(|path| self.note_edited(path));
    }

    /// Returns the lists for the `details` of a summary.
    pub fn lists(&self) -> FileLists {
        let (read, modified) = self.newest_first();
        FileLists { read_files: sorted(read), modified_files: sorted(modified) }
    }

    /// Returns the lists in tags for the end of a summary's text.
    ///
    /// If a list is longer than 4,000 UTF-16 units, it names the files used last and a constant
    /// line says that others were left out. Paths that would break the lists are only in the
    /// details.
    pub fn tags(&self) -> String {
        let (read, modified) = self.newest_first();
        let mut out = String::new();
        let of = |paths| {
            let (mut paths, is_cut): (Vec<&str>, bool) = paths;
            paths.sort_unstable_by(|a, b| by_units(a, b));
            (paths, is_cut)
        };
        for (tags, (paths, is_cut)) in
            [(READ_FILES_TAGS, of(fitting(read))), (MODIFIED_FILES_TAGS, of(fitting(modified)))]
        {
            push_lines(&mut out, tags, &paths, is_cut);
        }
        out
    }

    /// Returns the paths that were only read and those that were changed, those noted last first.
    fn newest_first(&self) -> (impl Iterator<Item = &str>, impl Iterator<Item = &str>) {
        let is_modified = |path: &String| self.written.contains_key(path) || self.edited.contains_key(path);
        let read =
            self.read.iter().filter(|(path, _)| !is_modified(path)).map(|(path, at)| (path.as_str(), *at));
        let mut modified: BTreeMap<&str, u64> = BTreeMap::new();
        for (path, at) in self.written.iter().chain(&self.edited) {
            let newest = modified.entry(path).or_default();
            *newest = (*newest).max(*at);
        }
        (newest_first(read.collect()), newest_first(modified.into_iter().collect()))
    }
}

/// Returns the lists of three sets of paths: modified is written or edited, and a modified path is
/// not listed as read.
pub fn compute_file_lists(file_ops: &FileOps) -> FileLists {
    file_ops.lists()
}

/// Writes lists of files in tags, each after a blank line, none if it is empty.
///
/// A list longer than 4,000 UTF-16 units is cut to its first paths.
pub fn format_file_operations(lists: &FileLists) -> String {
    let mut out = String::new();
    for (tags, paths) in [(READ_FILES_TAGS, &lists.read_files), (MODIFIED_FILES_TAGS, &lists.modified_files)]
    {
        let (paths, is_cut) = fitting(paths.iter().map(String::as_str));
        push_lines(&mut out, tags, &paths, is_cut);
    }
    out
}

/// Splits the lists in tags off the end of a summary's text.
pub fn split_file_tags(summary: &str) -> (&str, FileLists) {
    let (mut rest, mut lists) = (summary, FileLists::default());
    if let Some((before, paths)) = split_tags(rest, MODIFIED_FILES_TAGS) {
        (rest, lists.modified_files) = (before, paths);
    }
    if let Some((before, paths)) = split_tags(rest, READ_FILES_TAGS) {
        (rest, lists.read_files) = (before, paths);
    }
    (rest, lists)
}

fn split_tags<'a>(text: &'a str, (open, close): (&str, &str)) -> Option<(&'a str, Vec<String>)> {
    let body = text.trim_end().strip_suffix(close)?;
    let at = body.rfind(open)?;
    let paths = body[at + open.len()..].lines().filter(|line| !line.is_empty() && *line != PATHS_LEFT_OUT);
    Some((body[..at].trim_end(), paths.map(str::to_owned).collect()))
}

fn note(paths: &mut Paths, n_noted: &mut u64, path: &str) {
    if path.is_empty() || path.len() > MAX_PATH_BYTES {
        return;
    }
    *n_noted += 1;
    match paths.get_mut(path) {
        Some(at) => *at = *n_noted,
        None => drop(paths.insert(path.to_owned(), *n_noted)),
    }
}

/// Returns the role of a default tool by its exact name.
fn role(name: &str) -> Option<ToolRole> {
    ToolVocabulary::BASIC.tools.iter().find(|(known, _)| *known == name).map(|(_, role)| *role)
}

fn paths<'a>(details: &'a Value, key: &str) -> impl Iterator<Item = &'a str> {
    details.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn newest_first(mut paths: Vec<(&str, u64)>) -> impl Iterator<Item = &str> {
    paths.sort_unstable_by_key(|(_, at)| Reverse(*at));
    paths.into_iter().map(|(path, _)| path)
}

fn by_units(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

fn sorted<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut paths: Vec<String> = paths.map(str::to_owned).collect();
    paths.sort_unstable_by(|a, b| by_units(a, b));
    paths
}

/// Returns whether a path takes one line and cannot end the list that it is in.
fn is_printable(path: &str) -> bool {
    let tags = [READ_FILES_TAGS.0, READ_FILES_TAGS.1, MODIFIED_FILES_TAGS.0, MODIFIED_FILES_TAGS.1];
    !path.contains(['\n', '\r', '\u{2028}', '\u{2029}', '\u{85}'])
        && !tags.iter().any(|tag| path.contains(tag))
}

/// Keeps the first paths that fit between tags, and returns whether any was left out.
fn fitting<'a>(paths: impl Iterator<Item = &'a str>) -> (Vec<&'a str>, bool) {
    let (mut taken, mut n_units, mut is_cut) = (Vec::new(), 0, false);
    for path in paths {
        n_units += path.encode_utf16().count() + 1;
        if n_units > MAX_TAGGED_UNITS {
            return (taken, true);
        }
        if is_printable(path) {
            taken.push(path);
        } else {
            is_cut = true;
        }
    }
    (taken, is_cut)
}

fn push_lines(out: &mut String, (open, close): (&str, &str), paths: &[&str], is_cut: bool) {
    if paths.is_empty() && !is_cut {
        return;
    }
    let note = is_cut.then_some(PATHS_LEFT_OUT);
    out.push_str("\n\n");
    for line in [open].into_iter().chain(paths.iter().copied()).chain(note) {
        out.push_str(line);
        out.push('\n');
    }
    out.push_str(close);
}
