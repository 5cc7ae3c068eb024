//! The lines of a part, which are read in place.

use std::io::{self, Read};

use wb_record::lines::places;
use wb_record::{Lines, PartReader, Parts};

/// The number of bytes of the first read of a line, and the most of any read.
const CHUNK: std::ops::RangeInclusive<u64> = 4 * 1024..=64 * 1024;

/// Passes each line up to an end with its position, blank ones too, and returns the end of the last
/// one.
pub(super) fn each_line(parts: &dyn Parts, end: u64, each: &mut dyn FnMut(u64, &[u8])) -> io::Result<u64> {
    let mut lines = Lines::new(PartReader::new(parts, "", 0)?.take(end));
    let mut read_to = 0;
    while let Some((position, line)) = lines.next_raw()? {
        read_to = position + line.len() as u64;
        each(position, line.strip_suffix(b"\n").unwrap_or(line));
    }
    Ok(read_to)
}

/// Reads on from a place to the end of the line, into a buffer that is cleared.
pub(super) fn line_at(parts: &dyn Parts, position: u64, end: u64, line: &mut Vec<u8>) -> io::Result<()> {
    line.clear();
    if let Some(held) = parts.held("") {
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX).min(held.len());
        let rest = held.get(place(position)..place(end)).unwrap_or_default();
        line.extend_from_slice(&rest[..places(rest).next().map_or(0, |place| place.end)]);
        return Ok(());
    }
    let mut n_wanted = *CHUNK.start();
    loop {
        let seen = line.len();
        let start = position + seen as u64;
        parts.read("", start..end.min(start + n_wanted), line)?;
        if line.len() == seen {
            return Ok(());
        }
        let n_of_line = places(&line[seen..]).next().map_or(0, |place| place.end);
        if seen + n_of_line < line.len() {
            line.truncate(seen + n_of_line);
            return Ok(());
        }
        n_wanted = (n_wanted * 2).min(*CHUNK.end());
    }
}
