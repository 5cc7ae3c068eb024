//! The verdict: a context in a few sentences.

use wb_message::number::grouped;

use crate::context::{Context, Details, Fate, Operation, Preview};
use crate::kind::Kind;

/// Says how full a context is, what fills it, what a compaction would do, and what was done.
pub fn verdict(context: &Context, details: &Details) -> Vec<String> {
    let all = [
        Some(fullness(context)),
        content(context),
        Some(outlook(context, &details.preview)),
        past(&details.operations),
        hidden(details),
    ];
    all.into_iter().flatten().collect()
}

/// Says how full the window is.
fn fullness(context: &Context) -> String {
    let budget = &context.budget;
    let source = if budget.is_counted { "as the provider counted" } else { "by estimate" };
    let left = match budget.used.checked_sub(budget.limit) {
        Some(over) if over > 0 => format!("that is {} over its limit", tokens(over)),
        _ => format!("{} are left until a compaction is due", tokens(budget.limit - budget.used)),
    };
    format!(
        "The context holds {} of {} tokens ({}), {source}; {left}.",
        grouped(budget.used),
        grouped(budget.window),
        percent(budget.used, budget.window),
    )
}

/// Says what fills it.
fn content(context: &Context) -> Option<String> {
    let (kind, most) = context.by_kind().into_iter().next()?;
    let used = context.budget.used;
    let largest = context.items.iter().max_by_key(|item| item.tokens)?;
    let kind_words = match kind {
        Kind::ToolResults => "Tool results",
        Kind::Assistant => "The agent's own messages",
        Kind::User => "The user's words",
        Kind::Shell => "Commands that the user ran",
        Kind::Custom => "Notes of the agent's program",
        Kind::Digest => "Digests and restored files",
        Kind::Unseen => "System prompt and tools",
    };
    let share = percent(largest.tokens, used);
    Some(format!("{kind_words} fill {} of it; the largest message takes {share}.", percent(most, used)))
}

/// Says what a compaction would do now.
fn outlook(context: &Context, preview: &Preview) -> String {
    if let Some(why) = &preview.unchanged {
        return format!("A compaction now would change nothing: {}.", wb_message::number::grouped_in(why));
    }
    let counts = [
        (Fate::Folded, "fold", "into a digest"),
        (Fate::Cleared, "clear", ""),
        (Fate::Shortened, "shorten", ""),
        (Fate::Kept, "keep", ""),
    ];
    let part = |(fate, verb, rest): (Fate, &str, &str)| {
        let n = preview.count(fate);
        let what = if fate == Fate::Folded { messages(n) } else { grouped(n as u64) };
        (n > 0).then(|| format!("{verb} {what} {rest}").trim_end().to_owned())
    };
    let parts: Vec<String> = counts.into_iter().filter_map(part).collect();
    let used = context.budget.used;
    let saved = used.saturating_sub(preview.used_after);
    format!(
        "A compaction now would {}; {} would remain ({} less).",
        listed(&parts),
        tokens(preview.used_after),
        percent(saved, used),
    )
}

/// Says the same in few words.
pub(crate) fn short_outlook(context: &Context, preview: &Preview) -> String {
    if let Some(why) = &preview.unchanged {
        return format!("next compaction: nothing, {}", wb_message::number::grouped_in(why));
    }
    let counts = [
        (Fate::Folded, "folds"),
        (Fate::Cleared, "clears"),
        (Fate::Shortened, "shortens"),
        (Fate::Kept, "keeps"),
    ];
    let parts = counts.map(|(fate, verb)| (preview.count(fate), verb));
    let parts =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, verb)| format!("{verb} {}", grouped(*n as u64)));
    let used = context.budget.used;
    format!(
        "next compaction: {} → {} ({} less)",
        parts.collect::<Vec<_>>().join(", "),
        grouped(preview.used_after),
        percent(used.saturating_sub(preview.used_after), used),
    )
}

/// Says what was done to the session.
fn past(operations: &[Operation]) -> Option<String> {
    let done = |it: &&Operation| it.what.starts_with("compact");
    let n = operations.iter().filter(done).count();
    let n_undone = operations.iter().filter(done).filter(|it| it.is_undone).count();
    let undone = if n_undone > 0 { format!("; {} undone", grouped(n_undone as u64)) } else { String::new() };
    (n > 0).then(|| format!("wb compacted it {}{undone}.", times(n)))
}

/// Says what the model does not see any more.
fn hidden(details: &Details) -> Option<String> {
    let n_seen = details.numbers.iter().flatten().count();
    let n = details.n_said.saturating_sub(n_seen);
    let see = if n == 1 { "is" } else { "are" };
    (n > 0 && !details.numbers.is_empty())
        .then(|| format!("{} of the session {see} folded already; `wb recall` finds them.", messages(n)))
}

fn listed(parts: &[String]) -> String {
    match parts {
        [] => "change nothing".to_owned(),
        [one] => one.clone(),
        [start @ .., last] => format!("{} and {last}", start.join(", ")),
    }
}

fn times(n: usize) -> String {
    match n {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{} times", grouped(n as u64)),
    }
}

fn messages(n: usize) -> String {
    format!("{} {}", grouped(n as u64), if n == 1 { "message" } else { "messages" })
}

pub(crate) fn tokens(n: u64) -> String {
    format!("{} {}", grouped(n), if n == 1 { "token" } else { "tokens" })
}

/// Returns a share in per cent; one that is not nothing is at least “under 1”.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    let percent = part as f64 * 100.0 / whole.max(1) as f64;
    if part > 0 && percent < 0.5 { "under 1\u{a0}%".to_owned() } else { format!("{percent:.0}\u{a0}%") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Budget, Item};

    fn context(used: u64) -> Context {
        let item = |kind, tokens| Item { kind, label: String::new(), tokens };
        let budget = Budget { window: 200_000, limit: 148_000, used, outside: 0, is_counted: true };
        Context {
            budget,
            items: vec![item(Kind::User, 1_000), item(Kind::ToolResults, 9_000)],
            ..Context::default()
        }
    }

    #[test]
    fn a_verdict_says_what_is_due_and_what_a_compaction_would_do() {
        let fates = [vec![Fate::Folded; 3], vec![Fate::Cleared, Fate::Kept]].concat();
        let preview = Preview { fates, used_after: 2_500, ..Preview::default() };
        let operation = |id, what: &str, is_undone| Operation {
            id,
            what: what.to_owned(),
            at: String::new(),
            is_undone,
            tokens_before: 2,
            tokens_after: 1,
        };
        let operations = vec![operation(1, "compact", true), operation(2, "undo 1", false)];
        let details = Details { preview, operations, ..Details::default() };
        let said = verdict(&context(10_000), &details);
        assert_eq!(
            said,
            [
                "The context holds 10,000 of 200,000 tokens (5\u{a0}%), as the provider counted; 138,000 tokens are left \
                 until a compaction is due.",
                "Tool results fill 90\u{a0}% of it; the largest message takes 90\u{a0}%.",
                "A compaction now would fold 3 messages into a digest, clear 1 and keep 1; 2,500 tokens would remain \
                 (75\u{a0}% less).",
                "wb compacted it once; 1 undone.",
            ]
        );
    }

    #[test]
    fn a_full_context_is_over_its_limit() {
        let said = verdict(&context(150_000), &Details::default());
        assert!(said[0].ends_with("that is 2,000 tokens over its limit."), "{}", said[0]);
        assert_eq!(
            (percent(1, 1_000_000), percent(0, 5)),
            ("under 1\u{a0}%".to_owned(), "0\u{a0}%".to_owned())
        );
    }
}
