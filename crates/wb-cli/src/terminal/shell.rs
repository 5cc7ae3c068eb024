//! The state of one run: output streams, verbosity and timing.

use std::cell::{Cell, RefCell};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::platform::environment::{Environment, PIPE_COLUMNS};
use crate::terminal::escape::{SafeJson, escaped};
use crate::terminal::pager::Pager;
use crate::terminal::style::{BAD, DIM, HINT};
use crate::terminal::user_error::UserError;
use crate::terminal::wrap::{self, Page};

/// Files from this many bytes on are read with a sign that they are.
const LARGE_BYTES: u64 = 16 << 20;
/// The interval between steps of the spinner.
const TICK: Duration = Duration::from_millis(120);

/// The version of all printed JSON documents; it changes if a key goes or means something else.
const JSON_VERSION: u32 = 1;

/// The verbosity on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Talk {
    /// Errors only.
    Quiet,
    #[default]
    Normal,
    /// Timings and full notes in addition.
    Verbose,
}

/// One run of the command.
#[derive(Debug)]
pub(crate) struct Shell {
    pub(crate) environment: Environment,
    /// Indicates that the answer is JSON.
    pub(crate) is_json: bool,
    talk: Talk,
    start: Instant,
    times: RefCell<Vec<(&'static str, Duration)>>,
    /// Indicates that a bar is drawn already, so that no second one appears.
    has_bar: Cell<bool>,
}

#[derive(Serialize)]
struct Document<'a, T: Serialize> {
    version: u32,
    #[serde(flatten)]
    value: &'a T,
}

#[derive(Serialize)]
struct Failed<'a> {
    error: &'a UserError,
}

impl Shell {
    pub(crate) fn new(environment: Environment, talk: Talk, is_json: bool) -> Self {
        let (times, has_bar) = (RefCell::default(), Cell::default());
        Self { environment, is_json, talk, start: Instant::now(), times, has_bar }
    }

    pub(crate) fn is_verbose(&self) -> bool {
        self.talk == Talk::Verbose
    }

