//! Real usage: how well the next prompt is foretold.

use crate::errors::{one_step_errors, percentile, percents};
use crate::support::{bytes_of, files_of, shared};

#[test]
fn on_long_pi_sessions_the_99th_percentile_of_the_one_step_error_is_below_one_and_a_half_percent() {
    let Some(folder) = shared("sessions/pi") else { return };
    let mut n_long = 0;
    for (name, path) in files_of(&folder) {
        let errors =
            percents(&one_step_errors(wb_formats::segments(&mut bytes_of(&path).as_slice()).unwrap()));
        if errors.len() >= 100 {
            n_long += 1;
            let [p50, p90, p99] = [50, 90, 99].map(|percent| percentile(&errors, percent));
            assert!(p99 <= 1.5, "{name}: p50 {p50:.2} p90 {p90:.2} p99 {p99:.2} percent");
            assert!(p50 <= 0.05 && p90 <= 0.25, "{name}: p50 {p50:.2} p90 {p90:.2} p99 {p99:.2} percent");
        }
    }
    assert!(n_long >= 2, "there are long sessions");
}
