//! Colours; streams that are no terminals strip them.

use anstyle::{AnsiColor, Style};

pub(crate) const HEAD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
pub(crate) const HINT: Style = AnsiColor::Cyan.on_default();
