//! A reply: collected up to its end, a cancel or a size, judged by its stop reason, and its usable
//! part.

use std::fmt;
use std::future::poll_fn;
use std::task::Poll;

use futures_util::StreamExt;
use futures_util::future::{Either, select};
use futures_util::stream::BoxStream;
use tokio_util::sync::CancellationToken;
use wb_budget::Usage;
use wb_message::text;

use wb_invoke::invoker::{Emission, StopReason, reply_text};

/// The reason why there is no digest from a model.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoDigest {
    /// No model was given.
    NoModel,
    /// No model was asked: its digest would be too short to be worth its price.
    NoRoom,
    /// The request failed.
    Failed(String),
    /// The request was cancelled.
    Cancelled,
    /// The request took longer than allowed.
    TimedOut,
    /// The model refused.
    Refused,
    /// The model called a tool instead of writing a digest.
    CalledTools,
    /// The reply was cut off at its limit before it said anything that can be used.
    Truncated,
    /// The reply is far longer than asked for.
    TooLong,
    /// The reply holds no text.
    Blank,
    /// The reply holds none of the headings.
    MissingHeadings,
}

impl NoDigest {
    /// Returns whether the model replied, but with an unusable text.
    pub fn is_of_reply(&self) -> bool {
        matches!(
            self,
            Self::Refused
                | Self::CalledTools
                | Self::Truncated
                | Self::TooLong
                | Self::Blank
                | Self::MissingHeadings
        )
    }
}

impl fmt::Display for NoDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoModel => f.write_str("no model was given"),
            Self::NoRoom => f.write_str("too small for a model"),
            Self::Failed(why) => write!(f, "the model failed: {}", text::one_line(why, 160)),
            Self::Cancelled => f.write_str("the request was cancelled"),
            Self::TimedOut => f.write_str("the model took too long"),
            Self::Refused => f.write_str("the model refused"),
            Self::CalledTools => f.write_str("the model called a tool"),
            Self::Truncated => f.write_str("the reply was cut off"),
            Self::TooLong => f.write_str("the reply was longer than asked for"),
            Self::Blank => f.write_str("the reply was blank"),
            Self::MissingHeadings => f.write_str("the reply had no headings"),
        }
    }
}

/// The writer of a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DigestSource {
    /// The model.
    Model {
        /// Is true if its reply was cut off at its limit.
        cut_off: bool,
    },
    /// The engine itself, for this reason.
    Local(NoDigest),
}

/// The text of a reply that neither failed nor was refused; it is not blank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyText {
    /// The text of the model.
    pub text: String,
    /// True if it reached a limit, so that its last line may be unfinished.
    pub cut_off: bool,
    /// True if the model stopped to have tools run.
    pub called_tools: bool,
}

/// The known part of a reply; all replies are collected and judged by it.
#[derive(Debug, Default)]
pub(crate) struct ReplyCollector {
    streamed: String,
    complete: String,
    stop: Option<StopReason>,
    failure: Option<String>,
    was_left: bool,
    /// The usage that the provider counted.
    pub(crate) usage: Usage,
}

/// The number of consecutive emissions after which other tasks get their turn, such as a time
/// limit.
const TURN_EMISSIONS: usize = 256;

impl ReplyCollector {
    /// Reads a reply up to its first terminal emission, a cancel, or a size in bytes.
    pub(crate) async fn listen(
        &mut self,
        mut stream: BoxStream<'static, Emission>,
        cancel: &CancellationToken,
        max_bytes: usize,
    ) -> Result<(), NoDigest> {
        let mut cancelled = Box::pin(cancel.cancelled());
        for n_emissions in 1_usize.. {
            let Either::Right((emission, _)) = select(cancelled.as_mut(), stream.next()).await else {
                return Err(NoDigest::Cancelled);
            };
            if !emission.is_some_and(|emission| self.goes_on(emission, max_bytes)) {
                break;
            }
            if n_emissions.is_multiple_of(TURN_EMISSIONS) {
                yield_once().await;
            }
        }
        Ok(())
    }

    /// Adds an emission; false if the reply has ended or reached a number of bytes.
    fn goes_on(&mut self, emission: Emission, max_bytes: usize) -> bool {
        let is_last = emission.is_terminal();
        self.note(emission);
        self.was_left = !is_last && self.streamed.len() > max_bytes;
        !is_last && !self.was_left
    }

