//! The version of an installed agent, compared with those that the plug-in is known to work with.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::Host;
use super::place::find_program;
use crate::platform::environment::Environment;
use crate::terminal::user_error::UserError;

/// The timeout for another program to print its version.
const PATIENCE: Duration = Duration::from_secs(2);

/// The version of the agent that the search path leads to.
#[derive(Debug)]
pub(crate) struct HostVersion {
    text: String,
    numbers: [u32; 3],
}

impl HostVersion {
    /// Asks the agent; nothing if it is not there or reports no version.
    pub(crate) fn read(host: &Host, environment: &Environment) -> Option<Self> {
        let output = version_output(&find_program(environment, host.program)?)?;
        let mut words = output.split_whitespace().map(|word| word.trim_start_matches('v'));
        words.find_map(|word| Some(Self { text: word.to_owned(), numbers: numbers(word)? }))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Reports that this version ignores the plug-in.
    pub(crate) fn never_asks(&self, host: &Host) -> Option<UserError> {
        let first = host.first.filter(|first| numbers(first).is_some_and(|first| self.numbers < first))?;
        let message = format!("{} {} never asks a plug-in like this one", host.title, self.text);
        let (name, title) = (host.name, host.title);
        let hint = match host.hooks {
            Some(_) => format!("update {title} to {first} or later, or run wb install {name} --hooks"),
            None => format!("update {title} to {first} or later"),
        };
        Some(UserError::new(message, hint))
    }

    /// Reports that this version is newer than the one that the plug-in was tested with.
    pub(crate) fn untested(&self, host: &Host) -> Option<String> {
        let is_newer = numbers(host.tried).is_some_and(|tried| self.numbers > tried);
        is_newer.then(|| {
            format!("{} {} is untested; the plug-in was tested with {}", host.title, self.text, host.tried)
        })
    }
}

/// Returns the three numbers of a version.
fn numbers(version: &str) -> Option<[u32; 3]> {
    let mut parts = version.splitn(3, '.');
    let mut next = || {
        let part = parts.next()?;
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        part[..end].parse().ok()
    };
    Some([next()?, next()?, next()?])
}

/// Asks a program for its version, and returns its output; nothing if it does not answer in time.
pub(crate) fn version_output(path: &Path) -> Option<String> {
    let mut command = Command::new(path);
    let mut child = command
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let start = Instant::now();
    while child.try_wait().ok()?.is_none() {
        if start.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        sleep(Duration::from_millis(5));
    }
    let text = String::from_utf8(child.wait_with_output().ok()?.stdout).ok()?;
    Some(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_three_numbers_with_whatever_follows() {
        assert_eq!(numbers("2.1.328"), Some([2, 1, 328]));
        assert_eq!(numbers("1.6.0-beta.2"), Some([1, 6, 0]));
        assert_eq!([numbers("2.1"), numbers("(Claude"), numbers("")], [None; 3]);
    }

    #[test]
    fn a_program_without_a_version_in_time_has_none() {
        assert_eq!(version_output(Path::new("/nowhere/wb")), None);
    }
}
