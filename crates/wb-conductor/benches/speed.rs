//! Every row and its limit under criterion, which compares with the run before.

mod rows;

use criterion::{Bencher, BenchmarkId, Criterion};
use rows::{Bed, Row, Sample};
use wb_testkit::workload::Script;

fn main() {
    let mut criterion = Criterion::default().sample_size(20).configure_from_args();
    for n in [100, 1_000, 10_000] {
        let bed = Bed::new(n, Script::Latin);
        bed.each_row(&mut |row| measure(&mut criterion, &bed, row));
    }
    criterion.final_summary();
}

fn measure(criterion: &mut Criterion, bed: &Bed, row: Row<'_>) {
    let Row { what, limit_is, target, mut subject, mut limit } = row;
    let group = target.map_or_else(|| what.to_owned(), |target| format!("{what} ({target})"));
    let mut group = criterion.benchmark_group(group);
    group.bench_function(BenchmarkId::new("row", bed.n_messages), |b| custom(b, &mut subject));
    let limit_id = BenchmarkId::new(format!("limit: {limit_is}"), bed.n_messages);
    group.bench_function(limit_id, |b| custom(b, &mut limit));
    group.finish();
}

fn custom(bencher: &mut Bencher<'_>, sample: &mut Sample<'_>) {
    bencher.iter_custom(sample);
}
