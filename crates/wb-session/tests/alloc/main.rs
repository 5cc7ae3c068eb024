//! What opening a large session may allocate.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod large;

use large::{Memory, Shape, large, memory};

/// Bytes that the place of an entry may take.
const PER_ENTRY: u64 = 256;
/// Bytes for buffers: one for reading, and two of the longest record.
const BUFFERS: u64 = 128 * 1024;

#[test]
fn opening_takes_at_most_three_times_the_context_beside_the_places_of_entries() {
    for shape in [Shape::Compacted, Shape::Whole] {
        let (path, n_entries) = large(shape, 9_000_000);
        let Memory { peak, context, session } = memory(&path);
        let places = PER_ENTRY * n_entries as u64;
        assert!(session <= places + BUFFERS, "{shape:?}: {session} for {n_entries} entries");
        assert!(peak <= 3 * context + places + BUFFERS, "{shape:?}: {peak} with a context of {context}");
        assert!((shape == Shape::Whole) == (context > 5_000_000), "{shape:?}: {context}");
    }
}
