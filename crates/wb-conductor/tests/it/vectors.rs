//! The recorded answers of the published pipeline.
//!
//! A row is equal if ours decides the same: the cut, the restored texts and the cleared results. If
//! it differs, a predicate over the row's input, named after its item of the design, must hold.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::executor::block_on;
use serde_json::Value;
use wb_budget::{
    AUTO_CONDENSE_POLICY, Budget, BudgetPolicy, ModelCard, estimate_tokens, last_user_turn_start, plan_slice,
};
use wb_conductor::{
    CompactionReport, Compactor, CondenseOpts, CondenserDeps, DigestSource, compact_in_place,
    create_condenser, project, turn_to_messages,
};
use wb_invoke::ModelInvoker;
use wb_invoke::scripted::{Script, ScriptedInvoker};
use wb_message::markers::{
    CLEARED_TOOL_RESULT, RESTORED_FILE_PREFIX, is_prompt, is_synthetic, restored_file,
};
use wb_message::tools::normal_path;
use wb_message::{Block, Message, Pairing, ToolVocabulary, Turn};
use wb_passes::{RehydrateOpts, clear_stale_tool_results, compactable_tool_names, rehydrate_recent_reads};
use wb_testkit::vectors;

/// The recorded aspects of an outcome. If the cut differs, its consequences are not compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Aspect {
    Cut,
    Restored,
    Cleared,
    Digest,
}

use Aspect::{Cleared, Cut, Digest, Restored};

/// Our outcome.
#[derive(Debug, PartialEq, Clone)]
struct Outcome {
    cut: usize,
    restored: Vec<String>,
    cleared: Vec<usize>,
    by_model: bool,
}

impl Outcome {
    fn new(report: &CompactionReport, after: &[Message]) -> Self {
        let restored = after.iter().skip(1).take(report.restored.len()).map(without_fence).collect();
        let by_model = report.digest == Some(DigestSource::Model { cut_off: false });
        Self { cut: report.cut, restored, cleared: report.cleared.clone(), by_model }
    }

    /// Returns the aspects in which the recorded outcome differs.
    fn differences(&self, out: &Value) -> Vec<Aspect> {
        let recorded = out["restored"].as_array().map_or(&[][..], Vec::as_slice);
        let same_files = self.restored.len() == recorded.len()
            && self.restored.iter().zip(recorded).all(|(text, row)| vectors::is_recorded(text, row));
        let by_model = out["digest"].as_str().is_some_and(|digest| digest != "fallback");
        if self.cut as u64 != out["kept_from"].as_u64().unwrap_or(0) {
            return vec![Cut];
        }
        let aspects = [
            (Restored, same_files),
            (Cleared, self.cleared == indices(&out["cleared_in_kept"])),
            (Digest, self.by_model == by_model),
        ];
        aspects.into_iter().filter(|(_, same)| !same).map(|(aspect, _)| aspect).collect()
    }
}

fn indices(list: &Value) -> Vec<usize> {
    list.as_array().into_iter().flatten().map(|n| usize::try_from(n.as_u64().unwrap()).unwrap()).collect()
}

/// Returns a restored file in the published form.
fn without_fence(message: &Message) -> String {
    let Some((path, body)) = restored_file(message) else { return user_text(message) };
    format!("{RESTORED_FILE_PREFIX} {path}\n{body}")
}

