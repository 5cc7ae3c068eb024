//! `cargo xtask dist`: the size of the program, and the time an agent waits for it.

use std::path::Path;

use crate::{program, report, target};

/// Builds the program as it is installed.
const BUILD: &str = "build --profile dist -p wb-cli";
/// Times a program; the benchmark is built like the tests, so most of it exists.
const BENCH: &str = "bench --profile dev --workspace --all-features --bench hook --";
/// The most bytes of the program.
const MOST_BYTES: u64 = 24_000_000;
/// The factor by which the quickest run may exceed a limit, since other programs use the machine.
const PATIENCE: f64 = 2.0;

/// Prints size and times, and fails above the limits.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    cargo(root, BUILD.split(' '))?;
    let program = target()?.join("dist").join("wb");
    let program = program.to_str().ok_or("the target directory is not UTF-8")?;
    let output = cargo(root, BENCH.split(' ').chain([program]))?;
    println!("{output}");
    report("dist", &findings(&output))
}

fn cargo<'a>(root: &Path, words: impl IntoIterator<Item = &'a str>) -> Result<String, String> {
    let mut cargo = program::cargo(root, words);
    println!("$ {}", program::line(&cargo));
    program::output(&mut cargo)
}

/// Returns the figures that are missing or above their limits.
fn findings(output: &str) -> Vec<String> {
    let size = output
        .lines()
        .find_map(|line| line.strip_prefix("The program has ")?.split(' ').next()?.parse::<u64>().ok());
    let mut found = match size {
        Some(n) if n <= MOST_BYTES => Vec::new(),
        Some(n) => vec![format!("the program has {n} bytes, and its limit is {MOST_BYTES}")],
        None => vec!["the size of the program is missing".to_owned()],
    };
    let rows: Vec<_> = output.lines().filter_map(row).collect();
    if rows.len() < 2 {
        found.push(format!("{} rows of times where two were awaited", rows.len()));
    }
    found.extend(rows.into_iter().filter(|(_, least, limit)| *least > PATIENCE * limit).map(|(n, least, limit)| {
        format!("of {n} messages the quickest run took {least} ms, and {PATIENCE} times its limit of {limit} ms is held")
    }));
    found
}

/// Reads a row: the number of messages, and in milliseconds the quickest run and the limit.
fn row(line: &str) -> Option<(u32, f64, f64)> {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let [_, n_messages, _, _, least, .., limit, _] = cells[..] else { return None };
    let ms = |cell: &str| cell.strip_suffix(" ms")?.parse().ok();
    Some((n_messages.parse().ok()?, ms(least)?, ms(limit)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(least: &str, size: u64) -> String {
        format!(
            "| messages | bytes asked | runs | least | median | most | limit |\n|---:|---:|---:|---:|---:|---:|---:|\n\
             | 500 | 1210714 | 11 | {least} ms | 90.0 ms | 99.0 ms | 30 ms |\n\
             | 10000 | 24237526 | 11 | 337.3 ms | 359.8 ms | 407.8 ms | 300 ms |\n\nThe program has {size} bytes.\n"
        )
    }

    #[test]
    fn what_is_above_its_limit_is_found() {
        assert_eq!(findings(&output("60.0", 24_000_000)), Vec::<String>::new());
        let slow = findings(&output("60.1", 12_000_000));
        assert!(slow.len() == 1 && slow[0].contains("500 messages"), "{slow:?}");
        let large = findings(&output("26.7", 24_000_001));
        assert!(large.len() == 1 && large[0].contains("24000001 bytes"), "{large:?}");
        assert_eq!(findings("nothing").len(), 2);
    }
}
