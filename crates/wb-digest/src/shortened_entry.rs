//! Shortens the entries of a digest, each according to its kind.

use std::borrow::Cow;

use wb_message::markers::CLIP_MARK;
use wb_message::text::{head, one_line, tail};

use crate::labels::{ANSWER, ARROW, COMMAND, DEFINES, FILES, FIRST, LISTS, PROGRESS, REPLY, TURN};
use wb_message::excerpt::{both_ends, excerpt};

/// The minimum characters of a reply that shows its start and its end.
const LEAST_EXCERPT_CHARS: usize = 240;
/// The minimum characters of a line that is cut off.
const LEAST_LINE_CHARS: usize = 40;

/// The end of a line for a command that succeeded without a result.
const QUIET: &str = " → ok";
/// The steps of a turn get at least a third of its room next to a long reply.
const STEPS_PART: usize = 3;

/// Counts the characters of an entry and its line end.
pub(crate) fn size(entry: &str) -> usize {
    entry.chars().count() + 1
}

/// Shortens an entry: drops the last items of a list, the end of a line or the middle of several
/// lines.
pub(crate) fn shortened(entry: &str, max_chars: usize) -> Cow<'_, str> {
    if size(entry) <= max_chars {
        return Cow::Borrowed(entry);
    }
    if let Some((label, separator)) = LISTS.iter().find(|(label, _)| entry.starts_with(label)) {
        let fits = head(entry, max_chars).rfind(separator);
        let first = || entry[label.len()..].split(separator).next().unwrap_or_default();
        // The end of a path is more informative than its start.
        let end_of_first = || [label, "…", tail(first(), max_chars.saturating_sub(label.len() + 4))].concat();
        return fits.map_or_else(|| Cow::Owned(end_of_first()), |end| Cow::Borrowed(&entry[..end]));
    }
    // Constraints are often at the end of a request, so its end must stay.
    if !entry.contains('\n') && !entry.starts_with(FIRST) {
        return Cow::Owned(one_line(entry, max_chars - 1));
    }
    if let Some((first, rest)) = entry.split_once('\n') {
        if entry.starts_with(TURN) {
            return Cow::Owned(short_turn(first, rest, max_chars));
        }
        // The answer stays whole if shortening the question is enough.
        if let Some(left) = max_chars.checked_sub(size(first) + 3).filter(|_| entry.starts_with(ANSWER)) {
            return Cow::Owned([first, "\n  ", &one_line(rest, left)].concat());
        }
    }
    shortened_inside(entry, max_chars - 1)
}

/// Shortens lines in their middle to `max_chars`; the lines after the gap are indented.
fn shortened_inside(lines: &str, max_chars: usize) -> Cow<'_, str> {
    // The excerpt counts bytes, never fewer than characters.
    let mark = CLIP_MARK.replace('\n', "\n  ");
    let short = excerpt(lines, max_chars.saturating_sub(2 * (mark.len() - CLIP_MARK.len())));
    if !short.contains(CLIP_MARK) {
        return short;
    }
    let parts = short.split(CLIP_MARK).enumerate();
    let parts: Vec<&str> = parts.map(|(nth, part)| if nth == 0 { part } else { part.trim_start() }).collect();
    Cow::Owned(parts.join(&mark))
}

/// Returns a turn with the lines that fit.
///
/// A long reply is shortened in its middle and gets at least half of the room. Of the steps the
/// newest stay.
fn short_turn(name: &str, body: &str, max_chars: usize) -> String {
    let mut out = one_line(name, (max_chars - 1).min(LEAST_LINE_CHARS.max(max_chars / 2)));
    let left = (max_chars - 1).saturating_sub(out.chars().count());
    let [head, before, reply, after] = turn_parts(body).map(|part| (part, part.chars().count()));
    let others = head.1 + (before.1 + after.1).min(left / STEPS_PART);
    let most = left.saturating_sub(others).max(left / 2);
    let reply = if size(reply.0) > most && most < LEAST_EXCERPT_CHARS {
        Cow::Owned(["  ", &both_ends(reply.0, most.saturating_sub(4)), "\n"].concat())
    } else {
        shortened_inside(reply.0, most)
    };
    let for_reply = reply.chars().count().min(left);
    let left = push_fitting(&mut out, head.0, left - for_reply);
    let for_after = (after.1 + 1).min(left);
    let left = push_newest(&mut out, before.0, left - for_after) + for_after;
    let left = push_fitting(&mut out, &reply, left + for_reply);
    push_newest(&mut out, after.0, left);
    out
}

