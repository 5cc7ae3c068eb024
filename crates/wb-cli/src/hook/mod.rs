//! `wb hook`: answers a host that compacts, within its time and whatever happens.

mod protocol;
mod decide;

use std::io::{self, Read, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::Result;

use self::decide::decide;
use self::protocol::{Answer, Request};
use crate::args::Hook;

/// What comes from the thread that works.
enum News {
    /// The host's own limit.
    Budget(Duration),
    Answer(Box<Answer>),
}

/// Reads what a host asks from standard input and writes one answer to standard output.
pub(crate) fn hook(args: &Hook) -> Result<()> {
    let start = Instant::now();
    // What was asked must reach no log, so a fault is told without it.
    std::panic::set_hook(Box::new(|_| {}));
    let (sender, news) = channel();
    std::thread::spawn(move || work(start, &sender));
    let mut budget = Duration::from_millis(args.budget_ms);
    let answer = loop {
        match news.recv_timeout(budget.saturating_sub(start.elapsed())) {
            Ok(News::Budget(told)) => budget = budget.min(told),
            Ok(News::Answer(answer)) => break *answer,
            Err(RecvTimeoutError::Timeout) => break Answer::pass("there was not enough time"),
            Err(RecvTimeoutError::Disconnected) => break Answer::pass("an error inside wb"),
        }
    };
    let mut line = serde_json::to_vec(&answer)?;
    line.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&line)?;
    Ok(out.flush()?)
}

fn work(start: Instant, sender: &Sender<News>) {
    let mut text = Vec::new();
    let answer = match io::stdin().lock().read_to_end(&mut text) {
        Err(error) => Answer::pass(format!("standard input: {error}")),
        Ok(_) => match serde_json::from_slice::<Request<'_>>(&text) {
            Err(error) => Answer::pass(format!("what was asked cannot be read: {error}")),
            Ok(request) => {
                let budget = request.budget_ms.map(Duration::from_millis);
                budget.into_iter().for_each(|budget| send(sender, News::Budget(budget)));
                decide(&request)
            }
        },
    };
    let ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    let report = answer.report.map(|report| protocol::Report { ms, ..report });
    send(sender, News::Answer(Box::new(Answer { report, ..answer })));
}

/// Where nobody listens any more, the time is over.
fn send(sender: &Sender<News>, news: News) {
    let _ = sender.send(news);
}
