//! Effects of a patch on files.

use std::borrow::Cow;

use super::effects::FileEffect;

/// Returns the effects of a patch: one between `*** Begin Patch` and `*** End Patch`, or a diff.
pub fn patch_effects(patch: &str) -> Vec<FileEffect<'_>> {
    let mut effects = Vec::new();
    let mut lines = patch.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(effect) = line.strip_prefix("*** ").and_then(|rest| marker_effect(rest, &effects)) {
            effects.push(effect);
        } else if let Some(from) = line.strip_prefix("rename from ") {
            let to = lines.peek().and_then(|next| next.strip_prefix("rename to "));
            effects.extend(to.map(|to| FileEffect::Moved { from: from.into(), to: to.into() }));
        } else if let Some(from) = line.strip_prefix("--- ") {
            let to = lines.peek().and_then(|next| next.strip_prefix("+++ "));
            effects.extend(to.and_then(|to| header_effect(diff_path(from)?, diff_path(to)?)));
        }
    }
    effects
}

/// Returns the effect of a line such as `*** Add File: a.rs`.
fn marker_effect<'a>(line: &'a str, before: &[FileEffect<'a>]) -> Option<FileEffect<'a>> {
    let (marker, path) = line.split_once(": ")?;
    let path = Cow::Borrowed(path.trim());
    Some(match (marker, before.last()) {
        _ if path.is_empty() => return None,
        ("Add File", _) => FileEffect::Wrote(path),
        ("Update File", _) => FileEffect::Edited(path),
        ("Delete File", _) => FileEffect::Deleted(path),
        ("Move to", Some(FileEffect::Edited(from))) => FileEffect::Moved { from: from.clone(), to: path },
        _ => return None,
    })
}

/// Returns the path of a header line without the time after it.
fn diff_path(header: &str) -> Option<&str> {
    let path = header.split('\t').next().unwrap_or_default().trim();
    (!path.is_empty()).then_some(path)
}

/// Returns the effect of a pair of header lines.
fn header_effect<'a>(from: &'a str, to: &'a str) -> Option<FileEffect<'a>> {
    const NONE: &str = "/dev/null";
    let bare = |path: &'a str, prefix: &str| Cow::Borrowed(path.strip_prefix(prefix).unwrap_or(path));
    match (from == NONE, to == NONE) {
        (true, true) => None,
        (true, false) => Some(FileEffect::Wrote(bare(to, "b/"))),
        (false, true) => Some(FileEffect::Deleted(bare(from, "a/"))),
        // If the names differ, as for a file and its copy, the new one is written.
        _ if from.starts_with("a/") => Some(FileEffect::Edited(bare(to, "b/"))),
        _ => Some(FileEffect::Edited(Cow::Borrowed(to))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(patch: &str, expected: &[FileEffect]) {
        assert_eq!(patch_effects(patch), expected, "{patch}");
    }

    #[test]
    fn the_headings_of_a_patch_name_its_files() {
        let patch = "*** Begin Patch\n*** Add File: a.rs\n+x\n*** Update File: b.rs\n*** Move to: c.rs\n@@\n-x\n+y\n\
                     *** Delete File: d.rs\n*** End Patch";
        let (b, c) = ("b.rs".into(), "c.rs".into());
        check(
            patch,
            &[
                FileEffect::Wrote("a.rs".into()),
                FileEffect::Edited("b.rs".into()),
                FileEffect::Moved { from: b, to: c },
                FileEffect::Deleted("d.rs".into()),
            ],
        );
    }

    #[test]
    fn a_diff_marks_new_and_removed_files_by_the_null_device() {
        check("--- /dev/null\n+++ b/a.rs\n@@\n+x", &[FileEffect::Wrote("a.rs".into())]);
        check("--- a/a.rs\n+++ /dev/null\n", &[FileEffect::Deleted("a.rs".into())]);
        check("--- a.rs\t2024-01-01\n+++ a.rs\t2024-01-02\n", &[FileEffect::Edited("a.rs".into())]);
        let moved = FileEffect::Moved { from: "a.rs".into(), to: "b.rs".into() };
        check("rename from a.rs\nrename to b.rs\n", &[moved]);
    }

    #[test]
    fn a_removed_line_that_starts_with_dashes_is_not_a_header() {
        check(
            "--- a/a.sql\n+++ b/a.sql\n@@\n--- a comment\n+-- another\n",
            &[FileEffect::Edited("a.sql".into())],
        );
        check("no patch\n--- \n+++ \n", &[]);
    }
}
