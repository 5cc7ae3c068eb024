//! Tool vocabularies: the role of each tool by its name, and the argument that holds the path.

use std::borrow::Cow;

use memchr::memchr_iter;
use serde_json::Value;

/// The effect of a tool, as far as compaction cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToolRole {
    /// Shows a file.
    Read,
    /// Changes part of a file.
    Edit,
    /// Replaces or creates a file.
    Write,
    /// Lists or searches files.
    Search,
    /// Runs a command.
    Run,
    /// Fetches from the network.
    Fetch,
    /// Keeps the agent's list of tasks.
    Plan,
}

impl ToolRole {
    /// Returns whether another call can produce the tool's output again.
    pub fn is_repeatable(self) -> bool {
        self != Self::Plan
    }
}

/// The tool names of a family of agents, and the keys of their arguments.
///
/// A vocabulary is data: hosts may build their own. Names are matched exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolVocabulary {
    /// Tool names and their roles.
    pub tools: &'static [(&'static str, ToolRole)],
    /// Argument keys that hold the path, in order of preference.
    pub path_keys: &'static [&'static str],
    /// Argument keys whose presence makes a read partial.
    pub part_keys: &'static [&'static str],
}

use ToolRole::{Edit, Fetch, Plan, Read, Run, Search, Write};

impl ToolVocabulary {
    /// The default set: lowercase names, the path under `path`.
    pub const BASIC: Self = Self {
        tools: &[
            ("read", Read),
            ("grep", Search),
            ("find", Search),
            ("ls", Search),
            ("glob", Search),
            ("bash", Run),
            ("websearch", Fetch),
            ("webfetch", Fetch),
            ("edit", Edit),
            ("write", Write),
        ],
        path_keys: &["path"],
        part_keys: &["offset", "limit"],
    };

    /// The tools of Claude Code: capitalised names, the path under `file_path`.
    pub const CLAUDE_CODE: Self = Self {
        tools: &[
            ("Read", Read),
            ("NotebookRead", Read),
            ("Edit", Edit),
            ("MultiEdit", Edit),
            ("NotebookEdit", Edit),
            ("Write", Write),
            ("Grep", Search),
            ("Glob", Search),
            ("LS", Search),
            ("Bash", Run),
            ("BashOutput", Run),
            ("WebFetch", Fetch),
            ("WebSearch", Fetch),
            ("TodoWrite", Plan),
        ],
        path_keys: &["file_path", "notebook_path", "path"],
        part_keys: &["offset", "limit"],
    };

    /// The tools of Codex of all versions: shells under several names, patches, and files by
    /// `file_path` or `path`.
    pub const CODEX: Self = Self {
        tools: &[
            ("exec_command", Run),
            ("write_stdin", Run),
            ("shell_command", Run),
            ("shell", Run),
            ("local_shell", Run),
            ("container.exec", Run),
            ("apply_patch", Edit),
            ("read_file", Read),
            ("list_dir", Search),
            ("grep_files", Search),
            ("web_search", Fetch),
            ("update_plan", Plan),
        ],
        path_keys: &["file_path", "path", "dir_path"],
        part_keys: &["offset", "limit"],
    };

