//! Long text on a terminal goes through a pager, as git's does.

use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

/// The pager unless a variable names one.
const PAGER: &str = "less";
/// The options of `less`: quit if it fits, keep colours, and leave the text on the screen.
const LESS: &str = "FRX";

/// A running pager.
#[derive(Debug)]
pub(crate) struct Pager(Child);

impl Pager {
    /// Starts the pager of the user; none if there is none, or if it is `cat` or empty.
    pub(crate) fn start(named: Option<&str>) -> Option<Self> {
        let line = named.unwrap_or(PAGER).trim();
        if line.is_empty() || line == "cat" {
            return None;
        }
        let mut command = Command::new("sh");
        command.args(["-c", line]).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            command.env("LESS", LESS);
        }
        command.spawn().ok().map(Self)
    }

    /// Writes a text and waits until the user has read it; a pager that ends early is no failure.
    pub(crate) fn show(mut self, text: &[u8]) -> io::Result<()> {
        let written = self.0.stdin.take().map_or(Ok(()), |mut input| input.write_all(text));
        self.0.wait()?;
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pager_is_started_where_none_is_wanted() {
        for named in ["", " ", "cat"] {
            assert!(Pager::start(Some(named)).is_none(), "{named:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_pager_gets_the_text_and_may_end_early() {
        let file = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let line = format!("cat > '{}'", file.display());
        Pager::start(Some(&line)).unwrap().show(b"text").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"text");
        let long = vec![b'x'; 1 << 20];
        assert!(Pager::start(Some("true")).unwrap().show(&long).is_ok());
    }
}
