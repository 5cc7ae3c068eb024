//! The steps by which files change: one trait, so that tests can fail each step and cut the power
//! after it.
#![expect(clippy::disallowed_methods, reason = "files are touched here")]

use std::fmt::Debug;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use tempfile::TempPath;

/// The operations that change a file or a folder. The defaults call the system.
pub(crate) trait Disk: Debug + Send + Sync {
    /// Creates a file that only its owner may read, and fails if the name is taken.
    fn create(&self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.read(true).append(true).create_new(true).open(path)
    }

    /// Writes once to the end of a file.
    fn write(&self, mut file: &File, bytes: &[u8]) -> io::Result<usize> {
        file.write(bytes)
    }

    /// Truncates a file.
    fn cut(&self, file: &File, len: u64) -> io::Result<()> {
        file.set_len(len)
    }

    /// Waits until the bytes of a file are on the disk.
    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_all()
    }

    /// Gives a draft its name; over another file only with `overwrite`.
    fn name(&self, draft: TempPath, path: &Path, overwrite: bool) -> io::Result<()> {
        let named = if overwrite { draft.persist(path) } else { draft.persist_noclobber(path) };
        named.map_err(|error| error.error)
    }

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    /// Waits until the disk has the names of a folder; only Unix has that.
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
    }
}

/// The disk of the system.
#[derive(Debug)]
pub(crate) struct System;

impl Disk for System {}

/// Returns the folder that a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Identifies a file among those under the same name: device and inode, where the system has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity(u64, u64);

impl Identity {
    pub(crate) fn from_metadata(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let identity = {
            use std::os::unix::fs::MetadataExt;
            Self(metadata.dev(), metadata.ino())
        };
        #[cfg(not(unix))]
        let identity = {
            let _ = metadata;
            Self(0, 0)
        };
        identity
    }
}

/// Gives a file the mode of another, and its owner if `owner` is set and the system allows it.
pub(crate) fn dress(file: &File, mode: u32, owner: Option<&Metadata>) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
        if let Some(owner) = owner {
            // Only root may change the owner of a file; others keep it, in the group if that is
            // allowed.
            let _ = fchown(file, Some(owner.uid()), None);
            let _ = fchown(file, None, Some(owner.gid()));
        }
        file.set_permissions(fs::Permissions::from_mode(mode & 0o777))?;
    }
    let _ = (file, mode, owner);
    Ok(())
}

/// Returns the mode of a file; where the system knows none, that of a file which only its owner may
/// read.
pub(crate) fn mode_of(metadata: &Metadata) -> u32 {
    #[cfg(unix)]
    let mode = std::os::unix::fs::MetadataExt::mode(metadata) & 0o777;
    #[cfg(not(unix))]
    let mode = {
        let _ = metadata;
        0o600
    };
    mode
}

/// Reads a file from a place on without a cursor that others share.
#[derive(Debug)]
pub(crate) struct FileCursor<'a> {
    pub(crate) file: &'a File,
    pub(crate) at: u64,
}

impl FileCursor<'_> {
    /// Reads until a buffer is full or the file ends, and returns how many bytes it got.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut n_bytes = 0;
        // No file is longer than the system's largest offset.
        while n_bytes < buffer.len() && i64::try_from(self.at).is_ok() {
            match self.read(&mut buffer[n_bytes..]) {
                Ok(0) => break,
                Ok(n) => n_bytes += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(n_bytes)
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let n_bytes = std::os::unix::fs::FileExt::read_at(self.file, buffer, self.at)?;
        #[cfg(windows)]
        let n_bytes = std::os::windows::fs::FileExt::seek_read(self.file, buffer, self.at)?;
        self.at += n_bytes as u64;
        Ok(n_bytes)
    }
}

#[cfg(test)]
pub(crate) mod tests;
