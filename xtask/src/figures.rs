//! `cargo xtask figures`: measures on real sessions what a compaction keeps, and writes that into
//! the documentation.

use std::path::{Path, PathBuf};

use crate::program;

/// A program that measures.
struct Program {
    /// The package whose example it is.
    package: &'static str,
    example: &'static str,
    /// The file that its output is written to.
    file: &'static str,
    /// The folders of sessions that it reads, in the folder of the shared data; all where none is
    /// named.
    folders: &'static [&'static str],
}

const PROGRAMS: [Program; 4] = [
    Program {
        package: "wb-replay",
        example: "figures",
        file: "docs/evaluation/retention.md",
        folders: &["sessions/claude-code", "sessions/pi"],
    },
    Program { package: "wb-replay", example: "cost", file: "docs/evaluation/cost.md", folders: &[] },
    Program {
        package: "wb-cli",
        example: "formats_figures",
        file: "docs/evaluation/formats.md",
        folders: &[],
    },
    Program {
        package: "wb-replay",
        example: "recall",
        file: "docs/evaluation/recall.md",
        folders: &["sessions/claude-code", "sessions/pi"],
    },
];
/// The line between the page and the rows that go into a data file, in the output of a program.
const ROWS: &str = "<!-- rows -->\n";
/// The folder of all sessions in the folder of the shared data.
const SESSIONS: &str = "sessions";
/// A folder among those of sessions that has none.
const LICENSES: &str = "LICENSES";
/// The end of the name of a copy of another file, which is measured once.
const COPY: &str = ".v3.jsonl";

/// Writes the figures; the words are the folder of the shared data and the date, both of which may
/// be left out.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let (folder, date) = match words {
        [] => (None, None),
        [folder] => (Some(PathBuf::from(folder)), None),
        [folder, date] => (Some(PathBuf::from(folder)), Some((*date).to_owned())),
        _ => return Err("usage: cargo xtask figures [FOLDER [DATE]]".to_owned()),
    };
    let shared = folder.or_else(|| std::env::var_os("WB_SHARED").map(PathBuf::from));
    let shared = root.join(shared.unwrap_or_else(|| "../shared".into()));
    let date = date.map_or_else(|| program::date_of_head(root), Ok)?;
    PROGRAMS.iter().try_for_each(|program| program.run(root, &date, &program.files(&shared)?))
}

impl Program {
    fn run(&self, root: &Path, date: &str, files: &[PathBuf]) -> Result<(), String> {
        let commit = program::commit_of_head(root, "docs/evaluation/")?;
        let words = [
            "run",
            "--quiet",
            "--release",
            "-p",
            self.package,
            "--example",
            self.example,
            "--",
            date,
            &commit,
        ];
        let text = program::output(program::cargo(root, words).args(files))?;
        let (page, rows) = text.split_once(ROWS).unwrap_or((&text, ""));
        program::write(root, self.file, page)?;
        program::write(root, &self.data_file(), tab_separated(rows))
    }

    /// Returns the file with the rows that are too many for the page.
    fn data_file(&self) -> String {
        self.file.replace("evaluation/", "evaluation/data/").replace(".md", ".tsv")
    }

    /// Returns the files that are measured, in order, or what to do if there is none.
    fn files(&self, shared: &Path) -> Result<Vec<PathBuf>, String> {
        let folders = if self.folders.is_empty() { &[SESSIONS] } else { self.folders };
        let mut files = Vec::new();
        for folder in folders {
            files_below(&shared.join(folder), &mut files);
        }
        // What formats hold is looked at in copies too.
        files.retain(|file| self.package == "wb-cli" || !file.to_string_lossy().ends_with(COPY));
        files.sort();
        if files.is_empty() {
            return Err(format!(
                "there is no {}\nhint: put session files of Claude Code and pi into {} of a folder, and name that folder: cargo \
                 xtask figures FOLDER, or WB_SHARED=FOLDER",
                shared.join(folders[0]).display(),
                folders.join(" and ")
            ));
        }
        Ok(files)
    }
}

/// Converts the tables of a Markdown text to tab-separated rows; a heading becomes a comment, other
/// text is dropped.
fn tab_separated(markdown: &str) -> String {
    let mut rows = String::new();
    for line in markdown.lines() {
        if let Some(cells) = line.strip_prefix("| ") {
            let cells = cells.trim_end_matches('|').split(" | ").map(|cell| cell.trim().replace("\\|", "|"));
            rows += &(cells.collect::<Vec<_>>().join("\t") + "\n");
        } else if line.starts_with('#') {
            let gap = if rows.is_empty() { "" } else { "\n" };
            rows += &[gap, "# ", line.trim_start_matches('#').trim(), "\n"].concat();
        }
    }
    rows
}

fn files_below(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true if path.ends_with(LICENSES) => {}
            true => files_below(&path, out),
            false => out.push(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_that_are_not_there_are_named_with_what_to_do() {
        let why = PROGRAMS[0].files(Path::new("no such folder")).unwrap_err();
        assert!(
            why.starts_with("there is no no such folder/sessions/claude-code\nhint: put session files"),
            "{why}"
        );
    }

    #[test]
    fn the_rows_of_tables_become_tab_separated_lines() {
        let table = "### a, b\n\nText.\n\n| x | y |\n|---|---:|\n| 1 | a \\| b |\n\n- note\n\n## c\n| z |\n";
        assert_eq!(tab_separated(table), "# a, b\nx\ty\n1\ta | b\n\n# c\nz\n");
        assert_eq!(PROGRAMS[1].data_file(), "docs/evaluation/data/cost.tsv");
    }

    #[test]
    fn one_folder_of_sessions_is_enough() {
        let shared = std::env::temp_dir().join(format!("wb-figures-{}", std::process::id()));
        let pi = shared.join("sessions/pi");
        std::fs::create_dir_all(&pi).unwrap();
        for name in ["a.jsonl", "a.v3.jsonl"] {
            std::fs::write(pi.join(name), "").unwrap();
        }
        assert_eq!(PROGRAMS[0].files(&shared), Ok(vec![pi.join("a.jsonl")]));
        assert_eq!(PROGRAMS[2].files(&shared).unwrap().len(), 2);
        std::fs::remove_dir_all(shared).unwrap();
    }
}
