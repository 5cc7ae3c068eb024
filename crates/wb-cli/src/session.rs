//! Opening a session and measuring it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use wb_budget::{Calibrated, Ledger, ModelCard, Weigher, budget_limit};
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
    pub(crate) measure: Measure,
}

/// What a session weighs.
#[derive(Debug)]
pub(crate) struct Measure {
    /// Tokens that the context holds.
    pub(crate) context_tokens: u64,
    /// Whether that rests on what the provider counted.
    pub(crate) anchored: bool,
    /// What was sent beside the messages, as far as the provider's counts tell: system prompt and tools.
    pub(crate) overhead_tokens: u64,
    /// Such an overhead, where it is left out since it would not leave room in a smaller window.
    pub(crate) left_out_tokens: u64,
    /// The heuristic on the provider's scale.
    pub(crate) weigher: Calibrated,
}

impl Measure {
    /// Weighs messages and anchors the weight on what providers counted.
    fn of(opened: &Opened, card: &ModelCard, policy: &Policy) -> Self {
        let mut ledger = Ledger::new();
        let mut usage = opened.usage.iter().peekable();
        for (at, message) in opened.messages.iter().enumerate() {
            ledger.push(message);
            while let Some(counted) = usage.next_if(|usage| usage.at == at) {
                let id = counted.model.clone().unwrap_or_default();
                // A refused count leaves the estimate as it is, which is what the meter then shows.
                let _ = ledger.anchor(at, &counted.usage, Some(&ModelCard { id, ..ModelCard::default() }));
            }
        }
        let weigher = ledger.calibrated();
        let overhead_tokens = ledger.overhead_tokens();
        let fits = overhead_tokens as f64 <= budget_limit(card, &policy.budget()) / 2.0;
        if fits {
            let anchored = ledger.estimate(card).anchored;
            let context_tokens = ledger.context_tokens();
            return Self { context_tokens, anchored, overhead_tokens, left_out_tokens: 0, weigher };
        }
        let context_tokens = opened.messages.iter().map(|message| weigher.weigh(message)).sum();
        Self {
            context_tokens,
            anchored: false,
            overhead_tokens: 0,
            left_out_tokens: overhead_tokens,
            weigher,
        }
    }
}

impl Session {
    pub(crate) fn open(path: &Path, policy: Policy) -> Result<Self> {
        let file = path.display().to_string();
        let opened = read(path).map_err(|error| BadInput { file: file.clone(), error })?;
        let told = policy.window.or(opened.context_window);
        let window = told.unwrap_or(DEFAULT_WINDOW);
        let measure = Measure::of(&opened, &card(&opened, window), &policy);
        Ok(Self { file, opened, policy, window, window_assumed: told.is_none(), measure })
    }

    pub(crate) fn card(&self) -> ModelCard {
        card(&self.opened, self.window)
    }

    pub(crate) fn limit_tokens(&self) -> f64 {
        budget_limit(&self.card(), &self.policy.budget())
    }

    pub(crate) fn is_over(&self) -> bool {
        self.measure.context_tokens as f64 > self.limit_tokens()
    }

    pub(crate) fn settings(&self) -> CondenseSettings {
        CondenseSettings::new()
            .card(self.card())
            .policy(self.policy.budget())
            .vocabulary(self.opened.vocabulary)
            .weigher(Arc::new(self.measure.weigher.clone()))
            .overhead_tokens(self.measure.overhead_tokens)
    }

    /// The provider's own count goes to the gate where the window can have held it; a smaller window that is only
    /// tried out is measured by the same figures without it.
    pub(crate) fn opts(&self) -> CondenseOpts {
        let counted = self.measure.anchored && self.measure.context_tokens <= self.window;
        let context_tokens = if counted { self.measure.context_tokens } else { 0 };
        CondenseOpts { force: self.policy.force, model: None, context_tokens }
    }
}

fn card(opened: &Opened, window: u64) -> ModelCard {
    let id = opened.model.clone().unwrap_or_default();
    ModelCard { id, ..ModelCard::with_window(window) }
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
