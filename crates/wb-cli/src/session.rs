//! Opening a session and measuring it.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use wb_budget::{ContextTracker, ModelCard, TokenCounter, budget_limit};
use wb_conductor::{Compactor, CondenseOpts};
use wb_formats::{FormatError, View};
use wb_record::FileError;

use crate::args::Policy;
use crate::escape::escaped;
use crate::strategy::Strategy;

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
pub(crate) struct Session {
    pub(crate) file: String,
    pub(crate) opened: View,
    pub(crate) policy: Policy,
    pub(crate) window: u64,
    /// Whether the window was assumed.
    pub(crate) window_assumed: bool,
    pub(crate) measure: Measure,
    /// How it is brought down.
    pub(crate) strategy: Strategy,
    /// What it may weigh.
    pub(crate) limit: u64,
}

/// What a session weighs.
pub(crate) struct Measure {
    /// Tokens that the context holds.
    pub(crate) context_tokens: u64,
    /// Whether that rests on what the provider counted.
    pub(crate) anchored: bool,
    /// What was sent besides the messages, as far as the provider's counts tell: system prompt and tools.
    pub(crate) overhead_tokens: u64,
    /// Such an overhead, where it is left out since it would not leave room in a smaller window.
    pub(crate) left_out_tokens: u64,
    /// The heuristic on the provider's scale.
    pub(crate) counter: Arc<dyn TokenCounter>,
}

impl Measure {
    /// Weighs messages and anchors the weight on what providers counted.
    fn of(opened: &View, card: &ModelCard, policy: &Policy) -> Self {
        let mut tracker = ContextTracker::new();
        let mut usage = opened.usage.iter().peekable();
        for (at, message) in opened.messages.iter().enumerate() {
            tracker.push(message);
            while let Some(counted) = usage.next_if(|usage| usage.at == at) {
                let id = counted.model.clone().unwrap_or_default();
                // A refused count leaves the estimate as it is, which is what the meter then shows.
                let _ = tracker.anchor(at, &counted.usage, Some(&ModelCard { id, ..ModelCard::default() }));
            }
        }
        let counter = tracker.calibrated();
        let overhead_tokens = tracker.overhead_tokens();
        // A window that held what was counted held its overhead too; a smaller one is only tried out.
        let held = tracker.context_tokens() <= card.context_window;
        let fits = held || overhead_tokens as f64 <= budget_limit(card, &policy.budget()) / 2.0;
        if fits {
            let anchored = tracker.estimate(card).anchored;
            let context_tokens = tracker.context_tokens();
            return Self { context_tokens, anchored, overhead_tokens, left_out_tokens: 0, counter };
        }
        let context_tokens = opened.messages.iter().map(|message| counter.message(message)).sum();
        Self {
            context_tokens,
            anchored: false,
            overhead_tokens: 0,
            left_out_tokens: overhead_tokens,
            counter,
        }
    }

    /// Brings weights of messages, `total` in all, down to what was counted of them, where they were too high.
    pub(crate) fn scaled(&self, tokens: u64, total: u64) -> u64 {
        let counted = self.context_tokens.saturating_sub(self.overhead_tokens);
        let scaled = u128::from(tokens) * u128::from(counted.min(total)) / u128::from(total.max(1));
        u64::try_from(scaled).unwrap_or(tokens)
    }
}

impl Session {
    pub(crate) fn open(path: &Path, policy: Policy, strategy: Strategy) -> Result<Self> {
        let file = path.display().to_string();
        let opened = read(path).map_err(|error| BadInput { file: file.clone(), error })?;
        let known = policy.window.or(opened.context_window);
        let window = known.unwrap_or(DEFAULT_WINDOW);
        let card = card(&opened, window);
        let measure = Measure::of(&opened, &card, &policy);
        let limit = limit(&card, &policy);
        Ok(Self { file, opened, policy, window, window_assumed: known.is_none(), measure, strategy, limit })
    }

    pub(crate) fn card(&self) -> ModelCard {
        card(&self.opened, self.window)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.measure.context_tokens > self.limit
    }

    pub(crate) fn settings(&self) -> Compactor {
        Compactor::new()
            .card(self.card())
            .policy(self.policy.budget())
            .pipeline(self.strategy.pipeline())
            .vocabulary(self.opened.vocabulary)
            .counter(self.measure.counter.clone())
            .overhead_tokens(self.measure.overhead_tokens)
    }

    /// The provider's own count goes to the gate where the window can have held it; a smaller window that is only
    /// tried out is measured by the same figures without it.
    pub(crate) fn opts(&self) -> CondenseOpts {
        let counted = self.measure.anchored && self.measure.context_tokens <= self.window;
        let context_tokens = if counted { self.measure.context_tokens } else { 0 };
        CondenseOpts { force: self.policy.force, context_tokens, ..CondenseOpts::default() }
    }
}

/// Returns what a session may weigh, in tokens.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a limit is not negative")]
fn limit(card: &ModelCard, policy: &Policy) -> u64 {
    budget_limit(card, &policy.budget()) as u64
}

fn card(opened: &View, window: u64) -> ModelCard {
    let id = opened.model.clone().unwrap_or_default();
    ModelCard { id, ..ModelCard::with_window(window) }
}

fn read(path: &Path) -> Result<View, FormatError> {
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

/// Reads a whole file; `-` is standard input.
pub(crate) fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    if path != Path::new("-") {
        return fs::read(path);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a whole file or nothing, with the mode of the session that it was made of.
pub(crate) fn write_whole(
    path: &Path,
    session: Option<&Path>,
    overwrite: bool,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    let session = session.filter(|session| *session != Path::new("-"));
    let failed = |source| FileError::Io { path: path.to_owned(), doing: "writing it", source };
    let written = wb_record::write_new(path, session, overwrite, |out| content(out).map_err(failed));
    written.map_err(|error| not_written(&error))
}

/// Builds the error of a file that is not written.
pub(crate) fn not_written(error: &FileError) -> anyhow::Error {
    let hint = match error {
        FileError::Exists { .. } => "name a new file, or write over this one with --overwrite",
        other => other.hint(),
    };
    anyhow!("{}\nhint: {hint}", escaped(&error.to_string()))
}
