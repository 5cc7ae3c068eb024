//! The context of a session on one screen: each item with its weight, what a compaction would do
//! to it, and where each line of the digest comes from.
//!
//! [`Context`] and [`Details`] say what there is; [`html::page`] renders them as a page of one
//! file, and [`Screen`] on a terminal: [`Screen::update`] takes keys and news, [`Screen::render`]
//! draws. Nothing here reads or writes a session: what a key asks for is returned as an
//! [`Effect`].

mod kind;
mod context;
mod source;
mod verdict;
pub mod html;
mod screen;
mod terminal;

pub use context::{
    Added, Budget, Context, Details, DigestLine, Fate, FoldedMessage, Growth, Item, Operation, Point, Preview,
};
pub use kind::Kind;
pub use screen::{Choice, Colors, Effect, Input, Screen, found_lines};
pub use source::digest_lines;
pub use terminal::run;
pub use verdict::verdict;
