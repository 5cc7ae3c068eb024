//! Replays a session request by request and compares each prompt that was foretold with the one
//! that was counted.

use wb_budget::{ContextTracker, ModelCard};
use wb_formats::Segment;

/// The prompt tokens of one request, as estimated just before and as the provider counted them.
pub(crate) struct StepError {
    predicted_tokens: u64,
    real_tokens: u64,
}

impl StepError {
    /// Returns the error as a fraction of the real prompt, positive where too much was predicted.
    fn relative(&self) -> f64 {
        (self.predicted_tokens as f64 - self.real_tokens as f64) / self.real_tokens as f64
    }
}

/// Replays the segments of one session. Before each request the tracker predicts the size of the
/// next prompt from earlier counts and the messages since; the first request, which has no earlier
/// count, is left out.
pub(crate) fn one_step_errors(segments: impl IntoIterator<Item = Segment>) -> Vec<StepError> {
    let mut tracker = ContextTracker::new();
    let mut errors = Vec::new();
    let mut known = false;
    for (nth, segment) in segments.into_iter().enumerate() {
        let mut requests = segment.usage.iter().peekable();
        let n_start = requests.peek().map_or(segment.messages.len(), |first| first.at);
        if nth > 0 {
            tracker.rebuild(&segment.messages[..n_start]);
        }
        for (at, message) in segment.messages.iter().enumerate() {
            let predicted_tokens = tracker.context_tokens();
            if nth == 0 || at >= n_start {
                tracker.push(message);
            }
            while let Some(request) = requests.next_if(|request| request.at == at) {
                let real_tokens = request.usage.prompt_tokens();
                if known {
                    errors.push(StepError { predicted_tokens, real_tokens });
                }
                let id = request.model.clone().unwrap_or_default();
                let card = ModelCard { id, ..ModelCard::default() };
                known |= tracker.anchor(at, &request.usage, Some(&card)).is_ok();
            }
        }
    }
    errors
}

/// Returns how far off the relative errors are in percent, either way, ascending.
pub(crate) fn percents(errors: &[StepError]) -> Vec<f64> {
    let mut percents: Vec<f64> = errors.iter().map(|error| error.relative().abs() * 100.0).collect();
    percents.sort_by(f64::total_cmp);
    percents
}

/// Returns a percentile by nearest rank, 0 where there is nothing.
pub(crate) fn percentile(ascending: &[f64], percent: usize) -> f64 {
    let rank = (ascending.len() * percent).div_ceil(100);
    ascending.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}
