//! Rules about single lines and about the length of files.

use super::tree::{File, Tree};

/// Lines that a source file may have.
const MAX_LINES: usize = 700;

/// Finds source files over the limit.
pub(crate) fn long_files(tree: &Tree) -> Vec<String> {
    let sources = tree.files.iter().filter(|file| file.is(&[".rs"]));
    let counted = sources.map(|file| (file, file.text.lines().count()));
    let long = counted.filter(|(_, n_lines)| *n_lines > MAX_LINES);
    long.map(|(file, n)| {
        format!("{}: {n} lines → at most {MAX_LINES}; cut it where its subject ends", file.path)
    })
    .collect()
}

/// Files that people write by hand; recorded prompts keep their own white space.
fn is_written(file: &File) -> bool {
    file.is(&[".rs", ".md", ".toml", ".yml", ".ci/run", ".gitignore"]) && !file.path.contains("/templates/")
}

/// Finds blanks at line ends.
pub(crate) fn trailing_blanks(tree: &Tree) -> Vec<String> {
    let written = tree.files.iter().filter(|file| is_written(file));
    written
        .flat_map(|file| {
            lines_with(file, |line| line.trim_end() != line, "white space at the end of the line")
        })
        .collect()
}

/// Finds tabs.
pub(crate) fn tabs(tree: &Tree) -> Vec<String> {
    let written = tree.files.iter().filter(|file| is_written(file));
    written.flat_map(|file| lines_with(file, |line| line.contains('\t'), "a tab")).collect()
}

/// Starts of paths that exist on one machine only, in two parts, so that this file is not found.
const MACHINE_PATHS: [(&str, &str); 4] =
    [("/wo", "rk/"), ("/fa", "rm/"), ("/ro", "ot/"), ("/tmp/bash", "_jobs")];

/// Finds paths of the machine that something was written on.
pub(crate) fn machine_paths(tree: &Tree) -> Vec<String> {
    let needles = MACHINE_PATHS.map(|(start, end)| format!("{start}{end}"));
    let named = |line: &str| needles.iter().any(|needle| names_path(line, needle));
    tree.files.iter().flat_map(|file| lines_with(file, named, "a path of one machine")).collect()
}

/// Returns whether a path starts like this in the line, rather than have it inside of a longer one.
fn names_path(line: &str, start: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '}');
    line.match_indices(start).any(|(at, _)| !line[..at].ends_with(inside))
}

fn lines_with(file: &File, is_bad: impl Fn(&str) -> bool, what: &str) -> Vec<String> {
    let bad = file.text.lines().zip(1..).filter(|(line, _)| is_bad(line));
    bad.map(|(_, number)| format!("{}:{number}: {what}", file.path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_701_lines_is_too_long_and_one_of_700_is_not() {
        let (long, short) = ("x\n".repeat(701), "x\n".repeat(700));
        let tree = Tree::from_files(&[("a.rs", &long), ("b.rs", &short), ("c.md", &long)]);
        assert_eq!(long_files(&tree), ["a.rs: 701 lines → at most 700; cut it where its subject ends"]);
    }

    #[test]
    fn white_space_is_found_in_written_files_only() {
        let text = "good\nbad \n\tbad\n";
        let tree =
            Tree::from_files(&[("a.rs", text), ("b.jsonl", text), ("crates/x/src/templates/c.md", text)]);
        assert_eq!(trailing_blanks(&tree), ["a.rs:2: white space at the end of the line"]);
        assert_eq!(tabs(&tree), ["a.rs:3: a tab"]);
    }

    #[test]
    fn machine_paths_are_found_in_every_file_and_lookalikes_are_not() {
        for (start, end) in MACHINE_PATHS {
            let bad = format!("ok\ncd {start}{end}x\n");
            let fine = format!("see src{start}{end}x and {{dir}}{start}{end}\n");
            let found = machine_paths(&Tree::from_files(&[("a.jsonl", &bad), ("b.rs", &fine)]));
            assert_eq!(found, ["a.jsonl:2: a path of one machine"]);
        }
    }
}
