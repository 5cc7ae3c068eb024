//! Access to test data.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use wb_formats::{Document, Format, FormatError, View};
use wb_record::{MemoryParts, Probe};
pub(crate) use wb_testkit::shared::{bytes_of, shared};

/// A composed file: its path below `tests/fixtures`, and its bytes.
pub(crate) type Fixture = (&'static str, &'static [u8]);

/// Returns every composed file in the order of the paths.
pub(crate) fn fixtures() -> &'static [Fixture] {
    static FIXTURES: LazyLock<Vec<Fixture>> = LazyLock::new(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let of_format = |(format, folder): (String, PathBuf)| {
            files_of(&folder).into_iter().map(move |(name, path)| (format!("{format}/{name}"), path))
        };
        let files = files_of(&root).into_iter().flat_map(of_format);
        files.map(|(name, path)| (&*name.leak(), &*bytes_of(&path).leak())).collect()
    });
    &FIXTURES
}

pub(crate) fn fixture(name: &str) -> &'static [u8] {
    fixtures().iter().find(|(known, _)| *known == name).unwrap().1
}

pub(crate) fn open(mut bytes: &[u8]) -> Result<View, FormatError> {
    wb_formats::read(&mut bytes)
}

/// Opens a session whose bytes stay reachable.
pub(crate) fn of_parts(parts: MemoryParts) -> Box<dyn Document> {
    wb_formats::open(Box::new(parts)).unwrap()
}

/// Returns the format that the bytes are recognized as.
pub(crate) fn detect(bytes: &[u8]) -> Option<&'static dyn Format> {
    wb_formats::detect(&Probe::new(&MemoryParts::from_bytes(bytes)).unwrap())
}

/// Returns the files of a folder in order, with their names.
pub(crate) fn files_of(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.map(|path| (path.file_name().unwrap().display().to_string(), path)).collect();
    files.sort();
    files
}

/// Helpers shared by the tests of Claude Code.
pub(crate) mod claude {
    use serde_json::Value;
    use wb_message::{Message, markers};
    use wb_record::{Change, ChangeSet, Document, Item, MemoryParts, NotExpressible, Stamp, View};

    pub(crate) fn stamp(seed: u64) -> Stamp {
        Stamp { now_ms: 1_800_000_000_000, seed, tokens_before: 27_060, tokens_after: 90, by_hand: true }
    }

    pub(crate) fn open(bytes: impl Into<Vec<u8>>) -> Box<dyn Document> {
        wb_formats::open(Box::new(MemoryParts::from_bytes(bytes))).unwrap()
    }

    pub(crate) fn write(
        document: &dyn Document,
        view: &View,
        items: &[Item<'_>],
    ) -> Result<ChangeSet, NotExpressible> {
        document.render("", view, items, &stamp(7))
    }

    /// Returns the lines that a change set appends.
    pub(crate) fn appended(set: &ChangeSet) -> Vec<Value> {
        let [(_, Change::Append { new, .. })] = set.changes.as_slice() else { panic!("{set:?}") };
        let text = String::from_utf8(new.0.clone()).unwrap();
        let lines = text.lines().filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns values as lines.
    pub(crate) fn lines(values: &[Value]) -> Vec<u8> {
        values.iter().flat_map(|value| format!("{value}\n").into_bytes()).collect()
    }

    pub(crate) fn digest(text: &str) -> Message {
        Message::user(format!("{}\n{text}", markers::DIGEST_HEADER))
    }
}