    /// Writes the answer to standard output.
    pub(crate) fn print(&self, write: impl FnOnce(&mut Page<'_>) -> io::Result<()>) -> Result<()> {
        let mut out = BufWriter::new(anstream::stdout().lock());
        write(&mut Page::new(&mut out, self.environment.columns))?;
        Ok(out.flush()?)
    }

    /// Writes a long text to standard output, through a pager if that is a terminal.
    pub(crate) fn print_long(&self, write: impl FnOnce(&mut Page<'_>) -> io::Result<()>) -> Result<()> {
        let pager = io::stdout().is_terminal().then(|| Pager::start(self.environment.pager.as_deref()));
        let Some(pager) = pager.flatten() else { return self.print(write) };
        let choice = anstream::stdout().current_choice();
        let mut text = anstream::AutoStream::new(Vec::new(), choice);
        write(&mut Page::new(&mut text, self.environment.columns))?;
        Ok(pager.show(&text.into_inner())?)
    }

    /// Writes one JSON document on a line.
    pub(crate) fn print_json(&self, value: &impl Serialize) -> Result<()> {
        debug_assert!(self.is_json, "only who asks for JSON gets it");
        let mut out = BufWriter::new(io::stdout().lock());
        let document = Document { version: JSON_VERSION, value };
        let written = document.serialize(&mut serde_json::Serializer::with_formatter(&mut out, SafeJson));
        written.map_err(io::Error::from)?;
        writeln!(out)?;
        Ok(out.flush()?)
    }

    /// Writes to standard error, unless quiet.
    pub(crate) fn say(&self, write: impl FnOnce(&mut Page<'_>) -> io::Result<()>) {
        if self.talk > Talk::Quiet {
            let mut out = BufWriter::new(anstream::stderr().lock());
            // If stderr is gone, the message is lost.
            let _ = write(&mut Page::new(&mut out, self.environment.columns)).and_then(|()| out.flush());
        }
    }

    /// Reports a failure: on standard error, or as a JSON document.
    pub(crate) fn fail(&self, error: &UserError) {
        // Where that cannot be written, it may be standard output itself that failed.
        if self.is_json && self.print_json(&Failed { error }).is_ok() {
            return;
        }
        let mut out = anstream::stderr().lock();
        let columns = self.environment.columns;
        let lead = format!("{BAD}error:{BAD:#} ");
        // On a pipe it stays one line, which is searched.
        let width = if columns == PIPE_COLUMNS { usize::MAX } else { columns };
        let _ = writeln!(out, "{}", wrap::wrapped(&lead, 7, &escaped(&error.to_string()), width));
        for candidate in &error.candidates {
            let _ = Page::new(&mut out, columns).cut("  ", &escaped(candidate), "");
        }
        if let Some(hint) = &error.hint {
            let lead = format!("{HINT}hint:{HINT:#} ");
            let _ = writeln!(out, "{}", wrap::wrapped(&lead, 6, &escaped(hint), columns));
        }
    }

    /// Does some work and notes how long that took.
    pub(crate) fn timed<T>(&self, what: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = work();
        let mut times = self.times.borrow_mut();
        match times.iter_mut().find(|(name, _)| *name == what) {
            Some((_, sum)) => *sum += start.elapsed(),
            None => times.push((what, start.elapsed())),
        }
        done
    }

    /// Prints the timings, if verbose.
    pub(crate) fn say_times(&self) {
        if self.is_verbose() {
            let ms = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
            let times = self.times.borrow();
            let parts = times.iter().map(|(what, time)| format!("{what} {}, ", ms(*time)));
            let line = format!("time: {}in all {}", parts.collect::<String>(), ms(self.start.elapsed()));
            self.say(|page| page.prose("", 6, &format!("{DIM}{line}{DIM:#}")));
        }
    }

    /// Shows how many of several files are done.
    pub(crate) fn progress_of_files(&self, n_files: usize) -> Progress<'_> {
        let style = "{pos}/{len} {wide_bar} {msg}";
        self.progress(n_files as u64, (n_files > 1).then_some(style))
    }

    /// Shows that a large file is being read.
    pub(crate) fn progress_of_bytes(&self, path: &Path) -> Progress<'_> {
        let n_bytes = path.metadata().map_or(0, |file| file.len());
        let progress =
            self.progress(n_bytes, (n_bytes >= LARGE_BYTES).then_some("{spinner} {msg} {total_bytes}"));
        progress.set_name(&format!("reading {}", path.display()));
        progress.turn();
        progress
    }

    /// Shows a model's progress.
    pub(crate) fn progress_of_model(&self, name: &str) -> Progress<'_> {
        let progress = self.progress(0, Some("{spinner} {prefix} {msg}"));
        if let Some(bar) = &progress.bar {
            bar.set_prefix(wrap::tail(&escaped(name), 40));
            bar.set_message("is asked");
        }
        progress.turn();
        progress
    }

    fn progress(&self, len: u64, style: Option<&str>) -> Progress<'_> {
        let is_shown = self.talk > Talk::Quiet && !self.has_bar.get() && io::stderr().is_terminal();
        let style = style.filter(|_| is_shown).and_then(|style| ProgressStyle::with_template(style).ok());
        let bar = style.map(|style| {
            self.has_bar.set(true);
            ProgressBar::with_draw_target(Some(len), ProgressDrawTarget::stderr()).with_style(style)
        });
        Progress { shell: self, bar }
    }
}

/// A bar on the terminal, or none.
#[derive(Debug)]
pub(crate) struct Progress<'a> {
    shell: &'a Shell,
    bar: Option<ProgressBar>,
}

impl Progress<'_> {
    /// Names the current item.
    pub(crate) fn set_name(&self, name: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(wrap::tail(&escaped(name), 40));
        }
    }

    /// Counts one as done.
    pub(crate) fn step(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }

    /// Does what writes to the terminal while the bar is off it.
    pub(crate) fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(work),
            None => work(),
        }
    }

    /// Returns the bar itself, for what works elsewhere.
    pub(crate) fn bar(&self) -> Option<ProgressBar> {
        self.bar.clone()
    }

    /// Shows that something is in progress.
    fn turn(&self) {
        if let Some(bar) = &self.bar {
            bar.enable_steady_tick(TICK);
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
            self.shell.has_bar.set(false);
        }
    }
}
