//! Plans a compaction as `wb compact` does, chosen by a number.

use wb_budget::ModelCard;
use wb_conductor::{Compactor, CondenseOpts, compact_locally};
use wb_formats::{Document, View};
use wb_message::{Message, Patch};
use wb_passes::ImagePolicy;

use wb_bind::Strategy;

/// A tiny and a small window, in tokens.
const WINDOWS: [u64; 2] = [600, 4_000];

/// Plans a compaction with a strategy, a window and force chosen by a number; returns the patch and
/// the resulting messages, unless nothing changes.
pub(crate) fn plan_compaction(
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
