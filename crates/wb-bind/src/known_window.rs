//! Determines the size of a session's window and its source.

use wb_budget::catalog::DEFAULT_WINDOW;
use wb_budget::{Catalog, UnknownModel};
use wb_formats::{UsageAt, View};
use wb_message::number::grouped;

/// The window that Claude Code gives a model without `[1m]` in its name, whatever the model
/// supports.
const CLAUDE_CODE_WINDOW: u64 = 200_000;
const CLAUDE_CODE: &str = "claude-code";

/// A window and its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownWindow {
    /// The window in tokens.
    pub tokens: u64,
    /// The source of the figure.
    pub from: WindowFrom,
}

/// The source of a window's size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WindowFrom {
    /// `--window`, or the requesting host.
    Option,
    /// The session's file.
    File,
    /// The catalog, under this id and of this day.
    Model {
        /// The model.
        id: String,
        /// The day.
        as_of: String,
    },
    /// The agent, which limits this model's window.
    Agent {
        /// The model.
        id: String,
    },
    /// The suffix of the model's name, such as `[1m]`.
    Name {
        /// The model.
        id: String,
    },
    /// A prompt that was answered although it is larger than the window known or assumed.
    Count {
        /// The tokens of the prompt.
        tokens: u64,
    },
    /// The catalog has this model, which differs in the last number of its version alone.
    Relative {
        /// The model.
        id: String,
    },
    /// None: the file names no model.
    Nobody,
    /// None: the catalog does not have the model.
    Unknown(UnknownModel),
}

impl KnownWindow {
    /// Takes the user's window, or the file's, or the catalog's for the model in the file, or the
    /// default.
    pub fn new(asked: Option<u64>, view: &View, catalog: &Catalog) -> Self {
        if let Some(tokens) = asked {
            return Self { tokens, from: WindowFrom::Option };
        }
        if let Some(tokens) = view.context_window {
            return Self { tokens, from: WindowFrom::File };
        }
        let known = match view.model.as_deref().map(str::trim).filter(|id| !id.is_empty()) {
            Some(id) => Self::of_model(id, view, catalog),
            None => Self { tokens: DEFAULT_WINDOW, from: WindowFrom::Nobody },
        };
        known.raised_to(most_counted(view), catalog)
    }

    /// Assumes the window of the version before the last number: a new version rarely has less.
    fn of_relative(id: &str, view: &View, catalog: &Catalog, unknown: UnknownModel) -> Self {
        let is_number = |end: &str| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit());
        let before = id.rsplit_once('-').filter(|(_, end)| is_number(end) && end.len() < 3);
        match before.map(|(before, _)| Self::of_model(before, view, catalog)) {
            Some(Self { tokens, from: WindowFrom::Model { id, .. } }) => {
                Self { tokens, from: WindowFrom::Relative { id } }
            }
            Some(known @ Self { from: WindowFrom::Agent { .. }, .. }) => known,
            _ => Self { tokens: DEFAULT_WINDOW, from: WindowFrom::Unknown(unknown) },
        }
    }

    /// Raises a window that an answered prompt exceeds: a count outranks what is assumed, and what
    /// a table says of a model that some accounts have with more.
    ///
    /// The new window is the smallest one of the catalog that holds the prompt.
    fn raised_to(self, counted: u64, catalog: &Catalog) -> Self {
        if counted <= self.tokens {
            return self;
        }
        let windows = catalog.models.iter().map(|entry| entry.card.context_window);
        let tokens = windows.filter(|window| counted <= *window).min().unwrap_or(counted);
        Self { tokens, from: WindowFrom::Count { tokens: counted } }
    }

    fn of_model(id: &str, view: &View, catalog: &Catalog) -> Self {
        let of_name = window_in_name(id);
        let entry = match (catalog.look_up(id), of_name) {
            (Ok(entry), _) => entry,
            (Err(_), Some(tokens)) => {
                return Self { tokens, from: WindowFrom::Name { id: id.to_owned() } };
            }
            (Err(unknown), None) => return Self::of_relative(id, view, catalog, unknown),
        };
        let (tokens, as_of) = (entry.card.context_window, entry.as_of.clone());
        if let Some(tokens) = of_name.filter(|named| *named > tokens) {
            return Self { tokens, from: WindowFrom::Name { id: id.to_owned() } };
        }
        let is_less =
            view.format == CLAUDE_CODE && of_name.is_none() && most_counted(view) <= CLAUDE_CODE_WINDOW;
        let id = entry.card.id.clone();
        if is_less && tokens > CLAUDE_CODE_WINDOW {
            return Self { tokens: CLAUDE_CODE_WINDOW, from: WindowFrom::Agent { id } };
        }
        Self { tokens, from: WindowFrom::Model { id, as_of } }
    }
}

