//! The functions and types that edits bring into files and take out of them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::defined_names::defined_name;

/// Names that are kept of one change, and lines that are searched for them.
pub(super) const MOST_NAMES: usize = 12;
const MOST_LINES: usize = 500;
/// The longest name that is kept, in bytes.
const MOST_NAME_BYTES: usize = 64;

/// The names that a change defines, and those that are defined no more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Definitions {
    pub(super) added: Vec<String>,
    pub(super) removed: Vec<String>,
}

impl Definitions {
    /// Reads a call that edits a file or writes it as a whole.
    pub(super) fn of_call(input: &Value) -> Self {
        const WHOLE: [&str; 4] = ["content", "file_text", "contents", "text"];
        let mut found = Self::default();
        edits(input).for_each(|(old, new)| found.changes(old.lines(), new.lines()));
        let whole = WHOLE.iter().find_map(|key| input.get(key)?.as_str());
        found.changes("".lines(), whole.unwrap_or_default().lines());
        found
    }

    /// Reads a patch; returns each of its files.
    pub(super) fn of_patch(diff: &str) -> Vec<(&str, Self)> {
        const FILES: [&str; 3] = ["*** Update File: ", "*** Add File: ", "+++ b/"];
        let file = |line: &'_ str| FILES.iter().any(|start| line.starts_with(start));
        let lines: Vec<&str> = diff.lines().collect();
        let mut parts = lines.split_inclusive(|line| file(line)).peekable();
        let mut files = Vec::new();
        while let (Some(before), Some(part)) = (parts.next(), parts.peek()) {
            let head = before.last().copied().unwrap_or_default();
            let Some(path) = FILES.iter().find_map(|start| head.strip_prefix(start)) else { continue };
            let of = |sign: char| part.iter().filter_map(move |line| line.strip_prefix(sign));
            let mut found = Self::default();
            found.changes(of('-'), of('+'));
            files.push((path.trim(), found));
        }
        files
    }

    fn changes<'t>(&mut self, old: impl Iterator<Item = &'t str>, new: impl Iterator<Item = &'t str>) {
        let names = |lines: &mut dyn Iterator<Item = &'t str>| -> Vec<&'t str> {
            lines.take(MOST_LINES).filter_map(definition).collect()
        };
        let (old, new) = (names(&mut { old }), names(&mut { new }));
        let added = new.iter().filter(|name| !old.contains(name)).take(MOST_NAMES);
        self.added.extend(added.map(|name| (*name).to_owned()));
        let removed = old.iter().filter(|name| !new.contains(name)).take(MOST_NAMES);
        self.removed.extend(removed.map(|name| (*name).to_owned()));
    }
}

/// Returns the name that a line defines for others: no constant of a function, and no branch.
fn definition(line: &str) -> Option<&str> {
    const BRANCHES: [&str; 5] = ["if", "for", "while", "switch", "catch"];
    let is_local = line.starts_with([' ', '\t']) && line.trim_start().starts_with("const ");
    let is_name = |name: &&str| name.len() <= MOST_NAME_BYTES && !BRANCHES.contains(name);
    defined_name(line).filter(is_name).filter(|_| !is_local)
}

/// Returns the old and the new text of each edit that a call makes.
pub(super) fn edits(input: &Value) -> impl DoubleEndedIterator<Item = (&str, &str)> {
    let edits = input.get("edits").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    std::iter::once(input).chain(edits).filter_map(Value::as_object).map(|edit| {
        let text = |start: &str| {
            let value = edit.iter().find(|(key, value)| key.starts_with(start) && value.is_string());
            value.and_then(|(_, value)| value.as_str()).unwrap_or_default()
        };
        (text("old"), text("new"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(found: &Definitions, added: &[&str], removed: &[&str]) {
        assert_eq!((&found.added[..], &found.removed[..]), (&strings(added)[..], &strings(removed)[..]));
    }

    fn strings(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn what_an_edit_defines_anew_is_added() {
        let edit = json!({ "file_path": "a.rs", "old_string": "fn a() {\nfn b() {", "new_string": "fn b() {\nfn c() {" });
        check(&Definitions::of_call(&edit), &["c"], &["a"]);
        let write = json!({ "path": "a.py", "content": "import os\nclass Cart:\n    def total(self):\n" });
        check(&Definitions::of_call(&write), &["Cart", "total"], &[]);
        check(&Definitions::of_call(&json!({ "command": "ls" })), &[], &[]);
        let local = json!({ "path": "a.ts", "content": "function load() {\n  const rows = 1;\n  for(const a of b) {\n" });
        check(&Definitions::of_call(&local), &["load"], &[]);
    }

    #[test]
    fn a_patch_names_what_it_adds_to_each_file() {
        let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n-fn a() {\n+fn b() {\n fn c() {\n*** Add File: b.py\n\
                     +def load():\n*** End Patch";
        let files = Definitions::of_patch(patch);
        assert_eq!(files.iter().map(|(path, _)| *path).collect::<Vec<_>>(), ["a.rs", "b.py"]);
        check(&files[0].1, &["b"], &["a"]);
        check(&files[1].1, &["load"], &[]);
        let diff = Definitions::of_patch("--- a/x.go\n+++ b/x.go\n@@ -1 +1 @@\n-func A() {\n+func B() {\n");
        assert_eq!(diff[0].0, "x.go");
        check(&diff[0].1, &["B"], &["A"]);
    }
}
