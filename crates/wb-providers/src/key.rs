//! Keys: where they come from, and how nobody sees them.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use reqwest::header::HeaderValue;

/// What stands in the place of a key wherever a text is shown.
const REDACTED: &str = "[key]";

/// The secret that a provider knows its customer by. [`fmt::Debug`] shows none of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Arc<str>);

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// None of the environment's variables is set.
    #[error("no key: {names} is not set in the environment")]
    NotSet {
        /// The variables, as a person would name them.
        names: String,
    },
    /// The file cannot be read.
    #[error("the key's file cannot be read: {0}")]
    File(#[from] io::Error),
    /// Nothing is there but blanks.
    #[error("the key is empty")]
    Empty,
    /// It holds what no header can: blanks inside, line ends, letters beyond ASCII.
    #[error("the key holds characters that no key has; is it the right file or variable?")]
    Characters,
}

impl Key {
    /// Takes a key; blanks and line ends around it are left out.
    pub fn new(text: &str) -> Result<Self, KeyError> {
        match text.trim() {
            "" => Err(KeyError::Empty),
            text if text.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Self(text.into())),
            _ => Err(KeyError::Characters),
        }
    }

    /// Reads the first of these environment variables that is set and not blank.
    pub fn from_env(names: &[&str]) -> Result<Self, KeyError> {
        #[expect(clippy::disallowed_methods, reason = "a key in the environment is what it is asked for")]
        let read = |name: &&str| std::env::var(name).ok().filter(|text| !text.trim().is_empty());
        match names.iter().find_map(read) {
            Some(text) => Self::new(&text),
            None => Err(KeyError::NotSet { names: names.join(" or ") }),
        }
    }

    /// Reads a file that holds the key and nothing else.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, KeyError> {
        #[expect(clippy::disallowed_methods, reason = "a key in a file is what it is asked for")]
        let text = std::fs::read_to_string(path)?;
        Self::new(&text)
    }

    /// Returns the header's value that carries the key, which no log shows.
    pub(crate) fn header(&self, scheme: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{scheme}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Strikes the key from a text that is going to be shown.
    pub(crate) fn struck_from(&self, text: &str) -> String {
        text.replace(&*self.0, REDACTED)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_shown_nowhere() {
        let key = Key::new(" sk-very-secret\n").unwrap();
        assert_eq!(format!("{key:?} {:?}", Some(&key)), "[key] Some([key])");
        assert_eq!(key.struck_from("bad key sk-very-secret, sk-very-secret!"), "bad key [key], [key]!");
        let header = key.header("Bearer ").unwrap();
        assert_eq!(
            (header.to_str().unwrap(), format!("{header:?}").as_str()),
            ("Bearer sk-very-secret", "Sensitive")
        );
    }

    #[test]
    fn what_no_header_can_hold_is_no_key() {
        assert!(matches!(Key::new(" \n"), Err(KeyError::Empty)));
        for text in ["two words", "line\nend", "schlüssel", "a\u{7f}b"] {
            let error = Key::new(text).unwrap_err();
            assert!(matches!(error, KeyError::Characters) && !error.to_string().contains(text));
        }
    }

    #[test]
    fn a_variable_that_is_not_set_is_named() {
        let error = Key::from_env(&["WB_NO_SUCH_KEY", "WB_NOR_THIS"]).unwrap_err();
        assert_eq!(error.to_string(), "no key: WB_NO_SUCH_KEY or WB_NOR_THIS is not set in the environment");
    }

    #[test]
    fn a_file_that_is_not_there_is_said() {
        let error = Key::from_file("/no/such/file/of/a/key").unwrap_err();
        assert!(error.to_string().starts_with("the key's file cannot be read: "), "{error}");
    }
}
