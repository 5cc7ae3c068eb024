//! Opening a session and measuring it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use wb_budget::{Ledger, ModelCard, budget_limit};
use wb_conductor::{CondenseOpts, CondenseSettings};
use wb_formats::{FormatError, Opened};

use crate::args::Policy;

/// The window that is assumed of a session that tells none, in tokens.
const DEFAULT_WINDOW: u64 = 200_000;

/// Files from this many bytes on are read with a progress bar.
const LARGE_BYTES: u64 = 16 << 20;

const BUFFER_BYTES: usize = 1 << 20;

/// A failure to read, with what can be done about it.
#[derive(Debug)]
pub(crate) struct BadInput {
    file: String,
    error: FormatError,
}

impl std::fmt::Display for BadInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}\nhint: {}", self.file, self.error, self.error.hint())
    }
}

impl std::error::Error for BadInput {}

/// A session as the commands see it.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) file: String,
    pub(crate) opened: Opened,
    pub(crate) policy: Policy,
    pub(crate) window: u64,
    /// Whether the window was assumed.
    pub(crate) window_assumed: bool,
    /// Tokens that the context holds: counted by the provider where it told, else estimated.
    pub(crate) context_tokens: u64,
    pub(crate) anchored: bool,
    /// What the provider counted, where the window could not have held it.
    pub(crate) disbelieved: Option<u64>,
}

impl Session {
    pub(crate) fn open(path: &Path, policy: Policy) -> Result<Self> {
        let file = path.display().to_string();
        let opened = read(path).map_err(|error| BadInput { file: file.clone(), error })?;
        let (window, window_assumed) = match policy.window.or(opened.context_window) {
            Some(window) => (window, false),
            None => (DEFAULT_WINDOW, true),
        };
        let mut session = Self {
            file,
            opened,
            policy,
            window,
            window_assumed,
            context_tokens: 0,
            anchored: false,
            disbelieved: None,
        };
        session.measure();
        Ok(session)
    }

    /// Weighs the messages and anchors the weight on what providers counted.
    fn measure(&mut self) {
        let mut ledger = Ledger::new();
        let mut usage = self.opened.usage.iter().peekable();
        for (at, message) in self.opened.messages.iter().enumerate() {
            ledger.push(message);
            while let Some(counted) = usage.next_if(|usage| usage.at == at) {
                let card =
                    ModelCard { id: counted.model.clone().unwrap_or_default(), ..ModelCard::default() };
                // A refused count leaves the estimate as it is, which is what the meter then shows.
                let _ = ledger.anchor(at, &counted.usage, Some(&card));
            }
        }
        let anchored = ledger.estimate(&self.card()).anchored;
        let fits = ledger.context_tokens() <= self.window;
        self.anchored = anchored && fits;
        self.disbelieved = (anchored && !fits).then(|| ledger.context_tokens());
        self.context_tokens = if self.anchored { ledger.context_tokens() } else { ledger.total_tokens() };
    }

    pub(crate) fn card(&self) -> ModelCard {
        let id = self.opened.model.clone().unwrap_or_default();
        ModelCard { id, ..ModelCard::with_window(self.window) }
    }

    pub(crate) fn limit_tokens(&self) -> f64 {
        budget_limit(&self.card(), &self.policy.budget())
    }

    pub(crate) fn is_over(&self) -> bool {
        self.context_tokens as f64 > self.limit_tokens()
    }

    pub(crate) fn settings(&self) -> CondenseSettings {
        CondenseSettings::new()
            .card(self.card())
            .policy(self.policy.budget())
            .vocabulary(self.opened.vocabulary)
    }

    pub(crate) fn opts(&self) -> CondenseOpts {
        let context_tokens = if self.anchored { self.context_tokens } else { 0 };
        CondenseOpts { force: self.policy.force, model: None, context_tokens }
    }
}

fn read(path: &Path) -> Result<Opened, FormatError> {
    if path == Path::new("-") {
        return wb_formats::read(&mut io::stdin().lock());
    }
    let file = File::open(path)?;
    let progress = progress(path, &file);
    let mut reader: Box<dyn BufRead> = match &progress {
        Some(bar) => Box::new(BufReader::with_capacity(BUFFER_BYTES, bar.wrap_read(file))),
        None => Box::new(BufReader::with_capacity(BUFFER_BYTES, file)),
    };
    let opened = wb_formats::read(reader.as_mut());
    if let Some(bar) = progress {
        bar.finish_and_clear();
    }
    opened
}

fn progress(path: &Path, file: &File) -> Option<ProgressBar> {
    let n_bytes = file.metadata().ok()?.len();
    if n_bytes < LARGE_BYTES || !io::stderr().is_terminal() {
        return None;
    }
    let bar = ProgressBar::with_draw_target(Some(n_bytes), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes} {eta}").ok()?;
    bar.set_style(style);
    bar.set_message(format!("reading {}", path.display()));
    Some(bar)
}

/// Writes a whole file or none: to a neighbour first, which then takes the place of the target.
pub(crate) fn write_whole(
    path: &Path,
    content: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> Result<()> {
    let told = || path.display().to_string();
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .map_or(PathBuf::from("."), PathBuf::from);
    let mut draft = tempfile::NamedTempFile::new_in(&folder).with_context(told)?;
    let mut buffered = io::BufWriter::new(draft.as_file_mut());
    content(&mut buffered).with_context(told)?;
    buffered.into_inner().map_err(io::IntoInnerError::into_error).with_context(told)?;
    draft.persist(path).map_err(|error| error.error).with_context(told)?;
    Ok(())
}
