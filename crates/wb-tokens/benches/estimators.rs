//! The speed of estimates, compared with reading every byte and with an exact count.
//!
//! `bytes, one by one` adds up each byte; `bytes, in vectors` is the same sum, vectorized.
#![expect(clippy::unwrap_used, missing_docs, reason = "a benchmark")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use wb_budget::{Family, FittedCounter, TokenCounter, TokenHeuristic};
use wb_tokens::Vocabulary;

/// A megabyte of code, prose and numbers.
fn text() -> String {
    let part = "impl Importer {\n    /// Reads the next line; the last one may end without a break.\n    fn next(&mut self) -> \
                Option<String> {\n        self.lines.get(self.at + 1_024).cloned()\n    }\n}\ntest importer::trims ... FAILED (exit code 101)\n";
    part.repeat((1 << 20) / part.len())
}

fn one_by_one(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, byte| black_box(sum + u64::from(*byte)))
}

fn estimators(criterion: &mut Criterion) {
    let text = text();
    let exact = Vocabulary::O200kBase.counter().unwrap();
    let fitted = FittedCounter::new(Family::Anthropic);
    let mut group = criterion.benchmark_group("estimators");
    group.throughput(Throughput::Bytes(text.len() as u64)).sample_size(20);
    group.bench_function("bytes, one by one", |bench| bench.iter(|| one_by_one(black_box(text.as_bytes()))));
    group.bench_function("bytes, in vectors", |bench| {
        bench.iter(|| black_box(text.as_bytes()).iter().map(|byte| u64::from(*byte)).sum::<u64>());
    });
    group.bench_function("characters / 3.6", |bench| {
        bench.iter(|| TokenHeuristic::DEFAULT.text(black_box(&text)));
    });
    group.bench_function("fitted", |bench| bench.iter(|| fitted.text(black_box(&text))));
    group.bench_function("o200k_base", |bench| bench.iter(|| exact.text(black_box(&text))));
    group.finish();
}

criterion_group!(benches, estimators);
criterion_main!(benches);
