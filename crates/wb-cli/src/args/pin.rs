//! The command line of `wb pin`, `wb unpin` and `wb drop`.

use std::path::PathBuf;

use clap::Args;

use crate::args::NEWEST;

/// The largest number of a message or a pin; a longer one is an id.
const MOST_NUMBER: u64 = 99_999;

#[derive(Debug, Default, Args)]
pub(crate) struct PinArgs {
    /// Session, then numbers of messages, as in `wb plan --outline`
    ///
    /// A session is a file, an id or the start of it, or words of a title; without one, the newest
    /// of this folder. Without numbers and --text, lists the pins.
    #[arg(value_name = "SESSION|N")]
    pub(crate) words: Vec<String>,
    /// Pin this text instead of a message
    #[arg(long)]
    pub(crate) text: Option<String>,
    /// The session, once it was found
    #[arg(skip)]
    pub(crate) file: PathBuf,
    /// The numbers among the words
    #[arg(skip)]
    pub(crate) numbers: Vec<u64>,
}

#[derive(Debug, Default, Args)]
pub(crate) struct UnpinArgs {
    /// Session, then numbers of pins in `wb pin`
    #[arg(value_name = "SESSION|N", required_unless_present = "all")]
    pub(crate) words: Vec<String>,
    /// Remove all pins
    #[arg(long)]
    pub(crate) all: bool,
    /// The session, once it was found
    #[arg(skip)]
    pub(crate) file: PathBuf,
    /// The numbers among the words
    #[arg(skip)]
    pub(crate) numbers: Vec<u64>,
}

#[derive(Debug, Default, Args)]
pub(crate) struct DropArgs {
    /// Session, then numbers of messages, as in `wb plan --outline`
    ///
    /// A session is a file, an id or the start of it, or words of a title; without one, the newest
    /// of this folder. Without numbers, lists what is dropped.
    #[arg(value_name = "SESSION|N")]
    pub(crate) words: Vec<String>,
    /// Drop these messages no longer; without numbers, none
    #[arg(long)]
    pub(crate) undo: bool,
    /// The session, once it was found
    #[arg(skip)]
    pub(crate) file: PathBuf,
    /// The numbers among the words
    #[arg(skip)]
    pub(crate) numbers: Vec<u64>,
}

/// Splits words into the session and the numbers after it.
pub(crate) fn session_and_numbers(words: &[String]) -> Result<(PathBuf, Vec<u64>), String> {
    let number =
        |word: &String| word.trim_start_matches('#').parse().ok().filter(|number| *number <= MOST_NUMBER);
    let (session, rest) = match words.split_first() {
        Some((first, rest)) if number(first).is_none() || PathBuf::from(first).exists() => {
            (PathBuf::from(first), rest)
        }
        _ => (NEWEST.into(), words),
    };
    let numbers = rest.iter().map(|word| number(word).ok_or_else(|| word.clone()));
    Ok((session, numbers.collect::<Result<_, _>>()?))
}