fn user_text(message: &Message) -> String {
    match message {
        Message::User { content, .. } => content.texts().collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

/// One pipeline run of a row.
struct Case<'a> {
    messages: &'a [Message],
    force: bool,
    policy: BudgetPolicy,
    card: Option<ModelCard>,
    reply: Option<&'a str>,
    /// Is true if the free passes run; the bare condenser has none.
    passes: bool,
}

/// The figures of the published pipeline, recomputed with the exact functions.
struct Published {
    cleared: Vec<Message>,
    cut: usize,
}

impl Case<'_> {
    fn published(&self) -> Published {
        let all = || self.messages.to_vec();
        let cleared =
            if self.passes { clear_stale_tool_results(all(), 6).unwrap_or_else(all) } else { all() };
        let cut = if self.force {
            last_user_turn_start(&cleared).unwrap_or(0)
        } else {
            plan_slice(&cleared, &self.policy).cut
        };
        Published { cleared, cut }
    }

    fn calls(&self) -> impl Iterator<Item = (&str, &str, &Value)> {
        self.messages.iter().flat_map(Message::calls)
    }

    fn has_repeated_ids(&self) -> bool {
        let mut seen = BTreeSet::new();
        !self.calls().all(|(id, _, _)| seen.insert(id))
    }

    /// Returns the name of an item of the design about this input and this aspect, if there is one.
    fn reasons(&self, aspect: Aspect) -> Vec<&'static str> {
        let published = self.published();
        let rules: &[Rule] = match aspect {
            Cut => &CUT_RULES,
            Restored => &RESTORED_RULES,
            Cleared => &CLEARED_RULES,
            Digest => &DIGEST_RULES,
        };
        rules.iter().filter(|(_, holds)| holds(self, &published)).map(|(name, _)| *name).collect()
    }

    fn run(&self) -> Outcome {
        let mut after = self.messages.to_vec();
        let invoke = self
            .reply
            .map(|reply| -> Arc<dyn ModelInvoker> { Arc::new(ScriptedInvoker::new([Script::says(reply)])) });
        let deps = CondenserDeps { invoke, card: self.card.clone(), policy: Some(self.policy) };
        if !self.passes {
            let condenser = create_condenser(deps);
            let out = block_on(condenser(after.clone()));
            return self.seen_from_outside(&out);
        }
        let opts = CondenseOpts { force: self.force, ..CondenseOpts::default() };
        let report = block_on(compact_in_place(&mut after, &Compactor::from(deps), &opts));
        assert_eq!(report.tokens_after, estimate_tokens(&after));
        Outcome::new(&report, &after)
    }

    /// The outcome of a condenser, from its output alone.
    fn seen_from_outside(&self, out: &[Message]) -> Outcome {
        let unchanged = out == self.messages;
        let cut = if unchanged { 0 } else { self.messages.len() + 1 - out.len() };
        let by_model = !unchanged && self.reply.is_some_and(|reply| user_text(&out[0]).ends_with(reply));
        Outcome { cut, restored: Vec::new(), cleared: Vec::new(), by_model }
    }
}

type Rule = (&'static str, fn(&Case<'_>, &Published) -> bool);

/// The weight of our shortest digest, rounded up: a header, a heading and a count.
const LEAST_DIGEST_TOKENS: u64 = 40;

fn least_gain_is_missing(case: &Case<'_>, published: &Published) -> bool {
    published.cut > 0 && estimate_tokens(&case.messages[..published.cut]) <= LEAST_DIGEST_TOKENS
}

const CUT_RULES: [Rule; 9] = [
    ("5 a window of 0 is an unknown one (WC6)", |case, _| {
        case.card.as_ref().is_some_and(|card| card.context_window == 0)
    }),
    (
        "4.2 the published cut separates a pair, drops a call in flight or starts with a result",
        |case, published| published.cut > 0 && !Pairing::new(case.messages).is_legal(published.cut),
    ),
    ("4.2 where snapping forward keeps nothing, the cut snaps backward (WB1)", |case, published| {
        !case.force && published.cut == 0 && estimate_tokens(&published.cleared) > case.policy.keep_recent
    }),
    ("4.3 a fold of so little would not be lighter", least_gain_is_missing),
    ("4.3 a digest of little is not worth what it leaves out", |case, published| {
        let head = estimate_tokens(&case.messages[..published.cut]);
        published.cut > 0 && head < 2_000
    }),
    ("4.4 digests, restored files and results are no prompts (WB6)", |case, published| {
        case.force && !case.messages.get(published.cut).is_some_and(is_prompt)
    }),
    ("4.4 a head of digests and restored files alone says nothing new", |case, published| {
        published.cut > 0 && case.messages[..published.cut].iter().all(is_synthetic)
    }),
    ("4.8 what stays is weighed as ours clears it", |case, published| {
        case.passes && !CLEARED_RULES.iter().all(|(_, holds)| !holds(case, published))
    }),
    ("5 the tail is at most half of the limit", |case, _| {
        let card = case.card.as_ref().filter(|card| card.context_window > 0);
        card.is_some_and(|card| {
            let budget = Budget::resolve(Some(card), &case.policy, 0).unwrap();
            budget.split(0).tail < case.policy.keep_recent
        })
    }),
];

