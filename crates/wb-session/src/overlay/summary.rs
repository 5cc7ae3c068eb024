//! The digest of the middle, written by rule: a line for each thing that was said or done.

use std::collections::BTreeMap;
use std::ops::Range;

use wb_budget::TokenCounter;
use wb_message::markers::{
    DIGEST_HEADER, Visibility, digest_body, is_dropped_mark, is_pinned, is_prompt, visibility,
};
use wb_message::outline::line;
use wb_message::text::one_line;
use wb_message::{Block, Content, Edit, Message};

use super::projection::Projection;

/// The second line of a digest of ours, by which it is known when it is merged into the next one.
pub const DIGEST_LEGEND: &str =
    "Earlier turns, a line each (» the user's words, - what was said and done, > an earlier digest):";
/// Stands in a digest for the lines that there was no room for.
pub const LINES_LEFT_OUT: &str = "- (lines of older replies are left out)";

const USER: &str = "» ";
const DONE: &str = "- ";
const CARRIED: &str = "> ";

/// The most characters of a prompt that is carried in a line; a longer one stays as it is.
const PROMPT_CHARS: usize = 400;
/// The most characters of a reply's line.
const REPLY_CHARS: usize = 200;

/// A line of the digest to be.
struct Line {
    /// Where its message stands.
    at: usize,
    /// Whether its message stays if there is no room for the line.
    is_due: bool,
    text: String,
    tokens: u64,
}

/// Messages that are tied to each other, all to be folded or none.
#[derive(Default)]
struct Unit {
    members: Vec<usize>,
    lines: Vec<Line>,
    /// Whether some replies of it were left out already.
    has_gap: bool,
}

/// Plans the digest of a range of a projection, at most so many tokens; nothing if it would not be lighter.
pub(crate) fn condense(
    projection: &Projection<'_>,
    middle: &Range<usize>,
    max_tokens: u64,
    weigher: &dyn TokenCounter,
) -> Option<Vec<Edit>> {
    let units = units(projection, middle, weigher);
    let (members, message) = digest(units, projection, max_tokens, weigher)?;
    let tokens = members.iter().map(|at| weigher.message(&projection.messages[*at]));
    let folded_tokens = tokens.fold(0, u64::saturating_add);
    let digest_tokens = weigher.message(&message);
    let fits = digest_tokens <= max_tokens && digest_tokens < folded_tokens;
    fits.then(|| folds(&members, message))
}

/// Folds runs of messages, the first one to the digest.
fn folds(members: &[usize], digest: Message) -> Vec<Edit> {
    let mut digest = Some(digest);
    let runs = members.chunk_by(|at, next| at + 1 == *next);
    let fold = |run: &[usize]| Edit::Fold {
        range: run[0]..run[0] + run.len(),
        with: digest.take().into_iter().collect(),
    };
    runs.map(fold).collect()
}

/// Gathers what of the middle may be folded: whole groups of calls and results, nothing that must stay.
fn units(projection: &Projection<'_>, middle: &Range<usize>, weigher: &dyn TokenCounter) -> Vec<Unit> {
    let pairing = projection.pairing();
    let groups = pairing.groups();
    let mut stays: Vec<bool> = vec![false; groups.len()];
    for (at, root) in groups.iter().enumerate() {
        let is_held = !middle.contains(&at) || pairing.in_flight() == Some(at);
        stays[*root as usize] |= is_held || stays_whole(&projection.messages[at]);
    }
    let mut units: BTreeMap<u32, Unit> = BTreeMap::new();
    for at in middle.clone().filter(|at| !stays[groups[*at] as usize]) {
        let unit = units.entry(groups[at]).or_default();
        unit.members.push(at);
        unit.note(at, &projection.messages[at], weigher);
    }
    units.into_values().collect()
}

/// Returns whether a line cannot stand for the message: it is pinned, for the model alone, or holds words of the user
/// that are too long or more than text.
fn stays_whole(message: &Message) -> bool {
    if is_pinned(message) {
        return true;
    }
    if digest_body(message).is_some() {
        return false;
    }
    visibility(message) == Visibility::Internal || (is_prompt(message) && prompt(message).is_none())
}

