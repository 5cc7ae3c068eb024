//! `wb hook`: answers an agent that compacts, within its time and whatever happens.

mod protocol;
mod decide;
mod host_events;
mod undo_note;

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;

use self::decide::{Decided, decide};
use self::host_events::{Event, Said};
use self::protocol::{Answer, Report, Request};
use crate::args::Hook;
use crate::clock::unix_ms;
use crate::compaction_log::{self, Entry};
use crate::config::Config;
use crate::environment::Environment;
use crate::shell::Shell;

/// What comes from the thread that works.
enum News {
    /// The host's own limit.
    Budget(Duration),
    /// What goes to standard output.
    Answer(Vec<u8>),
    /// The log has it.
    Noted,
}

/// Reads what a host asks from standard input and writes one answer to standard output.
pub(crate) fn hook(shell: &Shell, args: &Hook) -> Result<()> {
    if args.schema {
        #[cfg(feature = "schema")]
        let schema = protocol::schema();
        #[cfg(not(feature = "schema"))]
        let schema = protocol::SCHEMA;
        return Ok(io::stdout().lock().write_all(schema.as_bytes())?);
    }
    let start = Instant::now();
    std::panic::set_hook(Box::new(|_| answer_fault()));
    let (sender, news) = channel();
    let environment = shell.environment.clone();
    thread::spawn(move || work(start, &environment, &sender));
    let mut budget = Duration::from_millis(args.budget_ms);
    loop {
        let answer = match news.recv_timeout(budget.saturating_sub(start.elapsed())) {
            Ok(News::Budget(told)) => {
                budget = budget.min(told);
                continue;
            }
            Ok(News::Answer(answer)) => answer,
            Err(RecvTimeoutError::Timeout) => Answer::pass("there was not enough time").line(),
            Ok(News::Noted) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        if IS_ANSWERED.swap(true, Ordering::Relaxed) {
            // The time is over, and the answer was given.
            return Ok(());
        }
        io::stdout().lock().write_all(&answer)?;
    }
}

/// Whether the one answer was given.
static IS_ANSWERED: AtomicBool = AtomicBool::new(false);

/// Answers after a fault of ours and ends. What the fault tells may be what was asked, so it is told nobody.
fn answer_fault() {
    if !IS_ANSWERED.swap(true, Ordering::Relaxed) {
        // Where nobody listens, the host is left to itself anyway.
        let _ = io::stdout().lock().write_all(&Answer::pass("an error inside wb").line());
    }
    std::process::exit(0)
}

fn work(start: Instant, environment: &Environment, sender: &Sender<News>) {
    let mut text = Vec::new();
    if let Err(error) = io::stdin().lock().read_to_end(&mut text) {
        return send(sender, News::Answer(Answer::pass(format!("standard input: {error}")).line()));
    }
    match serde_json::from_slice::<Request<'_>>(&text) {
        Ok(request) => answer(&request, environment, start, sender),
        Err(error) => {
            if let Ok(event) = serde_json::from_slice::<Event>(&text) {
                tell(&event, environment, start, sender);
            } else {
                let answer = Answer::pass(format!("what was asked cannot be read: {error}"));
                send(sender, News::Answer(answer.line()));
            }
        }
    }
    send(sender, News::Noted);
}

/// Says what there is to say to a host's own event.
fn tell(event: &Event, environment: &Environment, start: Instant, sender: &Sender<News>) {
    let said = match Config::read(environment, event.cwd.as_deref().or(environment.working.as_deref())) {
        Ok(config) if config.is_on(event.host()) => event.said(&config.pin),
        _ => Said::default(),
    };
    send(sender, News::Answer(said.text.into_bytes()));
    said.entry.into_iter().for_each(|entry| log(entry, environment, start));
}

/// Answers what is asked in our own form.
fn answer(request: &Request<'_>, environment: &Environment, start: Instant, sender: &Sender<News>) {
    request.budget_ms.into_iter().for_each(|ms| send(sender, News::Budget(Duration::from_millis(ms))));
    let folder = request.cwd.as_deref().or(environment.working.as_deref());
    let Decided { answer, by_agent } = match Config::read(environment, folder) {
        Ok(config) => decide(request, &config),
        Err(_) => Answer::pass("the settings cannot be read; `wb config` says why").into(),
    };
    let report = answer.report.map(|report| Report { ms: ms_since(start), ..report });
    let answer = Answer { report, ..answer };
    send(sender, News::Answer(answer.line()));
    let noted = by_agent.and_then(|by_agent| undo_note::note(request, environment, &answer, by_agent));
    log(Entry { undoable: noted.is_some(), ..answer.entry(request) }, environment, start);
}

/// Adds an entry to the log; one that cannot be written must not hold up the agent.
fn log(entry: Entry, environment: &Environment, start: Instant) {
    let entry = Entry { at_ms: unix_ms(SystemTime::now()), ms: ms_since(start), ..entry };
    let _ = compaction_log::add(environment, &entry);
}

fn ms_since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Where nobody listens any more, the time is over.
fn send(sender: &Sender<News>, news: News) {
    let _ = sender.send(news);
}
