//! The mock provider: a server on the loopback address that answers as a test wants, and records its requests.
//!
//! It speaks enough HTTP/1.1 to be a provider's streaming endpoint, with faults that a library would not let through.
//! Each connection carries one request. The server stops when it is dropped.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// One thing that the server does while it answers.
#[derive(Clone, Debug)]
pub enum Play {
    /// Sends these bytes as they are.
    Send(Vec<u8>),
    /// Says nothing for a while.
    Wait(Duration),
    /// Says nothing more, until the client goes.
    Hang,
}

/// A request as it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The first line, without the version: `POST /v1/messages`.
    pub line: String,
    /// The headers, with names in lowercase.
    pub headers: Vec<(String, String)>,
    /// The body as JSON; null if it is none.
    pub body: Value,
    /// The body verbatim.
    pub text: String,
}

impl Asked {
    /// Returns the value of a header; an empty one where there is none.
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
    seen: Mutex<Seen>,
    is_over: AtomicBool,
}

#[derive(Debug, Default)]
struct Seen {
    asked: Vec<Asked>,
    /// How many clients went while they were being answered.
    n_left: usize,
}

impl State {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Loopback {
    /// Starts a server that plays back these answers one per request, the last one again and again.
    ///
    /// # Panics
    /// Panics where no port can be had.
    pub fn start(answers: impl IntoIterator<Item = Vec<Play>>) -> Self {
        let answers: Vec<Vec<Play>> = answers.into_iter().collect();
        Self::with_handler(move |nth, _| answers.get(nth).or(answers.last()).cloned().unwrap_or_default())
    }

    /// Starts a server whose answer is computed from the number of the request and the request.
    ///
    /// # Panics
    /// Panics where no port can be had.
    pub fn with_handler(handler: impl Fn(usize, &Asked) -> Vec<Play> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port on the loopback address");
        let address = listener.local_addr().expect("a port has a number");
        let state = Arc::new(State::default());
        let (serving, handler) = (state.clone(), Arc::new(handler));
        thread::spawn(move || serve(&listener, &serving, &handler));
        Self { address, state }
    }

    /// Returns its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns the base of its addresses.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns what it was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.seen().asked.clone()
    }

    /// Returns how many clients went while they were being answered.
    pub fn n_left(&self) -> usize {
        self.seen().n_left
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.state.seen()
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::Relaxed);
        // It waits for a client: here is one.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve<H: Fn(usize, &Asked) -> Vec<Play> + Send + Sync + 'static>(
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
            let Some(asked) = read(&client) else { return };
            let plays = handler(nth, &asked);
            state.seen().asked.push(asked);
            answer(client, &state, &plays);
        });
    }
}

fn answer(mut client: TcpStream, state: &State, plays: &[Play]) {
    let is_left = plays.iter().any(|play| match play {
        Play::Send(bytes) => client.write_all(bytes).and_then(|()| client.flush()).is_err(),
        Play::Wait(time) => {
            thread::sleep(*time);
            false
        }
        Play::Hang => !matches!(client.read(&mut [0]), Ok(1)),
    });
    if is_left {
        state.seen().n_left += 1;
    }
    let _ = client.shutdown(Shutdown::Both);
}

fn read(client: &TcpStream) -> Option<Asked> {
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
    let mut asked = Asked { line, headers, body: Value::Null, text: String::new() };
    let mut body = vec![0; asked.header("content-length").parse().unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    asked.body = serde_json::from_slice(&body).unwrap_or_default();
    asked.text = String::from_utf8_lossy(&body).into_owned();
    Some(asked)
}

/// Answers with an error: a status, headers and a body.
pub fn error(status: u16, headers: &[(&str, &str)], body: &str) -> Vec<Play> {
    let own: String = headers.iter().flat_map(|(name, value)| [name, ": ", value, "\r\n"]).collect();
    let n_bytes = body.len();
    let head =
        format!("HTTP/1.1 {status} Odd\r\n{own}content-type: application/json\r\ncontent-length: {n_bytes}");
    vec![Play::Send(format!("{head}\r\nconnection: close\r\n\r\n{body}").into_bytes())]
}

/// Begins an answer that is a stream of events.
pub fn begun() -> Play {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\
                connection: close\r\n\r\n";
    Play::Send(head.as_bytes().to_vec())
}

/// Sends a piece of a stream.
pub fn piece(bytes: &[u8]) -> Play {
    let size = format!("{:x}\r\n", bytes.len());
    Play::Send([size.as_bytes(), bytes, b"\r\n"].concat())
}

/// Ends a stream as it should end; without it the connection breaks.
pub fn ended() -> Play {
    Play::Send(b"0\r\n\r\n".to_vec())
}

/// Answers with a whole stream, in pieces of so many bytes.
pub fn stream(text: &str, n_bytes: usize) -> Vec<Play> {
    let pieces = text.as_bytes().chunks(n_bytes.max(1)).map(piece);
    std::iter::once(begun()).chain(pieces).chain([ended()]).collect()
}
