//! Whole files, written in one way: a draft next to the name, made durable, which then takes the
//! name.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use tempfile::NamedTempFile;

use crate::parts::disk::{Disk, System, dress, folder_of, mode_of};
use crate::parts::error::FileError;

/// The mode of new files: sessions hold secrets.
pub(crate) const PRIVATE: u32 = 0o600;

/// Writes a whole file or nothing: to a draft next to it first, which then takes the name.
///
/// The file gets the mode of the file `mode_of`, and without one only its owner may read it; over
/// another file it is written only if `overwrite` says so, and then allows nobody more than that
/// one did. A link is refused, and a device or a pipe is written to directly.
///
/// ```
/// use std::io::Write;
/// use wb_record::{FileError, write_new};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("new.jsonl");
/// let line = |out: &mut dyn Write| Ok(out.write_all(b"{}\n")?);
/// write_new::<Box<dyn std::error::Error>>(&path, None, false, line)?;
/// let refused = write_new::<Box<dyn std::error::Error>>(&path, None, false, line).unwrap_err();
/// assert!(matches!(refused.downcast_ref(), Some(FileError::Exists { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_new<E: From<FileError>>(
    path: &Path,
    mode_of: Option<&Path>,
    overwrite: bool,
    content: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    write_new_on(&System, path, mode_of, overwrite, content)
}

pub(crate) fn write_new_on<E: From<FileError>>(
    disk: &dyn Disk,
    path: &Path,
    source: Option<&Path>,
    overwrite: bool,
    content: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    if is_special_file(path) {
        let file = OpenOptions::new().append(true).open(path).map_err(FileError::io(path, "opening it"))?;
        return filled(&System, &file, path, content);
    }
    let there = replaceable(path, overwrite)?;
    let source = source.map(|source| fs::metadata(source).map_err(FileError::io(source, "looking at it")));
    let source = source.transpose()?.filter(Metadata::is_file);
    let mode = source.as_ref().map_or(PRIVATE, mode_of) & there.as_ref().map_or(u32::MAX, mode_of);
    Draft::new(disk, path, mode, there.as_ref(), content)?.keep(overwrite)?;
    Ok(disk.sync_folder(folder_of(path)).map_err(FileError::io(path, "waiting for the disk"))?)
}

/// Refuses a name that [`write_new`] would refuse, before there is anything to write.
pub fn check_new(path: &Path, overwrite: bool) -> Result<(), FileError> {
    if is_special_file(path) { Ok(()) } else { replaceable(path, overwrite).map(drop) }
}

/// Returns whether a name is that of a device, of a pipe or of a file that the system has open:
/// its bytes cannot be replaced.
fn is_special_file(path: &Path) -> bool {
    let is_open_file = || path.starts_with("/dev") && path.is_symlink();
    fs::metadata(path).is_ok_and(|there| !there.is_dir() && (!there.is_file() || is_open_file()))
}

/// Returns the file with the name, if there is one and it may be replaced.
fn replaceable(path: &Path, overwrite: bool) -> Result<Option<Metadata>, FileError> {
    let there = match fs::symlink_metadata(path) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(FileError::io(path, "looking at it")(error)),
    };
    no_link(path, &there)?;
    if there.is_dir() {
        return Err(FileError::io(path, "writing it")(io::ErrorKind::IsADirectory.into()));
    }
    if overwrite { Ok(Some(there)) } else { Err(FileError::Exists { path: path.to_owned() }) }
}

/// Refuses a name that is a link.
pub(crate) fn no_link(path: &Path, there: &Metadata) -> Result<(), FileError> {
    if !there.is_symlink() {
        return Ok(());
    }
    let target = fs::read_link(path).map_err(FileError::io(path, "following it"))?;
    Err(FileError::Link { path: path.to_owned(), target: folder_of(path).join(target) })
}

fn filled<E: From<FileError>>(
    disk: &dyn Disk,
    file: &File,
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let mut out = BufWriter::with_capacity(64 * 1024, On { disk, file });
    content(&mut out)?;
    Ok(out.flush().map_err(FileError::io(path, "writing it"))?)
}

/// Writes to a file through a disk.
struct On<'a> {
    disk: &'a dyn Disk,
    file: &'a File,
}

impl Write for On<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.disk.write(self.file, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The start and the end of the names of drafts.
const PREFIX: &str = ".wb-";
const SUFFIX: &str = ".draft";
/// The age at which a draft counts as left behind by a killed program.
const STALE: Duration = Duration::from_hours(24);

/// Removes drafts next to a new one that killed programs left: files of the same owner that are a
/// day older. A draft that cannot be examined or removed stays.
fn remove_stale(disk: &dyn Disk, folder: &Path, new: &File) {
    let (Ok(names), Ok(new)) = (fs::read_dir(folder), new.metadata()) else { return };
    for name in names.flatten() {
        let is_draft =
            name.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
        // A link is detected as such here, and never followed.
        if is_draft && name.metadata().is_ok_and(|there| is_stale(&there, &new)) {
            let _ = disk.remove(&name.path());
        }
    }
}

fn is_stale(there: &Metadata, new: &Metadata) -> bool {
    #[cfg(unix)]
    let is_ours = {
        use std::os::unix::fs::MetadataExt;
        there.uid() == new.uid()
    };
    #[cfg(not(unix))]
    let is_ours = true;
    let age =
        new.modified().ok().zip(there.modified().ok()).and_then(|(new, old)| new.duration_since(old).ok());
    there.is_file() && is_ours && age.is_some_and(|age| age >= STALE)
}

/// A whole file without its name; dropped, it is removed.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    disk: &'a dyn Disk,
    path: &'a Path,
    file: NamedTempFile,
}

impl<'a> Draft<'a> {
    /// Writes a draft next to a name and waits until the disk has it.
    pub(crate) fn new<E: From<FileError>>(
        disk: &'a dyn Disk,
        path: &'a Path,
        mode: u32,
        owner: Option<&Metadata>,
        content: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<Self, E> {
        let create = |draft: &Path| disk.create(draft);
        // A draft that a kill leaves is listed by no agent, and is removed later.
        let file = tempfile::Builder::new().prefix(PREFIX).suffix(SUFFIX).make_in(folder_of(path), create);
        let file = file.map_err(|error| FileError::io(path, "creating it")(of_the_system(&error)))?;
        remove_stale(disk, folder_of(path), file.as_file());
        filled(disk, file.as_file(), path, content)?;
        dress(file.as_file(), mode, owner).map_err(FileError::io(path, "setting its mode"))?;
        disk.sync(file.as_file()).map_err(FileError::io(path, "waiting for the disk"))?;
        Ok(Self { disk, path, file })
    }

    /// Returns the file, to be locked before it has its name.
    pub(crate) fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Gives the draft its name, and returns the file open for reading and appending; the folder is
    /// to be synced.
    pub(crate) fn keep(self, overwrite: bool) -> Result<File, FileError> {
        let (file, name) = self.file.into_parts();
        self.disk.name(name, self.path, overwrite).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => FileError::Exists { path: self.path.to_owned() },
            _ => FileError::io(self.path, "creating it")(error),
        })?;
        Ok(file)
    }
}

/// Returns the error of the system, without the name of a draft that no user knows.
fn of_the_system(error: &io::Error) -> io::Error {
    let text = error.to_string();
    io::Error::new(error.kind(), text.split_once(" at path \"").map_or(&*text, |(said, _)| said).to_owned())
}
