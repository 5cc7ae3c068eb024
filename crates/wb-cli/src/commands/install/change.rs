//! Changes to files, worked out before the first is made.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use wb_record::{FileError, write_new};

use crate::hosts::place::InstallPlace;
use crate::terminal::file_error::not_file_written;
use crate::terminal::user_error::{UserError, in_words};

/// The suffix of a settings file's copy.
const COPY: &str = ".before-wb";

/// A file with its old and new content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileChange {
    pub(crate) path: PathBuf,
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

impl FileChange {
    pub(crate) fn is_one(&self) -> bool {
        self.before != self.after
    }

    /// Returns whether the file is the copy of a settings file.
    pub(crate) fn is_copy(&self) -> bool {
        self.path.to_string_lossy().ends_with(COPY)
    }

    /// Returns the verb for the change.
    pub(crate) fn verb(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, Some(_)) => "create",
            (Some(_), None) => "remove",
            (before, after) if before == after => "keep",
            _ => "change",
        }
    }

    /// Makes the change, if the file still has the old content.
    fn make(&self, place: &InstallPlace) -> Result<(), UserError> {
        if !self.is_one() {
            return Ok(());
        }
        if read(place, &self.path)? != self.before {
            let what = "was changed at this moment by another program";
            return Err(UserError::of_file(self.path.display().to_string(), what, "try again"));
        }
        match &self.after {
            Some(text) => self.write(text),
            None => removed(place, &self.path),
        }
    }

    fn write(&self, text: &str) -> Result<(), UserError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(|error| failed(folder, "cannot be made", &error))?;
        let mode_of = self.before.as_ref().map(|_| self.path.as_path());
        write_new(&self.path, mode_of, self.before.is_some(), |out: &mut dyn Write| {
            let doing = "writing it";
            let failed = |source| FileError::Io { path: self.path.clone(), doing, source };
            out.write_all(text.as_bytes()).map_err(failed)
        })
        .map_err(|error| not_file_written(&self.path, &error))
    }
}

/// Makes changes in their order, and stops at the first that fails.
pub(crate) fn make(place: &InstallPlace, changes: &[FileChange]) -> Result<(), UserError> {
    changes.iter().try_for_each(|change| change.make(place))
}

pub(crate) fn copy_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(COPY);
    name.into()
}

/// Reads a file; a link on the way to it is refused.
pub(crate) fn read(place: &InstallPlace, path: &Path) -> Result<Option<String>, UserError> {
    no_link(place, path)?;
    match fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes).map(Some).map_err(|_| not_text(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(path, "cannot be read", &error)),
    }
}

/// Refuses a path with a link below the root of the place.
fn no_link(place: &InstallPlace, path: &Path) -> Result<(), UserError> {
    let below = path.ancestors().take_while(|it| *it != place.root);
    for path in below.collect::<Vec<_>>().into_iter().rev() {
        if fs::symlink_metadata(path).is_ok_and(|there| there.is_symlink()) {
            let hint = "wb writes through no link: replace it with a file or folder";
            return Err(UserError::of_file(path.display().to_string(), "is a link", hint));
        }
    }
    Ok(())
}

fn not_text(path: &Path) -> UserError {
    UserError::of_file(path.display().to_string(), "is not a text file", "remove or rename it")
}

fn failed(path: &Path, what: &str, error: &io::Error) -> UserError {
    let hint = "check the rights on it and on its folder";
    UserError::of_file(path.display().to_string(), format!("{what}: {}", in_words(error)), hint)
}

/// Removes a file, and the folders below the root that become empty.
fn removed(place: &InstallPlace, path: &Path) -> Result<(), UserError> {
    fs::remove_file(path).map_err(|error| failed(path, "cannot be removed", &error))?;
    for folder in path.ancestors().skip(1).take_while(|it| *it != place.root) {
        // A folder with other content stays.
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(())
}
