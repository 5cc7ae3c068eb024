//! A request and its response, with retries, time limits and cancellation.

use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, select};
use reqwest::header::HeaderMap;
use reqwest::{Client, Response, Url};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use wb_invoke::{Emission, InvokeError, StopReason};

use crate::answer::Answer;
use crate::failure::Failure;
use crate::http::{TimeLimits, check_response, root_cause, send_failure};
use crate::key::Key;
use crate::protocol::Protocol;
use crate::retry::RetryPolicy;
use crate::sse::SseDecoder;

/// A request, which may be sent several times.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) client: Client,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// The number of the request within its invoker.
    pub(crate) number: u64,
}

/// A running request. Dropping it closes the connection.
#[derive(Debug)]
pub(crate) struct Exchange {
    request: Request,
    protocol: &'static dyn Protocol,
    key: Option<Key>,
    limits: TimeLimits,
    retry: RetryPolicy,
    cancel: CancellationToken,
    /// The end of the total time limit.
    deadline: Option<Instant>,
    n_retries: u32,
    wait: Option<Duration>,
    response: Option<Response>,
    decoder: SseDecoder,
    answer: Answer,
    failed: Option<InvokeError>,
    is_over: bool,
}

impl Exchange {
    pub(crate) fn new(
        request: Request,
        protocol: &'static dyn Protocol,
        key: Option<Key>,
        (limits, retry): (TimeLimits, RetryPolicy),
        cancel: CancellationToken,
    ) -> Self {
        Self {
            request,
            protocol,
            key,
            limits,
            retry,
            cancel,
            deadline: None,
            n_retries: 0,
            wait: None,
            response: None,
            decoder: SseDecoder::default(),
            answer: Answer::default(),
            failed: None,
            is_over: false,
        }
    }

    /// Returns the next emission, or `None` after the last one.
    pub(crate) async fn next(&mut self) -> Option<Emission> {
        loop {
            if let Some(emission) = self.answer.next() {
                return Some(emission);
            }
            if let Some(error) = self.failed.take() {
                return Some(Emission::Error { error });
            }
            if self.is_over {
                return None;
            }
            self.step().await;
        }
    }

    /// Makes progress until a piece arrives, an attempt fails, or the request is cancelled.
    async fn step(&mut self) {
        if self.cancel.is_cancelled() {
            return self.conclude(Some(StopReason::Aborted));
        }
        if Handle::try_current().is_err() {
            return self.give_up(Failure::permanent("models over HTTP need a tokio runtime around them"));
        }
        let deadline = self.deadline.or_else(|| Some(Instant::now() + self.limits.total?));
        self.deadline = deadline;
        let cancel = self.cancel.clone();
        let stepped = match select(pin!(cancel.cancelled()), pin!(self.advance(deadline))).await {
            Either::Left(_) => None,
            Either::Right((done, _)) => Some(done),
        };
        match stepped {
            None => self.conclude(Some(StopReason::Aborted)),
            Some(Ok(())) => {}
            Some(Err(failure)) => self.fail(failure),
        }
    }

    async fn advance(&mut self, deadline: Option<Instant>) -> Result<(), Failure> {
        let Some(deadline) = deadline else { return self.send_or_read().await };
        let total = self.limits.total.unwrap_or_default();
        let too_late = |_| Failure::permanent(format!("the answer took longer than {total:?}"));
        tokio::time::timeout_at(deadline, self.send_or_read()).await.map_err(too_late)?
    }

    /// Waits for a retry delay, then sends the request or reads the next piece.
    async fn send_or_read(&mut self) -> Result<(), Failure> {
        if let Some(wait) = self.wait.take() {
            sleep(wait).await;
        }
        let silence = self.limits.silence;
        let timed_out = |_| Failure::permanent(format!("the server was silent for {silence:?}"));
        let Some(response) = &mut self.response else {
            let response = timeout(silence, send(&self.request, &self.limits)).await.map_err(timed_out)??;
            self.response = Some(response);
            return Ok(());
        };
        match timeout(silence, response.chunk()).await.map_err(timed_out)? {
            Ok(Some(piece)) => self.read(&piece),
            Ok(None) => self.finish(),
            Err(error) => {
                Err(Failure::transient(format!("the stream broke off in the middle: {}", root_cause(&error))))
            }
        }
    }

    fn read(&mut self, piece: &[u8]) -> Result<(), Failure> {
        let too_long = |_| Failure::permanent("the stream holds an event without end");
        self.decoder.push(piece).map_err(too_long)?;
        while let Some(event) = self.decoder.next() {
            self.protocol.read(&event, &mut self.answer)?;
            if self.answer.has_ended() {
                self.conclude(None);
                break;
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        if !self.answer.is_whole() {
            return Err(Failure::transient("the stream ended in the middle of the answer"));
        }
        self.conclude(None);
        Ok(())
    }

    /// Retries a transient failure if no output was emitted yet.
    fn fail(&mut self, failure: Failure) {
        let may_repeat = failure.is_transient && !self.answer.has_begun();
        let delay = self.retry.delay(self.n_retries, failure.retry_after, self.request.number);
        let in_time =
            |delay: &Duration| self.deadline.is_none_or(|deadline| Instant::now() + *delay < deadline);
        match delay.filter(|_| may_repeat).filter(in_time) {
            None => self.give_up(failure),
            Some(delay) => {
                self.n_retries += 1;
                self.wait = Some(delay);
                self.response = None;
                self.decoder = SseDecoder::default();
                self.answer = std::mem::take(&mut self.answer).restart();
            }
        }
    }

    fn give_up(&mut self, failure: Failure) {
        let Failure { mut error, retry_after, .. } = failure;
        let too_long = retry_after.filter(|delay| *delay > self.retry.max_delay);
        let too_long = too_long.map(|delay| format!("; it asks to wait {delay:?}"));
        let attempts = (self.n_retries > 0).then(|| format!("; asked {} times", self.n_retries + 1));
        error.message.extend(too_long.into_iter().chain(attempts));
        if let Some(key) = &self.key {
            error.message = key.redact(&error.message);
        }
        self.failed = Some(error);
        self.close();
    }

    fn conclude(&mut self, stop: Option<StopReason>) {
        self.answer.conclude(stop);
        self.close();
    }

    fn close(&mut self) {
        self.response = None;
        self.is_over = true;
    }
}

async fn send(request: &Request, limits: &TimeLimits) -> Result<Response, Failure> {
    let Request { client, url, headers, body, .. } = request;
    let request = client.post(url.clone()).headers(headers.clone()).body(body.clone());
    let host = url.host_str().unwrap_or_default();
    let response = request.send().await.map_err(|error| send_failure(&error, host, limits))?;
    check_response(response).await
}