/// Returns the user's words on one line, nothing if they are too long or more than text.
fn prompt(message: &Message) -> Option<String> {
    let Message::User { content, .. } = message else { return None };
    let is_plain = |block: &Block| matches!(block, Block::Text { .. } | Block::ToolResult { .. });
    if !content.blocks().iter().all(is_plain) {
        return None;
    }
    // One character more than fits tells whether it was cut.
    let words = match content {
        Content::Text(text) => one_line(text, PROMPT_CHARS + 1),
        Content::Blocks(_) => one_line(&content.texts().collect::<Vec<_>>().join(" "), PROMPT_CHARS + 1),
    };
    (words.chars().count() <= PROMPT_CHARS).then_some(words)
}

impl Unit {
    fn note(&mut self, at: usize, message: &Message, weigher: &dyn TokenCounter) {
        let mut push = |is_due, text: String| {
            let tokens = weigher.message(&Message::user([&text, "\n"].concat()));
            self.lines.push(Line { at, is_due, text, tokens });
        };
        if let Some(body) = digest_body(message) {
            let ours = body.strip_prefix(DIGEST_LEGEND);
            for text in ours.unwrap_or(&body).lines().filter(|line| !line.trim().is_empty()) {
                match ours {
                    Some(_) if text == LINES_LEFT_OUT => self.has_gap = true,
                    Some(_) => push(!text.starts_with(DONE), text.to_owned()),
                    // A CR at the end would go when the line is read again.
                    None => push(true, [CARRIED, text.trim_end()].concat()),
                }
            }
        } else if is_dropped_mark(message) {
            self.has_gap = true;
        } else if let Some(words) = prompt(message).filter(|_| is_prompt(message)) {
            push(true, [USER, &words].concat());
        } else if let Some(done) = done(message) {
            push(false, [DONE, &done].concat());
        }
    }

    fn due_tokens(&self) -> u64 {
        self.lines.iter().filter(|line| line.is_due).map(|line| line.tokens).fold(0, u64::saturating_add)
    }
}

/// Returns what was said or done in a message; nothing for results that went well.
fn done(message: &Message) -> Option<String> {
    match message {
        Message::Assistant { content, error_message: None } => {
            let said: Vec<&str> = content.iter().filter_map(Block::as_text).collect();
            let said = one_line(&said.join(" "), REPLY_CHARS);
            Some(if said.is_empty() { one_line(&line(message), REPLY_CHARS) } else { said })
        }
        Message::ToolResult { is_error: false, .. } | Message::User { .. }
            if message.answered_ids().next().is_some() =>
        {
            None
        }
        _ => Some(one_line(&line(message), REPLY_CHARS)),
    }
}

/// Writes the digest: all that is due, unit by unit as far as there is room, then other lines, the newest first.
fn digest(
    units: Vec<Unit>,
    projection: &Projection<'_>,
    max_tokens: u64,
    weigher: &dyn TokenCounter,
) -> Option<(Vec<usize>, Message)> {
    let frame = Message::user([DIGEST_HEADER, "\n\n", DIGEST_LEGEND, "\n", LINES_LEFT_OUT].concat());
    let mut room = max_tokens.checked_sub(weigher.message(&frame))?;
    let (mut members, mut lines, mut has_gap) = (Vec::new(), Vec::new(), false);
    for unit in units {
        if let Some(left) = room.checked_sub(unit.due_tokens()) {
            room = left;
            has_gap |= unit.has_gap;
            members.extend(unit.members);
            lines.extend(unit.lines);
        }
    }
    members.sort_unstable();
    // Stable, so that the lines of one message keep their order.
    lines.sort_by_key(|line| line.at);
    let mut is_kept: Vec<bool> = lines.iter().map(|line| line.is_due).collect();
    for (line, is_kept) in lines.iter().zip(&mut is_kept).rev().filter(|(line, _)| !line.is_due) {
        match room.checked_sub(line.tokens) {
            Some(left) => (room, *is_kept) = (left, true),
            None => has_gap = true,
        }
    }
    let gap = has_gap.then_some(LINES_LEFT_OUT);
    let kept = lines.iter().zip(&is_kept).filter(|(_, is_kept)| **is_kept).map(|(line, _)| &*line.text);
    let shown: Vec<&str> = gap.into_iter().chain(kept).collect();
    if !is_kept.contains(&true) {
        return None;
    }
    let text = [DIGEST_HEADER, "\n\n", DIGEST_LEGEND, "\n", &shown.join("\n")].concat();
    let newest = members.iter().filter_map(|at| projection.messages[*at].timestamp()).max();
    Some((members, Message::User { content: Content::Text(text), timestamp: newest.unwrap_or(0) }))
}
