//! The user's choices for later compactions of a session: texts that every digest contains
//! verbatim, and messages that are folded first.

mod insert;
mod drops;

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wb_budget::{TokenCounter as _, TokenHeuristic};
use wb_record::{FileError, write_new};

use crate::session::find::database::{file_of, split};
use crate::terminal::file_error::{not_file_written, not_opened};
use crate::terminal::number::grouped;
use crate::terminal::user_error::UserError;

pub(crate) use self::drops::{SessionDrop, indices_of};
pub(crate) use self::insert::with_words;

/// The tokens that all pins of a session may have. Chosen: an eighth of a small window.
pub(crate) const MOST_PIN_TOKENS: u64 = 2_000;
/// The version of the file.
const VERSION: u32 = 1;

/// A pinned text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SessionPin {
    /// The number by which it is removed, from 1.
    pub(crate) pin: u64,
    /// The message that it is from; none for a text of the user.
    pub(crate) from: Option<String>,
    /// The number of that message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<u64>,
    pub(crate) text: String,
    /// The conversation of a database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conversation: Option<String>,
}

/// The message from which a text is pinned.
#[derive(Clone, Debug)]
pub(crate) struct PinSource {
    pub(crate) message: u64,
    pub(crate) label: String,
}

/// The file next to a session.
#[derive(Debug, Serialize, Deserialize)]
struct PinsFile {
    version: u32,
    pins: Vec<SessionPin>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    drops: Vec<SessionDrop>,
}

/// The pins and drops of a session, and those of other sessions in the same database.
#[derive(Debug)]
pub(crate) struct Pins {
    path: PathBuf,
    conversation: Option<String>,
    all: Vec<SessionPin>,
    drops: Vec<SessionDrop>,
}

impl SessionPin {
    /// Returns the text as a digest quotes it: on one line, or each line after a mark, so that
    /// nothing in it is taken for a heading.
    pub(crate) fn quoted(&self) -> String {
        let from = self.from.as_deref().map(|from| format!(", {from}")).unwrap_or_default();
        let text = self.text.trim_end();
        if text.lines().count() <= 1 {
            return format!("Pinned by the user{from}: {text}");
        }
        let lines = text.lines().map(|line| format!("\n> {line}"));
        format!("Pinned by the user{from}:{}", lines.collect::<String>())
    }

    /// Returns the tokens that it takes in a digest.
    pub(crate) fn tokens(&self) -> u64 {
        TokenHeuristic::DEFAULT.text(&self.quoted())
    }

    fn is_of(&self, conversation: Option<&str>) -> bool {
        is_of(self.conversation.as_deref(), conversation)
    }
}

/// Returns whether a choice for a conversation counts in another one; one without a name counts
/// in the whole file.
fn is_of(chosen: Option<&str>, conversation: Option<&str>) -> bool {
    chosen.is_none_or(|name| Some(name) == conversation)
}

impl Pins {
    /// Reads the pins next to a session; without a file, there are none.
    pub(crate) fn read(session: &Path) -> Result<Self, UserError> {
        Self::read_of(file_of(session), split(session).1.map(str::to_owned))
    }