/// Appends the last lines that fit, in order, and the start of the line before them; returns the
/// characters left. Commands without a result are dropped first.
fn push_newest(out: &mut String, lines: &str, mut left: usize) -> usize {
    let mut over = (lines.chars().count() + 1).saturating_sub(left);
    let is_quiet = |line: &str| line.ends_with(QUIET);
    let stays = |line: &&str| {
        let is_dropped = over > 0 && is_quiet(line);
        over = if is_dropped { over.saturating_sub(line.chars().count() + 1) } else { over };
        !is_dropped
    };
    let lines: Vec<&str> = lines.lines().filter(stays).collect();
    let n_fitting = lines.iter().rev().take_while(|line| take(&mut left, line.chars().count() + 1)).count();
    let (before, fitting) = lines.split_at(lines.len() - n_fitting);
    if let Some(line) = before.last().filter(|_| left > LEAST_LINE_CHARS) {
        let cut = cut_step(line.trim_start(), left - 3);
        left -= cut.chars().count() + 3;
        out.extend(["\n  ", &cut]);
    }
    for line in fitting {
        out.extend(["\n", line]);
    }
    left
}

/// Shortens a step; the outcome of a command says more than the rest of the command.
fn cut_step(line: &str, max_chars: usize) -> String {
    let Some((command, outcome)) = line.split_once(ARROW).filter(|_| line.starts_with(COMMAND)) else {
        return one_line(line, max_chars);
    };
    let room = max_chars.saturating_sub(ARROW.chars().count());
    let outcome = one_line(outcome, (room / 2).max(room.saturating_sub(command.chars().count())));
    let room = room - outcome.chars().count().min(room);
    // The folder of a command says less than the rest of it.
    let behind_folder =
        command.strip_prefix(COMMAND).filter(|it| it.starts_with("cd ")).and_then(|it| it.split_once(" && "));
    let command = match behind_folder.filter(|_| command.chars().count() > room) {
        Some((_, rest)) => Cow::Owned([COMMAND, "… ", rest].concat()),
        None => Cow::Borrowed(command),
    };
    [&one_line(&command, room), ARROW, &outcome].concat()
}

/// Subtracts `n` from what is left; returns whether there was enough.
fn take(left: &mut usize, n: usize) -> bool {
    let rest = left.checked_sub(n);
    *left = rest.unwrap_or(*left);
    rest.is_some()
}

/// Appends the lines that fit, and the start of the next one; returns the characters left.
fn push_fitting(out: &mut String, lines: &str, mut left: usize) -> usize {
    for line in lines.lines() {
        let n_chars = line.chars().count() + 1;
        if n_chars <= left {
            out.extend(["\n", line]);
            left -= n_chars;
        } else if left > LEAST_LINE_CHARS {
            let cut = cut_off(line, left - 3);
            left -= cut.chars().count() + 3;
            out.extend(["\n  ", &cut]);
            break;
        } else {
            break;
        }
    }
    left
}

/// Cuts off the end of a line: a list of files after the last that fits, or the start of its first
/// path.
fn cut_off(line: &str, max_chars: usize) -> String {
    let line = line.trim_start();
    let Some(files) = line.strip_prefix(FILES) else { return one_line(line, max_chars) };
    if let Some(end) = head(line, max_chars.saturating_sub(3)).rfind(", ") {
        return [&line[..end], ", …"].concat();
    }
    let first = files.split(", ").next().unwrap_or_default();
    let first = first.split(DEFINES).next().unwrap_or_default();
    let (how, path) = first.split_once(' ').unwrap_or(("", first));
    let more = if files.len() > first.len() && files.contains(", ") { ", …" } else { "" };
    let left = max_chars.saturating_sub(FILES.len() + how.chars().count() + 2 + more.chars().count());
    let mark = if path.chars().count() > left { "…" } else { "" };
    [FILES, how, " ", mark, tail(path, left), more].concat()
}