const RESTORED_RULES: [Rule; 8] = [
    ("4.2 results are matched by id and position (WA9)", |case, _| {
        let pairing = Pairing::new(case.messages);
        case.has_repeated_ids()
            || !pairing.orphans().is_empty()
            || pairing.pairs().iter().any(|pair| pair.repeated)
    }),
    ("4.3 what replaces a head is at most half of it", |case, published| {
        let (head, kept) = case.messages.split_at(published.cut);
        let restored = rehydrate_recent_reads(head, kept, &RehydrateOpts::default());
        let n_restored = restored.len().max(1);
        estimate_tokens(&restored) + LEAST_DIGEST_TOKENS >= estimate_tokens(head) / 2
            || n_restored + 1 >= head.len()
    }),
    ("4.7 never a cleared body (WA8)", |case, published| {
        let text = |message: &Message| {
            message.blocks().iter().any(|b| b.as_text().is_some_and(|t| t.trim() == CLEARED_TOOL_RESULT))
        };
        published.cleared[..published.cut].iter().any(text) || case.messages.iter().any(text)
    }),
    ("4.7 never a body older than an edit, nor one whose edit got no answer (WA11)", |case, _| {
        let paths = |names: &[&str]| -> BTreeSet<String> {
            let calls = case.calls().filter(|(_, name, _)| names.contains(name));
            calls.filter_map(|(_, _, input)| path_of(input)).collect()
        };
        !paths(&["read", "Read"]).is_disjoint(&paths(&["edit", "write"]))
    }),
    ("4.7 never a partial read over a full one (WA11)", |case, _| {
        let is_partial = |input: &Value| input.get("offset").is_some() || input.get("limit").is_some();
        let mut reads: BTreeMap<String, BTreeSet<bool>> = BTreeMap::new();
        for (_, _, input) in case.calls().filter(|(_, name, _)| matches!(*name, "read" | "Read")) {
            reads.entry(path_of(input).unwrap_or_default()).or_default().insert(is_partial(input));
        }
        reads.values().any(|kinds| kinds.len() == 2)
    }),
    (
        "4.7 a path is held back only where its body is visible (WA12), restored files are remembered",
        |case, published| {
            let (head, kept) = case.messages.split_at(published.cut);
            let paths = |messages: &[Message]| -> BTreeSet<String> {
                messages.iter().flat_map(Message::calls).filter_map(|(_, _, input)| path_of(input)).collect()
            };
            !paths(head).is_disjoint(&paths(kept)) || case.messages.iter().any(|m| restored_file(m).is_some())
        },
    ),
    ("4.7 a path has one spelling and one line, a blank body is none, other names read too", |case, _| {
        let odd = |input: &Value| {
            let path = input.get("path").or_else(|| input.get("file_path")).and_then(Value::as_str);
            path.is_some_and(|path| {
                normal_path(path) != path || path.trim().is_empty() || path.contains('\n')
            })
        };
        let blank = |message: &Message| {
            matches!(message, Message::ToolResult { .. })
                && message.blocks().iter().filter_map(Block::as_text).all(|text| text.trim().is_empty())
        };
        case.calls().any(|(_, name, input)| odd(input) || name == "Read") || case.messages.iter().any(blank)
    }),
    (
        "4.7 the freshest file is clipped to its cap, and smaller ones get room (WB3, WB9)",
        |case, published| {
            let files =
                rehydrate_recent_reads(&case.messages[..published.cut], &[], &RehydrateOpts::default());
            estimate_tokens(&files) > 6_000
        },
    ),
];

const CLEARED_RULES: [Rule; 4] = [
    ("4.2 results are matched by id and position (WA9)", RESTORED_RULES[0].1),
    ("4.8 more tools than the seed's ten can be run again", |case, _| {
        let seed = compactable_tool_names();
        case.calls().any(|(_, name, _)| ToolVocabulary::UNIVERSAL.is_compactable(name) != seed.contains(name))
    }),
    ("4.8 short, empty and cleared bodies are not cleared, the last two use up no place", |case, _| {
        let little = |message: &Message| {
            let chars: usize = message.blocks().iter().filter_map(Block::as_text).map(str::len).sum();
            matches!(message, Message::ToolResult { .. }) && chars <= CLEARED_TOOL_RESULT.len() + 12
        };
        case.messages.iter().any(little)
    }),
    ("4.8 what clearing saves is kept where nothing is folded (WB5)", |case, published| {
        published.cut == 0 && published.cleared != case.messages
    }),
];

