//! `docs/how-a-compaction-runs.md`: the files and names that it mentions exist, and its transcript
//! gives the figures that it prints; so for the figures of `docs/architecture.md`.

use std::path::Path;

use futures::executor::block_on;
use wb_budget::gate::DIGEST_TOKENS;
use wb_budget::{AUTO_CONDENSE_POLICY, Budget, ModelCard, estimate_tokens};
use wb_conductor::{AgentContext, BREAKER_AFTER, BREAKER_LASTS};
use wb_invoke::scripted::Script;
use wb_testkit::script;

use crate::support::{AUTO, good_reply, model, window};

const PAGE: &str = include_str!("../../../../docs/how-a-compaction-runs.md");
const MAX_WORDS: usize = 900;

/// Returns the source of a file that the page links to.
#[expect(clippy::disallowed_methods, reason = "the test reads the sources that the page names")]
fn linked_source(target: &str) -> Option<String> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::read_to_string(docs.join(target)).ok()
}

/// Returns whether a source defines a function or type of a name.
fn has_definition(source: &str, name: &str) -> bool {
    ["fn", "struct", "enum", "trait", "const", "type"].iter().any(|keyword| {
        source.match_indices(&format!("{keyword} {name}")).any(|(at, found)| {
            let rest = &source[at + found.len()..];
            !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        })
    })
}

#[test]
fn every_file_and_name_on_the_page_exists() {
    let (mut source, mut n_files, mut n_names) = (String::new(), 0, 0);
    let prose: String = PAGE.split("```").step_by(2).collect();
    let parts: Vec<&str> = prose.split('`').collect();
    for (at, name) in parts.iter().enumerate().skip(1).step_by(2) {
        let target = parts.get(at + 1).and_then(|next| next.strip_prefix("](")?.split(')').next());
        if let Some(target) = target {
            source = linked_source(target).unwrap_or_else(|| panic!("{target} does not exist"));
            assert!(target.ends_with(name), "{name} links to {target}");
            n_files += 1;
        } else {
            for part in name.split("::") {
                assert!(has_definition(&source, part), "`{name}` is not in the file before it");
            }
            n_names += 1;
        }
    }
    assert!(n_files >= 10 && n_names >= 20, "{n_files} files, {n_names} names");
}

#[test]
fn the_page_is_short() {
    let n_words = PAGE.split_whitespace().count();
    assert!(n_words <= MAX_WORDS, "{n_words} words");
}

#[test]
fn the_transcript_on_the_page_gives_its_report() {
    let mut messages = script(
        "u\"Port the importer.\" [a:read(src/old.rs) t*700]x8 a:read(src/a.rs) t*1900 a*300 u\"Now the tests.\" a:bash t*1400 a*100",
    );
    assert_eq!(estimate_tokens(&messages), 9_664);
    let mut context = AgentContext::from_compactor(
        window(12_000).summarizer(model(Script::says(good_reply("Port the importer.")))),
    );
    let tail = messages[19..].to_vec();
    let report = block_on(context.compact(&mut messages, &AUTO));
    assert!(PAGE.contains(&format!("{report}\n")), "{report}");
    assert_eq!(messages[3..], tail);
    let steps: Vec<_> = report.steps.iter().map(|step| (step.name.as_str(), step.tokens_after)).collect();
    assert_eq!(steps, [("microcompact", 6_900), ("digest", 2_889), ("restore", 5_530)]);
    assert_eq!((report.limit_tokens, report.target_tokens), (Some(7_464), Some(6_531)));
    assert_eq!(report.cleared.len(), 0, "the cleared results are in the head");
}

#[test]
fn the_figures_on_the_map_are_those_of_the_code() {
    const MAP: &str = include_str!("../../../../docs/architecture.md");
    let budget = |window| Budget::resolve(Some(&ModelCard::with_window(window)), &AUTO_CONDENSE_POLICY, 0);
    let (budget, largest) = (budget(200_000).unwrap(), budget(1_000_000).unwrap());
    let [limit, target, keep_recent, restored, digest] =
        [budget.limit, budget.target, budget.tail, budget.restored, largest.digest].map(thousands);
    let request = thousands(u64::try_from(wb_summarize::REQUEST_BYTES).unwrap());
    let words = MAP.split_whitespace().collect::<Vec<_>>().join(" ");
    for claim in [
        format!("the limit is {limit} and the target {target}"),
        format!(
            "at most `keep_recent` tokens ({keep_recent} by default), restored lines and files 3/7 and at most {restored}"
        ),
        format!("from {} up to {digest}", thousands(DIGEST_TOKENS)),
        format!("A latest prompt of more than {request} bytes"),
    ] {
        assert!(words.contains(&claim), "{claim}");
    }
    assert_eq!((BREAKER_AFTER, BREAKER_LASTS), (2, 3));
    assert!(words.contains("After two runs in a row that did not help, no model is called for three runs."));
}

fn thousands(n: u64) -> String {
    format!("{},{:03}", n / 1_000, n % 1_000)
}
