//! A compaction as `wb compact` plans it, chosen by a number.

use wb_budget::ModelCard;
use wb_conductor::{Compactor, CondenseOpts, compact_locally};
use wb_formats::{Document, View};
use wb_message::{Message, Patch};
use wb_passes::ImagePolicy;

use crate::strategy::Strategy;

/// The windows, in tokens: one that hardly holds anything, and one that holds a little.
const WINDOWS: [u64; 2] = [600, 4_000];

/// Plans a compaction by one of the strategies, for one of the windows, forced or not; nothing if it changes nothing.
/// Returns the patch and what it makes of the messages.
pub(crate) fn compacted(
    document: &dyn Document,
    view: &View,
    choice: usize,
) -> Option<(Patch, Vec<Message>)> {
    let strategy = Strategy::ALL[choice % Strategy::ALL.len()];
    let images = [ImagePolicy::Keep, ImagePolicy::Marker, ImagePolicy::Drop][choice / 16 % 3];
    let (window, force) = (WINDOWS[choice / 4 % WINDOWS.len()], choice / 8 % 2 == 0);
    let settings = Compactor::new()
        .card(ModelCard::with_window(window))
        .pipeline(strategy.within(images, &document.abilities()))
        .vocabulary(view.vocabulary);
    let mut messages = view.messages.clone();
    let opts = CondenseOpts { force, ..CondenseOpts::default() };
    let undo = compact_locally(&mut messages, &settings, &opts).undo?;
    Some((Patch::from_undo(&undo, &messages), messages))
}
