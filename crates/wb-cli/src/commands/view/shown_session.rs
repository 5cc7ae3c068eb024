//! A session as the view shows it.

use std::path::Path;

use wb_bind::{follow_from, kind, tracker_of};
use wb_formats::{FormatError, View};
use wb_message::number::grouped_in;
use wb_message::{Message, outline};
use wb_recall::Recall;
use wb_record::Access;
use wb_view::{Added, Budget, Context, Details, Fate, Growth, Item, Kind, Operation, Point, Preview};

use crate::args::view::ViewArgs;
use crate::commands::log;
use crate::commands::recall::session_index;
use crate::session::Session;
use crate::session::json::words_of;
use crate::session::meter::left_out_words;
use crate::session::outcome::Outcome;
use crate::session::pins::Pins;
use crate::terminal::shell::Shell;
use crate::terminal::user_error::UserError;

/// A session and its context.
pub(super) struct Loaded {
    pub(super) context: Context,
    pub(super) session: Session,
}

/// Opens and weighs a session.
pub(super) fn open(shell: &Shell, args: &ViewArgs, path: &Path) -> Result<Loaded, UserError> {
    let compaction = args.compaction(path, args.policy.force);
    let session = Session::open_to_compact(shell, &compaction, Access::Read)?;
    Ok(Loaded { context: context(&session, args), session })
}

fn context(session: &Session, args: &ViewArgs) -> Context {
    let View { messages, format, model, notes, .. } = &session.opened;
    let measure = &session.measure;
    let weights = weights(session);
    let shows = Details { shows_credentials: args.no_redact, ..Details::default() };
    let item = |(at, message): (usize, &Message)| Item {
        kind: Kind::parse(kind(message)).unwrap_or(Kind::Custom),
        label: label(&shows, message),
        tokens: weights[at],
    };
    let assumed = [session.window_from.in_words(session.window), left_out_words(session)];
    let notes = assumed.into_iter().flatten().chain(words_of(notes));
    Context {
        file: session.file.clone(),
        format: (*format).to_owned(),
        model: model.clone(),
        budget: Budget {
            window: session.window,
            limit: session.limit,
            used: measure.context_tokens,
            outside: measure.overhead_tokens,
            is_counted: measure.anchored,
        },
        items: messages.iter().enumerate().map(item).collect(),
        notes: notes.map(|note| grouped_in(&note)).collect(),
    }
}

/// Returns a line about a message.
fn label(shows: &Details, message: &Message) -> String {
    let line = outline::line(message);
    // The kind is padded for a column.
    let (kind, rest) = line.split_once(' ').unwrap_or((&line, ""));
    shows.without_credentials(format!("{kind} {}", rest.trim_start()).trim_end())
}

/// Returns the weight of each message, so that all together are what the provider counted.
fn weights(session: &Session) -> Vec<u64> {
    let measure = &session.measure;
    let n = session.opened.messages.len();
    let total = (0..n).map(|at| measure.weight(at)).sum();
    (0..n).map(|at| measure.scaled(measure.weight(at), total)).collect()
}

/// Previews a compaction and finds the sources of its digest; returns the log for searches too.
pub(super) fn details(
    shell: &Shell,
    args: &ViewArgs,
    path: &Path,
    mut session: Session,
    wants_growth: bool,
) -> Result<(Details, Recall<Message>), UserError> {
    let growth = if wants_growth { shell.timed("measuring", || growth(&session)) } else { Ok(Vec::new()) };
    // A session within its limit is compacted on demand.
    let is_early = !session.is_over();
    session.policy.force |= is_early;
    let weights = weights(&session);
    let mut outcome = shell.timed("compacting", || Outcome::new(&mut session, None));
    let preview = Preview { is_early, ..preview(&session, &weights, &outcome, args.no_redact) };
    let written = outcome.digest().map(str::to_owned);
    outcome.restore(&mut session);
    let messages = std::mem::take(&mut session.opened.messages);
    drop((outcome, session));
    let log = session_index::index(shell, path)?.visible_from(0);
    let present = || messages.iter().rev().find_map(wb_message::markers::digest_body);
    let digest = written.or_else(|| present().map(std::borrow::Cow::into_owned)).unwrap_or_default();
    let choices = Pins::read(path)?;
    let dropped = choices.drops_of_session().into_iter().flat_map(|it| it.messages);
    let mut details = Details {
        pinned: choices.of_session().iter().filter_map(|it| it.message).filter_map(to_index).collect(),
        dropped: dropped.filter_map(to_index).collect(),
        numbers: shell.timed("numbering", || log.numbers_of(&messages)),
        n_said: log.len(),
        preview,
        operations: operations(path)?,
        growth: growth.unwrap_or_default(),
        shows_credentials: args.no_redact,
        ..Details::default()
    };
    details.digest =
        shell.timed("finding sources", || wb_view::digest_lines(&details.without_credentials(&digest), &log));
    details.messages = messages;
    for number in details.digest.iter().filter_map(|line| line.source) {
        if let (None, Some(message)) = (details.item_of(number), log.messages().get(number)) {
            let folded = details.folded_message(message);
            details.folded.insert(number, folded);
        }
    }
    Ok((details, log))
}