    /// Every name that the presets and other widespread agents use; the engine's default.
    pub const UNIVERSAL: Self = Self {
        tools: &[
            ("read", Read),
            ("Read", Read),
            ("read_file", Read),
            ("ReadFile", Read),
            ("view_file", Read),
            ("NotebookRead", Read),
            ("edit", Edit),
            ("Edit", Edit),
            ("edit_file", Edit),
            ("MultiEdit", Edit),
            ("NotebookEdit", Edit),
            ("str_replace", Edit),
            ("StrReplaceFile", Edit),
            ("replace", Edit),
            ("apply_patch", Edit),
            ("write", Write),
            ("Write", Write),
            ("write_file", Write),
            ("WriteFile", Write),
            ("write_to_file", Write),
            ("create_file", Write),
            ("grep", Search),
            ("Grep", Search),
            ("find", Search),
            ("ls", Search),
            ("LS", Search),
            ("glob", Search),
            ("Glob", Search),
            ("search_file_content", Search),
            ("list_directory", Search),
            ("list_dir", Search),
            ("grep_files", Search),
            ("bash", Run),
            ("Bash", Run),
            ("BashOutput", Run),
            ("shell", Run),
            ("Shell", Run),
            ("run_shell_command", Run),
            ("shell_command", Run),
            ("local_shell", Run),
            ("container.exec", Run),
            ("exec_command", Run),
            ("write_stdin", Run),
            ("websearch", Fetch),
            ("web_search", Fetch),
            ("WebSearch", Fetch),
            ("webfetch", Fetch),
            ("WebFetch", Fetch),
            ("TodoWrite", Plan),
            ("todowrite", Plan),
            ("todo", Plan),
            ("update_plan", Plan),
        ],
        path_keys: &[
            "path",
            "file_path",
            "filePath",
            "notebook_path",
            "absolute_path",
            "filename",
            "target_file",
            "dir_path",
        ],
        part_keys: &["offset", "limit", "view_range", "start_line", "end_line", "pages"],
    };

    /// Returns the role of a tool, `None` for an unknown one.
    pub fn role(&self, name: &str) -> Option<ToolRole> {
        let found = self.tools.iter().find(|(known, _)| is_name(known, name));
        found.map(|(_, role)| *role)
    }

    /// Returns the role of a call, `None` if unknown. A text editor tool reads, creates and edits
    /// files under one name, so the argument `command` decides.
    pub fn call_role(&self, name: &str, input: &Value) -> Option<ToolRole> {
        editor_role(input).or_else(|| self.role(name))
    }

    /// Returns whether a stale output may be cleared, because another call can produce it again.
    pub fn is_compactable(&self, name: &str) -> bool {
        self.role(name).is_some_and(ToolRole::is_repeatable)
    }

    /// Returns the path of a call: the first path key with a non-blank string.
    pub fn path<'a>(&self, input: &'a Value) -> Option<&'a str> {
        let rank = |key: &str| self.path_keys.iter().position(|known| is_name(known, key));
        let paths = input.as_object()?.iter().filter_map(|(key, value)| {
            let path = rank(key).zip(value.as_str())?;
            (!path.1.trim().is_empty()).then_some(path)
        });
        paths.min_by_key(|(rank, _)| *rank).map(|(_, path)| path)
    }

    /// Returns whether a read covers only part of a file.
    pub fn is_partial_read(&self, input: &Value) -> bool {
        self.part_keys.iter().any(|key| field(input, key).is_some_and(|value| !value.is_null()))
    }
}

/// Compares names, most of which differ in length or first byte.
fn is_name(known: &str, name: &str) -> bool {
    known.len() == name.len() && known.as_bytes().first() == name.as_bytes().first() && known == name
}

/// A cache of tool roles; a transcript has few names and many calls.
#[derive(Debug)]
pub struct RoleCache<'a, 'v> {
    vocabulary: &'v ToolVocabulary,
    known: [(&'a str, Option<ToolRole>); 16],
    n_known: usize,
}

impl<'a, 'v> RoleCache<'a, 'v> {
    /// Creates an empty cache.
    pub fn new(vocabulary: &'v ToolVocabulary) -> Self {
        Self { vocabulary, known: [("", None); 16], n_known: 0 }
    }

    /// Does the same as [`ToolVocabulary::role`].
    pub fn role(&mut self, name: &'a str) -> Option<ToolRole> {
        if let Some((_, role)) = self.known[..self.n_known].iter().find(|(known, _)| is_name(known, name)) {
            return *role;
        }
        let role = self.vocabulary.role(name);
        if let Some(free) = self.known.get_mut(self.n_known) {
            *free = (name, role);
            self.n_known += 1;
        }
        role
    }
}

/// The most fields of an object to compare one by one; with more, hashing the key is faster.
const FEW_FIELDS: usize = 8;

/// Returns the role of a call of a text editor tool, such as Anthropic's
/// `str_replace_based_edit_tool`: one with a `path` and one of the editor's commands.
pub fn editor_role(input: &Value) -> Option<ToolRole> {
    const COMMANDS: [(&str, ToolRole); 5] =
        [("view", Read), ("create", Write), ("str_replace", Edit), ("insert", Edit), ("undo_edit", Edit)];
    let command = field(input, "command")?.as_str()?;
    field(input, "path")?;
    COMMANDS.iter().find(|(known, _)| *known == command).map(|(_, role)| *role)
}

/// Returns a field of an object like [`Value::get`], faster for small objects.
pub fn field<'a>(input: &'a Value, key: &str) -> Option<&'a Value> {
    let map = input.as_object()?;
    if map.len() > FEW_FIELDS {
        return map.get(key);
    }
    map.iter().find(|(known, _)| is_name(known, key)).map(|(_, value)| value)
}

