//! Prints the milliseconds that the call in a file takes: `cargo xtask bindings --speed`.

#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "it measures a file")]

use std::hint::black_box;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(file), Some(runs)) = (words.next(), words.next()) else {
        return Err("usage: call_speed FILE RUNS".into());
    };
    let call = std::fs::read_to_string(file)?;
    for _ in 0..runs.parse()? {
        let start = Instant::now();
        let answer = black_box(wb_bind::call(black_box(&call)));
        println!("rust\t{:.3}", start.elapsed().as_secs_f64() * 1e3);
        if wb_bind::is_error(&answer) {
            return Err(answer.into());
        }
    }
    Ok(())
}