fn to_index(number: u64) -> Option<usize> {
    usize::try_from(number).ok()
}

fn preview(session: &Session, weights: &[u64], outcome: &Outcome, shows_credentials: bool) -> Preview {
    let (report, counter) = (&outcome.report, session.measure.counter());
    let mut fates = vec![Fate::Folded; report.messages_before];
    let mut tokens_after = vec![0; report.messages_before];
    let shows = Details { shows_credentials, ..Details::default() };
    let (mut added, mut before) = (Vec::new(), 0);
    for (origin, message) in outcome.origins.iter().zip(&outcome.messages) {
        let Some(at) = origin.input_index() else {
            added.push(Added { before, label: label(&shows, message), tokens: counter.message(message) });
            continue;
        };
        fates[at] = match () {
            () if report.cleared.contains(&at) => Fate::Cleared,
            () if report.previewed.contains(&at) => Fate::Shortened,
            () => Fate::Kept,
        };
        let is_same = fates[at] == Fate::Kept;
        tokens_after[at] = if is_same { weights[at] } else { counter.message(message) };
        before = at + 1;
    }
    Preview {
        fates,
        tokens_after,
        added,
        used_after: outcome.tokens_after,
        digest_tokens: outcome.digest_tokens,
        unchanged: report.unchanged.as_ref().map(|_| outcome.reason().unwrap_or_default()),
        is_early: false,
    }
}

fn operations(path: &Path) -> Result<Vec<Operation>, UserError> {
    if path == Path::new("-") {
        return Ok(Vec::new());
    }
    let rows = log::operations(path)?.into_iter();
    Ok(rows
        .map(|row| Operation {
            id: row.operation,
            what: row.what(),
            at: row.at,
            is_undone: row.undone,
            tokens_before: row.tokens_before,
            tokens_after: row.tokens_after,
        })
        .collect())
}

/// Weighs the context at each answer since the start.
fn growth(session: &Session) -> Result<Vec<Growth>, FormatError> {
    let mut tracker = tracker_of(session.opened.model.as_deref());
    let (document, conversation) = (session.document.as_ref(), &session.conversation);
    let (mut all, mut n_before) = (Vec::new(), 0);
    for (segment, marked) in
        document.segments(conversation)?.zip(wb_replay::segments(document, conversation)?)
    {
        let (segment, n_seen) = (segment?, marked?.n_seen);
        let messages = &segment.messages;
        tracker.rebuild(&messages[..n_seen]);
        let first = Point { n_messages: n_before, tokens: tracker.context_tokens() };
        let mut points = if n_before > 0 { vec![first] } else { Vec::new() };
        follow_from(n_seen, &mut tracker, messages, &segment.usage, |at, tracker| {
            if at + 1 == messages.len() || matches!(messages[at], Message::Assistant { .. }) {
                points
                    .push(Point { n_messages: n_before + at + 1 - n_seen, tokens: tracker.context_tokens() });
            }
        });
        let is_empty = messages.len() == n_seen;
        n_before += messages.len() - n_seen;
        // Nothing was said between two compactions.
        all.extend((!is_empty).then_some(Growth { points }));
    }
    Ok(all)
}