impl Default for ToolVocabulary {
    fn default() -> Self {
        Self::UNIVERSAL
    }
}

/// Normalizes a path: drops `.` segments and doubled slashes and resolves `..`, so that `./a.rs`
/// and `a.rs` are one file. Backslashes are left alone. A normal path is borrowed.
pub fn normal_path(path: &str) -> Cow<'_, str> {
    if is_normal(path) {
        return Cow::Borrowed(path);
    }
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            _ => parts.push(part),
        }
    }
    let joined = parts.join("/");
    Cow::Owned(if rooted { format!("/{joined}") } else { joined })
}

/// Splits a path only if a part may begin with a dot or be empty.
fn is_normal(path: &str) -> bool {
    let bytes = path.as_bytes();
    let may_be_odd = |at: usize| matches!(bytes.get(at), None | Some(b'/' | b'.'));
    let start = usize::from(path.starts_with('/'));
    if !may_be_odd(start) && memchr_iter(b'/', &bytes[start..]).all(|at| !may_be_odd(start + at + 1)) {
        return true;
    }
    path[start..].split('/').all(|part| !matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_universal_vocabulary_covers_every_preset() {
        for preset in [ToolVocabulary::BASIC, ToolVocabulary::CLAUDE_CODE, ToolVocabulary::CODEX] {
            for (name, role) in preset.tools {
                assert_eq!(ToolVocabulary::UNIVERSAL.role(name), Some(*role), "{name}");
            }
            for key in preset.path_keys {
                assert!(ToolVocabulary::UNIVERSAL.path_keys.contains(key), "{key}");
            }
        }
    }

    #[test]
    fn the_codex_vocabulary_knows_shells_patches_and_folders() {
        let codex = ToolVocabulary::CODEX;
        assert_eq!((codex.role("exec_command"), codex.role("apply_patch")), (Some(Run), Some(Edit)));
        assert_eq!((codex.role("update_plan"), codex.role("view_image")), (Some(Plan), None));
        assert_eq!(codex.path(&json!({"dir_path": "src", "depth": 2})), Some("src"));
    }

    #[test]
    fn the_basic_set_has_ten_names() {
        let names: Vec<_> = ToolVocabulary::BASIC.tools.iter().map(|(name, _)| *name).collect();
        let default =
            ["read", "grep", "find", "ls", "glob", "bash", "websearch", "webfetch", "edit", "write"];
        assert_eq!(names, default);
    }

    #[test]
    fn paths_are_found_under_any_key_and_normalized() {
        let vocabulary = ToolVocabulary::UNIVERSAL;
        assert_eq!(vocabulary.path(&json!({"file_path": "/a.rs"})), Some("/a.rs"));
        assert_eq!(vocabulary.path(&json!({"path": " ", "file_path": "b"})), Some("b"));
        assert_eq!(vocabulary.path(&json!("a.rs")), None);
        assert_eq!(normal_path("./src//lib.rs"), "src/lib.rs");
        assert_eq!(normal_path("/a/../b/./c"), "/b/c");
        assert_eq!(normal_path("../x"), "../x");
    }
}
