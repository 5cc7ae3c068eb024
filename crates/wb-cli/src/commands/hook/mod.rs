//! `wb hook`: answers an agent that compacts, in time and in every case.

mod protocol;
mod decide;
mod host_events;
mod undo_note;

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;

use self::decide::{Decided, decide};
use self::host_events::{EventAnswer, HostEvent};
use self::protocol::{Answer, Report, Request};
use crate::args::Hook;
use crate::commands::compaction_log::{self, Entry};
use crate::platform::clock::unix_ms;
use crate::platform::environment::Environment;
use crate::session::config::{Config, Pin};
use crate::session::pins::Pins;
use crate::terminal::shell::Shell;
use crate::terminal::user_error::UserError;

/// Reads a host's request from standard input and writes one answer to standard output.
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
    let budget = Duration::from_millis(args.budget_ms);
    thread::spawn(move || watch(start, budget, &news));
    // Allocation is fastest in the main thread.
    Ok(work(start, budget, &shell.environment, &sender)?)
}

/// Answers in place of the worker thread when the time is over, and ends the program.
fn watch(start: Instant, mut budget: Duration, news: &Receiver<Duration>) {
    loop {
        match news.recv_timeout(budget.saturating_sub(start.elapsed())) {
            Ok(limit) => budget = budget.min(limit),
            Err(RecvTimeoutError::Timeout) => break,
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
    pass_and_end(TOO_LATE)
}

/// Writes the single answer, unless it was written already; an answer in progress is completed
/// first.
fn say(answer: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if IS_ANSWERED.swap(true, Ordering::Relaxed) {
        Ok(())
    } else {
        out.write_all(answer).and_then(|()| out.flush())
    }
}

/// Leaves the host to itself and ends the program.
fn pass_and_end(reason: &'static str) -> ! {
    let failed =
        say(&Answer::pass(reason).line()).err().and_then(|error| UserError::from_error(&error.into()));
    if let Some(error) = &failed {
        // If stderr is gone too, the error is lost.
        let _ = writeln!(io::stderr(), "error: {error}");
    }
    std::process::exit(failed.is_some().into())
}

const TOO_LATE: &str = "there was not enough time";

/// Indicates that the single answer was written.
static IS_ANSWERED: AtomicBool = AtomicBool::new(false);

/// Answers after an internal error and exits. The error may quote the request, so it is not shown.
fn answer_fault() {
    pass_and_end("an error inside wb")
}

fn work(
    start: Instant,
    budget: Duration,
    environment: &Environment,
    watcher: &Sender<Duration>,
) -> io::Result<()> {
    let mut text = Vec::new();
    if let Err(error) = io::stdin().lock().read_to_end(&mut text) {
        return say(&Answer::pass(format!("standard input: {error}")).line());
    }
    // The request lives until the program ends, without a copy.
    let text: &'static [u8] = text.leak();
    match serde_json::from_slice::<Request<'_>>(text) {
        Ok(request) => {
            let limit = request.budget_ms.map_or(budget, Duration::from_millis);
            // The watching thread lives as long as the program.
            let _ = watcher.send(limit);
            answer(&request, environment, start, budget.min(limit))
        }
        Err(error) => match serde_json::from_slice::<HostEvent>(text) {
            Ok(event) => answer_event(&event, environment, start),
            Err(_) => say(&Answer::pass(protocol::why_unread(text, &error)).line()),
        },
    }
}

/// Answers a host's own event.
fn answer_event(event: &HostEvent, environment: &Environment, start: Instant) -> io::Result<()> {
    let said = match Config::read(environment, event.cwd.as_deref().or(environment.working.as_deref())) {
        Ok(config) if config.is_on(event.host()) => {
            let pins = choices(event.transcript_path.as_deref(), None).map(|it| it.of_session());
            let pins = pins.unwrap_or_default().into_iter().map(Pin::Session);
            let pins: Vec<Pin> = config.pin.into_iter().chain(pins).collect();
            let log = compaction_log::entries(environment).unwrap_or_default();
            event.answer(&pins, &log, unix_ms(SystemTime::now()))
        }
        _ => EventAnswer::default(),
    };
    say(said.text.as_bytes())?;
    said.entry.into_iter().for_each(|entry| log(entry, environment, start));
    Ok(())
}

/// Answers a request in our protocol.
fn answer(
    request: &Request<'static>,
    environment: &Environment,
    start: Instant,
    budget: Duration,
) -> io::Result<()> {
    let folder = request.cwd.as_deref().or(environment.working.as_deref());
    let file = undo_note::session_file(request, environment);
    let Decided { answer, by_agent } = match Config::read(environment, folder) {
        Ok(mut config) => {
            let choices = choices(file.as_deref(), request.session_id.clone());
            let (pins, drops) =
                choices.map(|it| (it.of_session(), it.drops_of_session())).unwrap_or_default();
            config.pin.extend(pins.into_iter().map(Pin::Session));
            decide(request, &config, &drops)
        }
        Err(_) => Answer::pass("the settings cannot be read; `wb config` says why").into(),
    };
    // The watching thread may not have been scheduled yet.
    if start.elapsed() >= budget {
        return say(&Answer::pass(TOO_LATE).line());
    }
    let report = answer.report.map(|report| Report { ms: ms_since(start), ..report });
    let answer = Answer { report, ..answer };
    let answer = Answer { notice: answer.notice(request.session_id.as_deref()), ..answer };
    say(&answer.line())?;
    let noted = by_agent.zip(file.as_deref());
    let noted = noted.and_then(|(by_agent, file)| undo_note::note(request, file, &answer, by_agent));
    let entry = answer.entry(request);
    // Claude Code names a session's file by its id, and reports only the file.
    let id = file.as_deref().filter(|_| entry.host == "claude-code").and_then(|file| file.file_stem());
    let session = entry.session.clone().or_else(|| id.map(|id| id.to_string_lossy().into_owned()));
    log(Entry { undoable: noted.is_some(), session, file, ..entry }, environment, start);
    Ok(())
}

/// Returns what the user chose for a session; a list that cannot be read must not hold up the
/// agent.
fn choices(file: Option<&Path>, conversation: Option<String>) -> Option<Pins> {
    Pins::read_of(file?, conversation).ok()
}

/// Adds an entry to the log; a failed write must not hold up the agent.
fn log(entry: Entry, environment: &Environment, start: Instant) {
    let entry = Entry { at_ms: unix_ms(SystemTime::now()), ms: ms_since(start), ..entry };
    let _ = compaction_log::add(environment, &entry);
}

fn ms_since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}
