//! Removes images from older tool results.

use serde::{Deserialize, Serialize};
use wb_budget::WeighedTranscript;
use wb_message::markers::REMOVED_IMAGE;
use wb_message::{Block, Edit, Message, Patch, last_prompt_start};

use crate::microcompact::DEFAULT_KEEP_RECENT;
use crate::pass::{Goal, Pass};

/// The treatment of images in older tool results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ImagePolicy {
    /// Keeps them.
    #[default]
    Keep,
    /// Replaces each by [`REMOVED_IMAGE`].
    Marker,
    /// Removes them; an empty result becomes [`REMOVED_IMAGE`].
    Drop,
}

impl ImagePolicy {
    /// Returns the policy's name in settings and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Marker => "marker",
            Self::Drop => "drop",
        }
    }
}

/// Removes images from tool results before the last prompt, and after it from all but the newest
/// [`DEFAULT_KEEP_RECENT`] results with images, which the model still uses.
///
/// The remaining body is one text, which every format can store. Images of the user stay. A result
/// that would not become lighter stays too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Images {
    /// The treatment of the images, [`ImagePolicy::Marker`] by default.
    pub policy: ImagePolicy,
}

impl Default for Images {
    fn default() -> Self {
        Self { policy: ImagePolicy::Marker }
    }
}

impl Images {
    /// Returns the edit of a result, `None` if that would not be lighter.
    fn edit(self, view: &WeighedTranscript<'_>, at: usize) -> Option<Edit> {
        let content = self.without_images(view.messages[at].blocks());
        let tokens = view.counter.message(&view.messages[at].with_body(content.clone()));
        (tokens < view.weight(at)).then_some(Edit::Body { at, content })
    }

    /// Replaces all texts and images of a body by one text.
    fn without_images(self, content: &[Block]) -> Vec<Block> {
        let texts = content.iter().filter_map(|block| match block {
            Block::Image { .. } => (self.policy == ImagePolicy::Marker).then_some(REMOVED_IMAGE),
            _ => block.as_text(),
        });
        let text = texts.collect::<Vec<_>>().join("\n");
        let mut text = Some(if text.trim().is_empty() { REMOVED_IMAGE.to_owned() } else { text });
        let block = |block: &Block| match block {
            Block::Text { .. } | Block::Image { .. } => text.take().map(Block::text),
            other => Some(other.clone()),
        };
        content.iter().filter_map(block).collect()
    }
}

impl Pass for Images {
    fn name(&self) -> &'static str {
        "images"
    }

    fn plan(&self, view: &WeighedTranscript<'_>, _: Goal<'_>) -> Option<Patch> {
        if self.policy == ImagePolicy::Keep {
            return None;
        }
        let turn = last_prompt_start(&view.messages).unwrap_or(0);
        let mut with_images: Vec<usize> =
            (0..view.messages.len()).filter(|at| has_images(view.messages[*at])).collect();
        let n_older = with_images.partition_point(|at| *at < turn);
        with_images.truncate(n_older.max(with_images.len().saturating_sub(DEFAULT_KEEP_RECENT)));
        let free = with_images.into_iter().filter(|at| !view.is_fixed(*at));
        let edits: Vec<_> = free.filter_map(|at| self.edit(view, at)).collect();
        (!edits.is_empty()).then_some(Patch { edits })
    }
}

fn has_images(message: &Message) -> bool {
    let is_image = |block: &Block| matches!(block, Block::Image { .. });
    matches!(message, Message::ToolResult { content, .. } if content.iter().any(is_image))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(policy: ImagePolicy, content: &[Block]) -> Vec<Block> {
        Images { policy }.without_images(content)
    }

    #[test]
    fn texts_stay_and_images_become_marks_or_nothing() {
        let image = || Block::image("image/png", "AAAA");
        let content = [Block::text("above"), image(), Block::text("below")];
        let marked = format!("above\n{REMOVED_IMAGE}\nbelow");
        assert_eq!(body(ImagePolicy::Marker, &content), [Block::text(marked)]);
        assert_eq!(body(ImagePolicy::Drop, &content), [Block::text("above\nbelow")]);
        assert_eq!(body(ImagePolicy::Drop, &[image()]), [Block::text(REMOVED_IMAGE)]);
        assert_eq!(body(ImagePolicy::Drop, &[Block::text(" "), image()]), [Block::text(REMOVED_IMAGE)]);
    }

    #[test]
    fn a_policy_name_is_its_serialized_form() {
        for policy in [ImagePolicy::Keep, ImagePolicy::Marker, ImagePolicy::Drop] {
            assert_eq!(serde_json::to_value(policy).unwrap(), policy.name());
        }
    }
}