/// Returns the tokens of the largest prompt that the session's model answered, with its answer.
fn most_counted(view: &View) -> u64 {
    let bare = |id: &str| id.split('[').next().unwrap_or_default().to_owned();
    let model = view.model.as_deref().map(bare);
    let is_its = |usage: &&UsageAt| usage.model.is_none() || usage.model.as_deref().map(bare) == model;
    view.usage.iter().filter(is_its).map(|usage| usage.usage.context_tokens()).max().unwrap_or(0)
}

/// Returns the window at the end of a model's name, in brackets: `[1m]`, `[200k]`.
fn window_in_name(id: &str) -> Option<u64> {
    let (_, size) = id.strip_suffix(']')?.rsplit_once('[')?;
    let unit = match size.chars().next_back()?.to_ascii_lowercase() {
        'k' => 1_000,
        'm' => 1_000_000,
        _ => return None,
    };
    let number: u64 = size[..size.len() - 1].parse().ok()?;
    number.checked_mul(unit).filter(|tokens| *tokens > 0)
}

impl WindowFrom {
    /// Returns whether nothing but a guess says how large the window is.
    pub fn is_guess(&self) -> bool {
        matches!(self, Self::Count { .. } | Self::Relative { .. } | Self::Nobody | Self::Unknown(_))
    }

    /// Returns one word for machines.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Option => "option",
            Self::File => "file",
            Self::Model { .. } => "model",
            Self::Agent { .. } => "agent",
            Self::Name { .. } => "name",
            Self::Count { .. } => "count",
            Self::Relative { .. } | Self::Nobody | Self::Unknown(_) => "assumed",
        }
    }

    /// Explains the source of a window; none if the user or the file set it.
    pub fn in_words(&self, tokens: u64) -> Option<String> {
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
            Self::Name { id } => format!("window in the name {id}; override with --window"),
            Self::Count { tokens: counted } => format!(
                "a prompt of {} tokens was answered, so a window of {tokens} is assumed; set it with --window",
                grouped(*counted)
            ),
            Self::Relative { id } => {
                format!("the model is not known; the window of {id} is assumed, set it with --window")
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
    use wb_budget::Usage;
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
    fn the_name_of_any_model_may_end_with_its_window() {
        assert_eq!(known("claude-code", "claude-next[1m]").tokens, 1_000_000);
        assert_eq!(known("pi", "my-model[500k]").from.word(), "name");
        for name in ["my-model[]", "my-model[1x]", "my-model[m]", "my-model[é]", "my-model[0k]"] {
            assert_eq!(known("pi", name).from.word(), "assumed", "{name}");
        }
    }

    #[test]
    fn a_new_version_is_assumed_to_have_the_window_of_the_one_before() {
        let next = known("pi", "claude-fable-5-7");
        assert_eq!((next.tokens, next.from.word()), (1_000_000, "assumed"));
        assert_eq!(known("claude-code", "claude-fable-5-7").tokens, 200_000);
        for other in ["claude-next-7", "gpt-4o-7777", "-7", "7"] {
            assert_eq!(known("pi", other).tokens, 200_000, "{other}");
        }
    }

    #[test]
    fn an_answered_prompt_proves_a_larger_window() {
        let counted = |model: &str, tokens| {
            let mut view = View::new("pi", ToolVocabulary::BASIC);
            view.model = Some(model.to_owned());
            let usage = Usage { input_tokens: tokens, ..Usage::EMPTY };
            view.usage = vec![UsageAt { at: 0, usage, model: None }];
            KnownWindow::new(None, &view, Catalog::built_in())
        };
        assert_eq!(counted("my-model", 150_000).from.word(), "assumed");
        assert_eq!(counted("my-model", 338_153).tokens, 400_000);
        assert_eq!(counted("claude-sonnet-4-5", 300_000).from.word(), "count");
        assert_eq!(counted("my-model", 9_000_000).tokens, 9_000_000);
    }

    #[test]
    fn what_another_model_answered_proves_nothing() {
        let mut view = View::new("pi", ToolVocabulary::BASIC);
        view.model = Some("claude-haiku-4-5".to_owned());
        let usage = Usage { input_tokens: 500_000, ..Usage::EMPTY };
        view.usage = vec![UsageAt { at: 0, usage, model: Some("claude-opus-4-8".to_owned()) }];
        assert_eq!(KnownWindow::new(None, &view, Catalog::built_in()).tokens, 200_000);
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
