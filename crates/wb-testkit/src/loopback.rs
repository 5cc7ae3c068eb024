//! A mock provider on the loopback address: it plays back answers, also broken ones, and records
//! requests.
//!
//! The server implements enough HTTP/1.1 for a provider's streaming endpoint, with faults that a
//! library would prevent. Each connection serves one request. Dropping the server stops it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// A step of an answer.
#[derive(Clone, Debug)]
pub enum Play {
    /// Sends bytes verbatim.
    Send(Vec<u8>),
    /// Pauses.
    Wait(Duration),
    /// Sends nothing more until the client disconnects.
    Hang,
}

/// A received request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The first line without the version, such as `POST /v1/messages`.
    pub line: String,
    /// The headers, with names in lowercase.
    pub headers: Vec<(String, String)>,
    /// The body as JSON; null if it is not JSON.
    pub body: Value,
    /// The body verbatim.
    pub text: String,
}

impl Request {
    /// Returns the value of a header, empty if missing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

/// The server.
#[derive(Debug)]
pub struct Loopback {
    address: SocketAddr,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    record: Mutex<Record>,
    is_over: AtomicBool,
}

#[derive(Debug, Default)]
struct Record {
    requests: Vec<Request>,
    n_disconnected: usize,
}

impl State {
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Loopback {
    /// Starts a server that plays back one answer per request and repeats the last one.
    ///
    /// # Panics
    /// Panics if no port is free.
    pub fn start(answers: impl IntoIterator<Item = Vec<Play>>) -> Self {
        let answers: Vec<Vec<Play>> = answers.into_iter().collect();
        Self::with_handler(move |nth, _| answers.get(nth).or(answers.last()).cloned().unwrap_or_default())
    }

    /// Starts a server whose answer is computed from the number of the request and the request.
    ///
    /// # Panics
    /// Panics if no port is free.
    pub fn with_handler(handler: impl Fn(usize, &Request) -> Vec<Play> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port on the loopback address");
        let address = listener.local_addr().expect("a port has a number");
        let state = Arc::new(State::default());
        let (serving, handler) = (state.clone(), Arc::new(handler));
        thread::spawn(move || serve(&listener, &serving, &handler));
        Self { address, state }
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns the base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.state.record().requests.clone()
    }

    /// Returns the number of clients that disconnected during an answer.
    pub fn n_disconnected(&self) -> usize {
        self.state.record().n_disconnected
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Relaxed);
        // A last client wakes the server.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve<H: Fn(usize, &Request) -> Vec<Play> + Send + Sync + 'static>(
    listener: &TcpListener,
    state: &Arc<State>,
    handler: &Arc<H>,
) {
    for (nth, client) in listener.incoming().enumerate() {
        if state.is_over.load(Ordering::Relaxed) {
            return;
        }
        let Ok(client) = client else { continue };
        let (state, handler) = (state.clone(), handler.clone());
        thread::spawn(move || {
            let Some(request) = read(&client) else { return };
            let plays = handler(nth, &request);
            state.record().requests.push(request);
            respond(client, &state, &plays);
        });
    }
}

fn respond(mut client: TcpStream, state: &State, answer: &[Play]) {
    let has_disconnected = answer.iter().any(|play| match play {
        Play::Send(bytes) => client.write_all(bytes).and_then(|()| client.flush()).is_err(),
        Play::Wait(time) => {
            thread::sleep(*time);
            false
        }
        Play::Hang => !matches!(client.read(&mut [0]), Ok(1)),
    });
    if has_disconnected {
        state.record().n_disconnected += 1;
    }
    let _ = client.shutdown(Shutdown::Both);
}

fn read(client: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(client);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
        Some(line.trim_end().to_owned())
    };
    let first = line()?;
    let mut headers = Vec::new();
    while let Some(header) = line().filter(|header| !header.is_empty()) {
        let (name, value) = header.split_once(':')?;
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let line = first.replace(" HTTP/1.1", "");
    let mut request = Request { line, headers, body: Value::Null, text: String::new() };
    let mut body = vec![0; request.header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    request.body = serde_json::from_slice(&body).unwrap_or_default();
    request.text = String::from_utf8_lossy(&body).into_owned();
    Some(request)
}

/// Builds an error answer: a status, headers and a body.
pub fn error(status: u16, headers: &[(&str, &str)], body: &str) -> Vec<Play> {
    let extra: String = headers.iter().flat_map(|(name, value)| [name, ": ", value, "\r\n"]).collect();
    let n_bytes = body.len();
    let head = format!(
        "HTTP/1.1 {status} Odd\r\n{extra}content-type: application/json\r\ncontent-length: {n_bytes}"
    );
    vec![Play::Send(format!("{head}\r\nconnection: close\r\n\r\n{body}").into_bytes())]
}

/// Starts a stream of events.
pub fn stream_start() -> Play {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\
                connection: close\r\n\r\n";
    Play::Send(head.as_bytes().to_vec())
}

/// Sends a chunk of a stream.
pub fn stream_chunk(bytes: &[u8]) -> Play {
    let size = format!("{:x}\r\n", bytes.len());
    Play::Send([size.as_bytes(), bytes, b"\r\n"].concat())
}

/// Ends a stream properly; without it the connection breaks.
pub fn stream_end() -> Play {
    Play::Send(b"0\r\n\r\n".to_vec())
}

/// Builds the answer of a whole stream, in chunks of `n_bytes`.
pub fn stream(text: &str, n_bytes: usize) -> Vec<Play> {
    let chunks = text.as_bytes().chunks(n_bytes.max(1)).map(stream_chunk);
    std::iter::once(stream_start()).chain(chunks).chain([stream_end()]).collect()
}
