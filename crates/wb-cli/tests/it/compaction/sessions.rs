//! Every real session, condensed at three windows.

use std::io::BufReader;
use std::path::Path;

use futures::executor::block_on;
use wb_budget::{ModelCard, estimate_tokens};
use wb_conductor::{CompactionReport, Compactor, CondenseOpts, compact_in_place};
use wb_formats::View;
use wb_message::Pairing;
use wb_message::outline::outline;
use wb_testkit::fit_laws::{self, Landing};
use wb_testkit::shared::shared_files;

const WINDOWS: [u64; 3] = [8_000, 32_000, 200_000];

fn open(path: &Path) -> View {
    let mut reader = BufReader::new(std::fs::File::open(path).unwrap());
    wb_formats::read(&mut reader).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn condense(opened: &mut View, window: u64, force: bool) -> CompactionReport {
    let settings = Compactor::new().card(ModelCard::with_window(window)).vocabulary(opened.vocabulary);
    let opts = CondenseOpts { force, ..CondenseOpts::default() };
    block_on(compact_in_place(&mut opened.messages, &settings, &opts))
}

/// Condenses a file, checks the result and condenses it again.
fn check(path: &Path, window: u64, force: bool) -> CompactionReport {
    let mut opened = open(path);
    let messages = opened.messages.clone();
    let before = Pairing::new(&messages);
    let report = condense(&mut opened, window, force);
    let case = format!("{} at {window}, force {force}: {report}", path.display());

    let after = Pairing::new(&opened.messages);
    assert!(after.orphans().len() <= before.orphans().len(), "{case}");
    assert!(after.dangling().len() <= before.dangling().len(), "{case}");
    let tokens = estimate_tokens(&opened.messages);
    assert_eq!(report.tokens_after, tokens, "{case}");
    if let Some(target_tokens) = report.target_tokens {
        let (least_tokens, irreducible) = (fit_laws::least_tokens(&messages), report.irreducible);
        let landing = Landing { target_tokens, overhead_tokens: 0, least_tokens, irreducible };
        fit_laws::fits_or_cannot(&messages, &opened.messages, landing);
    }

    let once = opened.messages.clone();
    let second = condense(&mut opened, window, force);
    assert_eq!(outline(&opened.messages), outline(&once), "{case}\nthen {second}");
    assert_eq!(opened.messages, once, "{case}\nthen {second}");
    report
}

#[test]
fn every_real_session_condenses_to_its_target_without_an_orphan_and_a_second_time_to_itself() {
    let folders = ["sessions/claude-code", "sessions/pi"].map(shared_files);
    let mut n_folded = 0;
    let mut cleared_and_folded = false;
    for path in folders.iter().flatten() {
        for window in WINDOWS {
            for force in [false, true] {
                let report = check(path, window, force);
                n_folded += usize::from(report.cut > 0);
                let of_claude_code = folders[0].contains(path);
                cleared_and_folded |= of_claude_code && !report.cleared.is_empty() && report.cut > 0;
            }
        }
    }
    if folders.iter().all(|files| !files.is_empty()) {
        assert!(n_folded > 30, "{n_folded}");
        assert!(cleared_and_folded, "a Claude Code file shows results cleared and a head folded");
    }
}
