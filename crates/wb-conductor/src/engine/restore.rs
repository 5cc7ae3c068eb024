//! Restored files: the files that the head read last, within the room that is left.

use wb_message::{Edit, Patch};
use wb_passes::{RestoreLimits, restore_reads};

use crate::engine::StepRunner;

impl StepRunner<'_, '_> {
    /// Restores files within the room that is left; the result has at most as many messages as the
    /// input.
    pub(super) fn restore(&mut self, max_files: usize) -> bool {
        let (Some(head), Some((hole, digest_tokens))) = (&self.head, self.draft.hole()) else { return false };
        // A transcript that cannot fit is not made heavier.
        if self.budget.has_target() && self.split.is_hopeless {
            return false;
        }
        let total = self.draft.total();
        let freed = self.draft.input.total_tokens().saturating_sub(total - digest_tokens);
        let has_target = self.budget.has_target();
        let room = self.target.saturating_sub(self.reserved.saturating_add(total));
        let room = if has_target { room } else { u64::MAX };
        // Lines and files share the same room: the most lines leave no room for a file.
        let restored = u128::from(self.split.restored);
        let used = restored * u128::from(head.lines_tokens) / u128::from(self.most_lines().max(1));
        let left = self.split.restored.saturating_sub(u64::try_from(used).unwrap_or(u64::MAX));
        let max_tokens = left.min(room).min(freed / 2);
        if max_tokens == 0 {
            return false;
        }
        let limits = RestoreLimits {
            max_files: max_files.min(self.draft.n_free()),
            max_tokens,
            vocabulary: self.vocabulary,
            is_stale: &|path| head.facts.files().is_stale(path),
        };
        let files = restore_reads(&self.draft.input, head.cut, &self.draft.hidden(head.cut), limits);
        if files.is_empty() {
            return false;
        }
        let (least, before) = (head.least_tokens, total);
        let patch = Patch::new(vec![Edit::Fold { range: hole + 1..hole + 1, with: files }]);
        let is_changed = self.draft.apply(patch, true).is_ok();
        // The result stays much lighter than the head: the digest takes at most half of the rest.
        let left = freed.saturating_sub(self.draft.total() - before);
        self.draft.resize_hole(digest_tokens.min(left / 2).max(least));
        is_changed
    }
}
