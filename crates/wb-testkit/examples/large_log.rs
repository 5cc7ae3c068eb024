//! Prints a long log of an agent in JSON lines:
//! `cargo run --release -p wb-testkit --example large_log FORMAT TURNS`.

use std::io::{self, BufWriter, Write};

use wb_testkit::logs::{LOGS, write_log};

fn main() -> io::Result<()> {
    let mut words = std::env::args().skip(1);
    let format = words.next().filter(|word| LOGS.contains(&word.as_str()));
    let turns = words.next().and_then(|word| word.parse().ok());
    let (Some(format), Some(turns)) = (format, turns) else {
        return Err(io::Error::other(format!(
            "usage: large_log FORMAT TURNS; FORMAT is one of {}",
            LOGS.join(", ")
        )));
    };
    let mut out = BufWriter::new(io::stdout().lock());
    write_log(&format, turns, &mut out)?;
    out.flush()
}