/// Splits a turn into its changes, the steps before the reply, the reply, and the steps after it.
fn turn_parts(body: &str) -> [&str; 4] {
    let begins =
        |line: &str, label: &str| line.strip_prefix("  ").is_some_and(|line| line.starts_with(label));
    // The start of each part; a step begins the second or the fourth.
    let mut starts = [None; 3];
    let mut at = 0;
    for line in body.split_inclusive('\n') {
        let is_step = begins(line, COMMAND) || begins(line, PROGRESS);
        let part = if begins(line, REPLY) { 1 } else { 2 * usize::from(starts[1].is_some()) };
        if (is_step || part == 1) && starts[part..].iter().all(Option::is_none) {
            starts[part] = Some(at);
        }
        at += line.len();
    }
    let after = starts[2].unwrap_or(body.len());
    let reply = starts[1].unwrap_or(after);
    let before = starts[0].unwrap_or(reply);
    [&body[..before], &body[before..reply], &body[reply..after], &body[after..]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_with_little_room_shows_the_end_of_its_reply() {
        let files: Vec<String> = (0..30).map(|n| format!("edited src/shop/part_{n}.rs")).collect();
        let reply = "I read the importer. ".repeat(30);
        let body = format!(
            "  files: {}\n  agent: {reply}\n\n  It works. Still open: the stale lock.\n  $ make → failed: a.c:3",
            files.join(", ")
        );
        for max_chars in [160, 240, 400, 700] {
            let turn = short_turn("- Turn 4 (“port it”):", &body, max_chars);
            assert!(turn.chars().count() <= max_chars, "{max_chars}: {turn}");
            let reply = turn.split_once("\n  agent: I read the").map_or("", |(_, reply)| reply);
            assert!(reply.contains("the stale lock."), "{max_chars}: {turn}");
            assert!(turn.contains("\n  files: edited src/shop/part_0.rs") || max_chars < 200, "{turn}");
        }
        let files = "  files: edited /home/mira/code/shop/packages/importer/src/cart.rs, edited src/tax.rs";
        let steps: Vec<String> = (0..20).map(|n| format!("  noted: part {n} is read twice")).collect();
        let turn = short_turn("- Turn 4:", &steps.join("\n"), 160);
        assert!(turn.ends_with("\n  noted: part 18 is read twice\n  noted: part 19 is read twice"), "{turn}");
        assert!(!turn.contains("part 2 ") && turn.chars().count() < 160, "{turn}");
        let quiet = (0..20).map(|n| format!("  $ touch {n} → ok")).collect::<Vec<_>>().join("\n");
        let turn = short_turn("- Turn 4:", &["  noted: it is read twice\n", &quiet].concat(), 160);
        assert!(turn.starts_with("- Turn 4:\n  noted: it is read twice\n  $ touch 1"), "{turn}");
        assert!(turn.ends_with("\n  $ touch 19 → ok") && turn.chars().count() < 160, "{turn}");
        for (max_chars, end) in [(60, "edited …packages/importer/src/cart.rs, …"), (90, "src/cart.rs, …")]
        {
            let turn = short_turn("- Turn 4:", files, max_chars);
            assert!(turn.ends_with(end) && turn.chars().count() < max_chars, "{turn}");
        }
        let failed = format!("  $ make {} → failed (exit 2): a.c:3", "x".repeat(300));
        let turn = short_turn("- Turn 4:", &failed, 100);
        assert!(turn.contains("  $ make x") && turn.ends_with("… → failed (exit 2): a.c:3"), "{turn}");
        let turn = short_turn("- Turn 4:", &failed.replace("make", "cd /home/mira/code && make"), 100);
        assert!(turn.contains("  $ … make x") && turn.ends_with("… → failed (exit 2): a.c:3"), "{turn}");
        let turn = short_turn("- Turn 4:", &format!("  {}\n  $ make → ok", "x".repeat(300)), 160);
        assert!(turn.chars().count() == 159, "{turn}");
    }
}
