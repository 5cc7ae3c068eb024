//! API keys, which no text shows.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use reqwest::header::HeaderValue;

/// The text in place of a key.
const REDACTED: &str = "[key]";

/// An API key. [`fmt::Debug`] shows none of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Arc<str>);

/// An error in reading a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// None of the environment variables is set.
    #[error("no API key: {names} is not set in the environment")]
    NotSet {
        /// The variables, joined with "or".
        names: String,
    },
    /// The file cannot be read.
    #[error("cannot read the key file: {0}")]
    File(#[from] io::Error),
    /// The key is blank.
    #[error("the key is empty")]
    Empty,
    /// The key contains characters that no header can: blanks, line ends or non-ASCII.
    #[error("the key contains characters that no key has; is it the right file or variable?")]
    Characters,
}

impl Key {
    /// Creates a key; surrounding blanks and line ends are trimmed.
    pub fn new(text: &str) -> Result<Self, KeyError> {
        match text.trim() {
            "" => Err(KeyError::Empty),
            text if text.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(Self(text.into())),
            _ => Err(KeyError::Characters),
        }
    }

    /// Reads the first of these environment variables that is not blank.
    pub fn from_env(names: &[&str]) -> Result<Self, KeyError> {
        #[expect(clippy::disallowed_methods, reason = "the caller asks for a key from the environment")]
        let read = |name: &&str| std::env::var(name).ok().filter(|text| !text.trim().is_empty());
        match names.iter().find_map(read) {
            Some(text) => Self::new(&text),
            None => Err(KeyError::NotSet { names: names.join(" or ") }),
        }
    }

    /// Reads a file that contains only the key.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, KeyError> {
        #[expect(clippy::disallowed_methods, reason = "the caller asks for a key from a file")]
        let text = std::fs::read_to_string(path)?;
        Self::new(&text)
    }

    /// Returns a header value with the key, marked as sensitive.
    pub(crate) fn header(&self, scheme: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{scheme}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Replaces the key in a text.
    pub(crate) fn redact(&self, text: &str) -> String {
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
        assert_eq!(key.redact("bad key sk-very-secret, sk-very-secret!"), "bad key [key], [key]!");
        let header = key.header("Bearer ").unwrap();
        assert_eq!(
            (header.to_str().unwrap(), format!("{header:?}").as_str()),
            ("Bearer sk-very-secret", "Sensitive")
        );
    }

    #[test]
    fn keys_that_no_header_can_hold_are_refused() {
        assert!(matches!(Key::new(" \n"), Err(KeyError::Empty)));
        for text in ["two words", "line\nend", "schlüssel", "a\u{7f}b"] {
            let error = Key::new(text).unwrap_err();
            assert!(matches!(error, KeyError::Characters) && !error.to_string().contains(text));
        }
    }

    #[test]
    fn unset_variables_are_named() {
        let error = Key::from_env(&["WB_NO_SUCH_KEY", "WB_NOR_THIS"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no API key: WB_NO_SUCH_KEY or WB_NOR_THIS is not set in the environment"
        );
    }

    #[test]
    fn a_missing_file_is_an_error() {
        let error = Key::from_file("/no/such/file/of/a/key").unwrap_err();
        assert!(error.to_string().starts_with("cannot read the key file: "), "{error}");
    }
}