    fn note(&mut self, emission: Emission) {
        match emission {
            Emission::Text { delta } => self.streamed.push_str(&delta),
            Emission::Stop { stop } => self.stop = Some(stop),
            Emission::Usage { usage } => self.usage = usage,
            Emission::Error { error } => self.failure = Some(error.message),
            Emission::Done { reply } => {
                self.complete = reply_text(&reply);
                self.stop = Some(reply.stop);
                if reply.usage != Usage::EMPTY {
                    self.usage = reply.usage;
                }
            }
            _ => {}
        }
    }

    /// Returns the text of a reply that has ended; streamed text is used if the reply has none.
    pub(crate) fn take_text(&mut self) -> Result<ReplyText, NoDigest> {
        if let Some(why) = self.failure.take() {
            return Err(NoDigest::Failed(why));
        }
        match self.stop {
            Some(StopReason::Refusal) => return Err(NoDigest::Refused),
            Some(StopReason::Aborted) => return Err(NoDigest::Cancelled),
            Some(StopReason::Error) => {
                return Err(NoDigest::Failed("the reply ended in an error".to_owned()));
            }
            Some(StopReason::Complete | StopReason::ToolCalls | StopReason::MaxOutput) | None => {}
        }
        let [streamed, complete] = [&mut self.streamed, &mut self.complete].map(std::mem::take);
        let text = if complete.trim().is_empty() { streamed } else { complete };
        let cut_off = self.was_left || self.stop == Some(StopReason::MaxOutput);
        let called_tools = self.stop == Some(StopReason::ToolCalls);
        if text.trim().is_empty() {
            return Err(if called_tools { NoDigest::CalledTools } else { NoDigest::Blank });
        }
        Ok(ReplyText { text, cut_off, called_tools })
    }
}

impl ReplyText {
    /// Returns the trimmed text; of a cut-off text without its last line, unless a line end follows
    /// that.
    pub fn whole_lines(&self) -> &str {
        let end = if self.cut_off { self.text.rfind('\n').unwrap_or(0) } else { self.text.len() };
        self.text[..end].trim()
    }

    /// Returns the text like [`whole_lines`](Self::whole_lines), for prose: whole sentences of an
    /// unfinished last line stay.
    pub(crate) fn whole_sentences(&self) -> &str {
        let last_line = self.text.rfind('\n').map_or(0, |end| end + 1);
        match sentence_end(&self.text[last_line..]) {
            Some(end) if self.cut_off => self.text[..last_line + end].trim(),
            _ => self.whole_lines(),
        }
    }
}

/// Returns the end of the last whole sentence of a line: a mark after a letter and before a blank.
fn sentence_end(line: &str) -> Option<usize> {
    let ends = |(at, mark): &(usize, &str)| {
        let (before, after) = (&line[..*at], &line[at + mark.len()..]);
        before.ends_with(char::is_alphabetic) && after.starts_with(' ')
    };
    line.rmatch_indices(['.', '!', '?']).find(ends).map(|(at, mark)| at + mark.len())
}

/// Returns the usable part of a reply that was requested under headings, cut off or not.
///
/// A whole one must contain a heading. A cut-off one must contain text under a heading; empty
/// headings at its end are left out.
pub fn under_headings(
    text: &str,
    cut_off: bool,
    is_heading: impl Fn(&str) -> bool,
) -> Result<&str, NoDigest> {
    if text.lines().all(|line| !is_heading(line)) {
        let nothing = cut_off && text.is_empty();
        return Err(if nothing { NoDigest::Truncated } else { NoDigest::MissingHeadings });
    }
    if !cut_off {
        return Ok(text);
    }
    let is_said = |line: &str| {
        let words = line.trim().trim_start_matches("- ");
        !words.is_empty() && !words.eq_ignore_ascii_case("none") && !is_heading(line)
    };
    if !text.lines().skip_while(|line| !is_heading(line)).any(is_said) {
        return Err(NoDigest::Truncated);
    }
    let mut said = text.trim_end();
    while let Some((before, _)) = said.rsplit_once('\n').filter(|(_, last)| is_heading(last)) {
        said = before.trim_end();
    }
    Ok(said)
}

/// Yields to the executor once.
async fn yield_once() {
    let mut was_polled = false;
    poll_fn(|context| {
        if std::mem::replace(&mut was_polled, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
