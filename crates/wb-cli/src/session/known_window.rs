//! Determines the size of a session's window and its source.

use wb_budget::catalog::DEFAULT_WINDOW;
use wb_budget::{Catalog, UnknownModel};
use wb_formats::View;

use crate::terminal::number::grouped;

/// The window that Claude Code gives a model without `[1m]` in its name, whatever the model
/// supports.
const CLAUDE_CODE_WINDOW: u64 = 200_000;
const CLAUDE_CODE: &str = "claude-code";
/// The suffix of a model's name when Claude Code uses its whole window.
const WHOLE_WINDOW: &str = "[1m]";

/// A window and its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownWindow {
    pub(crate) tokens: u64,
    pub(crate) from: WindowFrom,
}

/// The source of a window's size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WindowFrom {
    /// `--window`, or the requesting host.
    Option,
    /// The session's file.
    File,
    /// The catalog, under this id and of this day.
    Model { id: String, as_of: String },
    /// The agent, which limits this model's window.
    Agent { id: String },
    /// None: the file names no model.
    Nobody,
    /// None: the catalog does not have the model.
    Unknown(UnknownModel),
}

impl KnownWindow {
    /// Takes the user's window, or the file's, or the catalog's for the model in the file, or the
    /// default.
    pub(crate) fn new(asked: Option<u64>, view: &View, catalog: &Catalog) -> Self {
        if let Some(tokens) = asked {
            return Self { tokens, from: WindowFrom::Option };
        }
        if let Some(tokens) = view.context_window {
            return Self { tokens, from: WindowFrom::File };
        }
        match view.model.as_deref().map(str::trim).filter(|id| !id.is_empty()) {
            Some(id) => Self::of_model(id, view, catalog),
            None => Self { tokens: DEFAULT_WINDOW, from: WindowFrom::Nobody },
        }
    }

    fn of_model(id: &str, view: &View, catalog: &Catalog) -> Self {
        let entry = match catalog.look_up(id) {
            Ok(entry) => entry,
            Err(unknown) => {
                return Self { tokens: DEFAULT_WINDOW, from: WindowFrom::Unknown(unknown) };
            }
        };
        let (tokens, as_of) = (entry.card.context_window, entry.as_of.clone());
        let counted = view.usage.iter().map(|usage| usage.usage.context_tokens()).max().unwrap_or(0);
        let is_less =
            view.format == CLAUDE_CODE && !id.ends_with(WHOLE_WINDOW) && counted <= CLAUDE_CODE_WINDOW;
        let id = entry.card.id.clone();
        if is_less && tokens > CLAUDE_CODE_WINDOW {
            return Self { tokens: CLAUDE_CODE_WINDOW, from: WindowFrom::Agent { id } };
        }
        Self { tokens, from: WindowFrom::Model { id, as_of } }
    }
}

impl WindowFrom {
    /// Returns one word for machines.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Option => "option",
            Self::File => "file",
            Self::Model { .. } => "model",
            Self::Agent { .. } => "agent",
            Self::Nobody | Self::Unknown(_) => "assumed",
        }
    }

    /// Explains the source of a window; none if the user or the file set it.
    pub(crate) fn in_words(&self, tokens: u64) -> Option<String> {
        let tokens = grouped(tokens);
        Some(match self {
            Self::Option | Self::File => return None,
            Self::Model { id, as_of } if as_of.is_empty() => {
                format!("window of {id}, from the settings; override with --window")
            }
            Self::Model { id, as_of } => {
                format!("window of {id}, as of {as_of}; override with --window")
            }
            Self::Agent { id } => {
                format!(
                    "Claude Code limits {id} to a window of {tokens}, unless its name ends in [1m]; override with --window"
                )
            }
            Self::Nobody => format!("the file names no window: {tokens} assumed; set it with --window"),
            Self::Unknown(UnknownModel { id, .. }) => {
                format!(
                    "the file names no window and `wb models` has no {id}: {tokens} assumed; set it with --window"
                )
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use wb_message::ToolVocabulary;

    use super::*;

    fn known(format: &'static str, model: &str) -> KnownWindow {
        let mut view = View::new(format, ToolVocabulary::BASIC);
        view.model = Some(model.to_owned());
        KnownWindow::new(None, &view, Catalog::built_in())
    }

    #[test]
    fn the_model_of_a_session_has_its_window() {
        let opus = known("pi", "claude-opus-4-6");
        assert_eq!((opus.tokens, opus.from.word()), (1_000_000, "model"));
        let mine = known("pi", "my-model");
        assert_eq!((mine.tokens, mine.from.word()), (200_000, "assumed"));
    }

    #[test]
    fn claude_code_gives_less_unless_the_model_is_named_for_more() {
        assert_eq!(known("claude-code", "claude-opus-4-6").tokens, 200_000);
        assert_eq!(known("claude-code", "claude-opus-4-6[1m]").tokens, 1_000_000);
        assert_eq!(known("claude-code", "claude-haiku-4-5").from.word(), "model");
    }

    #[test]
    fn what_the_user_says_counts_first() {
        let mut view = View::new("pi", ToolVocabulary::BASIC);
        view.context_window = Some(5);
        let of = |asked| KnownWindow::new(asked, &view, Catalog::built_in());
        assert_eq!((of(Some(7)).from, of(Some(7)).tokens), (WindowFrom::Option, 7));
        assert_eq!((of(None).from, of(None).tokens), (WindowFrom::File, 5));
    }
}
