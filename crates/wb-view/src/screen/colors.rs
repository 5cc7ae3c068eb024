//! Colours of the screen; each has a mark or a word next to it, so that none is needed.

use ratatui::style::{Color, Modifier, Style};

use crate::context::Fate;
use crate::kind::Kind;

/// The use of colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colors {
    /// The terminal shows them.
    On,
    /// The user wants none, or there are none.
    Off,
}

impl Colors {
    fn colored(self, color: Color) -> Style {
        if self == Self::On { Style::new().fg(color) } else { Style::new() }
    }

    pub(super) fn fate(self, fate: Fate) -> Style {
        match fate {
            Fate::Kept => Style::new(),
            Fate::Folded => self.colored(Color::Red),
            Fate::Cleared | Fate::Shortened => self.colored(Color::Yellow),
        }
    }

    pub(super) fn kind(self, kind: Kind) -> Style {
        self.colored(match kind {
            Kind::ToolResults => Color::Blue,
            Kind::Assistant => Color::Magenta,
            Kind::User => Color::Green,
            Kind::Shell => Color::Cyan,
            Kind::Custom => Color::Yellow,
            Kind::Digest => Color::Red,
            Kind::Unseen => Color::Gray,
        })
    }

    pub(super) fn source(self) -> Style {
        self.colored(Color::Cyan)
    }

    pub(super) fn alarm(self) -> Style {
        self.colored(Color::Red).add_modifier(Modifier::BOLD)
    }

    pub(super) fn dim(self) -> Style {
        if self == Self::On { Style::new().add_modifier(Modifier::DIM) } else { Style::new() }
    }
}

/// Returns the style of what is selected, or of a title.
pub(super) fn selected(has_focus: bool) -> Style {
    Style::new().add_modifier(if has_focus { Modifier::REVERSED } else { Modifier::BOLD })
}