    /// Reads the pins of a conversation in a file.
    pub(crate) fn read_of(file: &Path, conversation: Option<String>) -> Result<Self, UserError> {
        let real = if file.is_symlink() { file.canonicalize().ok() } else { None };
        let mut name = OsString::from(real.as_deref().unwrap_or(file));
        name.push(".wb-pins");
        let path = PathBuf::from(name);
        let of_file = |what: &str| {
            UserError::of_file(
                path.display().to_string(),
                what,
                "repair it, or remove it to forget all pins and drops",
            )
        };
        let bytes = match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self { path, conversation, all: Vec::new(), drops: Vec::new() });
            }
            Err(error) => return Err(not_opened(&path, &error)),
            Ok(there) if !there.is_file() => return Err(of_file("is no regular file")),
            Ok(_) => fs::read(&path).map_err(|error| not_opened(&path, &error))?,
        };
        let known: PinsFile = serde_json::from_slice(&bytes)
            .map_err(|error| of_file("is no list of pins").at_line(Some(error.line())))?;
        if known.version != VERSION {
            return Err(of_file("was written by another version of wb"));
        }
        Ok(Self { path, conversation, all: known.pins, drops: known.drops })
    }

    /// Returns the pins of the session.
    pub(crate) fn of_session(&self) -> Vec<SessionPin> {
        let is_here = |pin: &&SessionPin| pin.is_of(self.conversation.as_deref());
        self.all.iter().filter(is_here).cloned().collect()
    }

    /// Adds a pin and returns it; the same text is pinned once.
    pub(crate) fn add(&mut self, source: Option<PinSource>, text: String) -> Result<SessionPin, UserError> {
        let here = self.of_session();
        if let Some(known) = here.iter().find(|pin| pin.text == text) {
            return Ok(known.clone());
        }
        let number = self.all.iter().map(|pin| pin.pin).max().unwrap_or(0) + 1;
        let (message, from) = source.map(|it| (it.message, it.label)).unzip();
        let pin = SessionPin { pin: number, from, message, text, conversation: self.conversation.clone() };
        let taken: u64 = here.iter().map(SessionPin::tokens).sum();
        if taken + pin.tokens() > MOST_PIN_TOKENS {
            let what = format!(
                "{} tokens do not fit: {} of {} are pinned already",
                grouped(pin.tokens()),
                grouped(taken),
                grouped(MOST_PIN_TOKENS)
            );
            return Err(UserError::new(what, "pin less with --text, or remove a pin with `wb unpin`"));
        }
        self.all.push(pin.clone());
        Ok(pin)
    }

    /// Removes a pin of the session, and returns it.
    pub(crate) fn remove(&mut self, number: u64) -> Option<SessionPin> {
        let is_it = |pin: &SessionPin| pin.pin == number && pin.is_of(self.conversation.as_deref());
        let at = self.all.iter().position(is_it)?;
        Some(self.all.remove(at))
    }

    /// Writes the file, which only its owner may read; without a choice it is removed.
    pub(crate) fn write(&self) -> Result<(), UserError> {
        let failed = |source| FileError::Io { path: self.path.clone(), doing: "writing it", source };
        let not_written = |error: FileError| not_file_written(&self.path, &error);
        if self.all.is_empty() && self.drops.is_empty() {
            return match fs::remove_file(&self.path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(not_written(failed(error))),
                _ => Ok(()),
            };
        }
        let file = PinsFile { version: VERSION, pins: self.all.clone(), drops: self.drops.clone() };
        let text = serde_json::to_vec_pretty(&file).unwrap_or_default();
        write_new(&self.path, None, true, |out: &mut dyn Write| out.write_all(&text).map_err(failed))
            .map_err(not_written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_quoted_line_by_line_and_inserted_once() {
        let one = SessionPin {
            pin: 1,
            from: None,
            message: None,
            text: "Never push.".to_owned(),
            conversation: None,
        };
        let text = "# Plan\nb".to_owned();
        let two = SessionPin { text, from: Some("message 3".to_owned()), ..one.clone() };
        let words = format!("{}\n{}\n", one.quoted(), two.quoted());
        assert_eq!(words, "Pinned by the user: Never push.\nPinned by the user, message 3:\n> # Plan\n> b\n");
        let digest = "Header\n\n# Objective\n- x\n# Carryover\n- Pinned by the user: Never push.\n> b";
        let inserted = with_words(digest, &words);
        assert_eq!(inserted, format!("Header\n\n{words}\n# Objective\n- x\n# Carryover"));
        assert_eq!(with_words(digest, ""), digest);
    }

    #[test]
    fn pins_have_a_cap_and_are_kept_by_conversation() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.db");
        let of = |name: &str| Pins::read_of(&file, Some(name.to_owned())).unwrap();
        let mut one = of("one");
        one.add(None, "Keep this.".to_owned()).unwrap();
        assert_eq!(one.add(None, "Keep this.".to_owned()).unwrap().pin, 1);
        assert!(one.add(None, "word ".repeat(9_000)).unwrap_err().message.contains("of 2,000"));
        one.write().unwrap();
        assert_eq!((of("one").of_session().len(), of("two").of_session().len()), (1, 0));
        assert_eq!(of("two").remove(1), None);
        let mut one = of("one");
        assert!(one.remove(1).is_some());
        one.write().unwrap();
        assert!(!folder.path().join("a.db.wb-pins").exists());
        fs::write(folder.path().join("a.db.wb-pins"), "{\n!").unwrap();
        let error = Pins::read_of(&file, None).unwrap_err();
        assert_eq!((error.message.as_str(), error.line), ("is no list of pins", Some(2)));
    }
}