const DIGEST_RULES: [Rule; 1] = [("4.5 a reply without headings is no digest", |case, _| {
    case.reply.is_some_and(|reply| !reply.contains("# Objective"))
})];

fn path_of(input: &Value) -> Option<String> {
    let path = input.get("path").or_else(|| input.get("file_path"))?.as_str()?;
    Some(normal_path(path).into_owned())
}

#[derive(Debug, Default)]
struct Tally {
    n_equal: usize,
    n_differing: usize,
    by_reason: BTreeMap<&'static str, usize>,
}

impl Tally {
    fn take(&mut self, row: &Value, case: &Case<'_>, out: &Value) {
        let outcome = case.run();
        let differences = outcome.differences(out);
        if differences.is_empty() {
            self.n_equal += 1;
            return;
        }
        self.n_differing += 1;
        for aspect in differences {
            let reasons = case.reasons(aspect);
            assert!(!reasons.is_empty(), "{} {aspect:?}: ours {outcome:#?}\nrecorded {out:#}", row["id"]);
            for reason in reasons {
                *self.by_reason.entry(reason).or_default() += 1;
            }
        }
    }
}

fn policy_of(value: &Value) -> BudgetPolicy {
    match value["trigger_ratio"].as_f64() {
        None => AUTO_CONDENSE_POLICY,
        Some(trigger_ratio) => BudgetPolicy {
            trigger_ratio,
            keep_recent: value["keep_recent"].as_u64().unwrap(),
            reserve_tokens: value["reserve_tokens"].as_u64(),
        },
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "the counts of equal and differing rows are part of the answer")]
fn every_recorded_run_is_equal_or_differs_for_a_named_reason() {
    let mut tally = Tally::default();
    for row in vectors::rows("window-budget.jsonl", "session") {
        let messages = vectors::messages(&row["messages"]);
        for run in row["condense_transcript"].as_array().unwrap() {
            let keep_recent = run["keep_recent"].as_u64().unwrap();
            let case = Case {
                messages: &messages,
                force: run["force"].as_bool().unwrap(),
                policy: BudgetPolicy { keep_recent, ..AUTO_CONDENSE_POLICY },
                card: None,
                reply: run["reply"].as_str(),
                passes: true,
            };
            tally.take(&row, &case, &run["out"]);
        }
    }
    println!("condense_transcript: {tally:#?}");
    assert!(tally.n_equal >= 500, "{tally:#?}");
}

#[test]
#[expect(clippy::print_stdout, reason = "the counts of equal and differing rows are part of the answer")]
fn recorded_condensers_are_equal_or_differ_for_a_named_reason() {
    let mut tally = Tally::default();
    for row in vectors::rows("window-budget.jsonl", "session") {
        let messages = vectors::messages(&row["messages"]);
        for run in row["condenser"].as_array().unwrap() {
            let window = run["card"]["context_window"].as_u64();
            let case = Case {
                messages: &messages,
                force: false,
                policy: policy_of(&run["policy"]),
                card: window.map(ModelCard::with_window),
                reply: run["out"]["digest"].as_str().filter(|digest| *digest != "fallback"),
                passes: false,
            };
            tally.take(&row, &case, &run["out"]);
        }
    }
    println!("condenser: {tally:#?}");
    assert!(tally.n_equal >= 320, "{tally:#?}");
}

/// Item 4.1: a tool turn is results, not the user's words. Other turns are as recorded.
#[test]
fn recorded_turns_project_as_recorded_except_tool_turns() {
    let rows = vectors::rows("window-budget.jsonl", "bridge");
    for row in &rows {
        let turns = vectors::turns(&row["turns"]);
        for (turn, kind) in turns.iter().zip(row["kinds"].as_array().unwrap()) {
            let messages = turn_to_messages(turn.clone());
            let is_tool = matches!(turn, Turn::Tool { .. });
            let all_results = messages.iter().all(|message| matches!(message, Message::ToolResult { .. }));
            assert_eq!(is_tool, all_results, "{turn:?}");
            let roles: Vec<_> = messages
                .iter()
                .map(|message| serde_json::to_value(message).unwrap()["role"].clone())
                .collect();
            assert!(is_tool || roles == [kind.clone()], "{roles:?} {kind}");
        }
        let projection = project(turns.clone());
        assert_eq!(projection.into_turns(), turns, "nothing is lost");
    }
    assert_eq!(rows.len(), 10);
}
