//! Detects how JSON is laid out in the lines of a file when one cannot be read, to choose the
//! advice.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use serde::de::IgnoredAny;
use serde_json::error::Category;
use wb_record::Lines;

/// The layout of the JSON at a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonLayout {
    /// An ordinary line.
    Line,
    /// Several values.
    Glued,
    /// A part of a value that spans several lines, in a file of several values.
    Spread,
    /// A piece of the only value of the file, or this value.
    Document,
    /// A piece of the only value of the file, which ends within it.
    Cut,
}

impl JsonLayout {
    /// Examines a line of a file; an unreadable file counts as ordinary lines.
    pub(crate) fn read(path: &Path, line: usize) -> Self {
        let (n_of_line, ended) = line_of(path, line).map_or((0, None), |bytes| n_values(bytes.as_slice()));
        if n_of_line > 1 && ended.is_none() {
            return Self::Glued;
        }
        let Ok(file) = File::open(path) else { return Self::Line };
        match n_values(BufReader::new(file)) {
            (1, None) => Self::Document,
            (0, Some(Category::Eof)) => Self::Cut,
            (_, None) if n_of_line == 0 => Self::Spread,
            _ => Self::Line,
        }
    }
}

/// The advice if records are spread over several lines.
pub(crate) const SPREAD: &str = "its records span several lines each, but an agent expects one record per line: `jq -c . FILE > OUT` writes that";

/// The advice if several records are on one line.
pub(crate) const GLUED: &str = "several records share this line: back up the file, then break the line between the `}` of one record and \
     the `{` of the next";

/// The advice if a document ends too soon.
pub(crate) const CUT: &str = "the file is truncated, and wb can't recover it: restore a copy, or delete the incomplete end and close the \
     brackets by hand";

/// Returns the line of a file with this number, if there is one.
fn line_of(path: &Path, number: usize) -> Option<Vec<u8>> {
    let mut lines = Lines::new(BufReader::new(File::open(path).ok()?));
    while let Some(line) = lines.next_line().ok()? {
        if line.number >= number {
            return (line.number == number).then(|| line.bytes.to_vec());
        }
    }
    None
}

/// Counts the whole values of a text up to its end or the first error, and returns that error.
fn n_values(text: impl Read) -> (usize, Option<Category>) {
    let mut n = 0;
    for value in serde_json::Deserializer::from_reader(text).into_iter::<IgnoredAny>() {
        match value {
            Ok(_) => n += 1,
            Err(error) => return (n, Some(error.classify())),
        }
    }
    (n, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_at_a_line_is_detected() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (text, line, expected) in [
            ("{\"a\":1}\nno json\n{\"a\":2}\n", 2, JsonLayout::Line),
            ("{\"a\":1}\n{\"a\":2}\n{\"b\":[2]}\n", 2, JsonLayout::Line),
            ("{\"a\":1}\n{\"a\":2}{\"a\":3}\n", 2, JsonLayout::Glued),
            ("{\"a\":1}\n{\"a\":2}{\"a\":\n", 2, JsonLayout::Line),
            ("{\n\"a\":1\n}\n{\"a\":2}\n", 1, JsonLayout::Spread),
            ("[\n{\n\"a\":1\n},\n{\"a\":2}\n]\n", 2, JsonLayout::Document),
            ("[{\"a\":1},{\"a\":2}]", 1, JsonLayout::Document),
            ("[\n{\n\"a\":1\n},\n{\"a\":\"", 5, JsonLayout::Cut),
            ("\u{1}\u{2}\n", 1, JsonLayout::Line),
        ] {
            std::fs::write(file.path(), text).unwrap();
            assert_eq!(JsonLayout::read(file.path(), line), expected, "{text}");
        }
        assert_eq!(JsonLayout::read(Path::new("not there"), 1), JsonLayout::Line);
    }
}
