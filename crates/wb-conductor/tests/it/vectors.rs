//! The recorded answers of the published pipeline.
//!
//! A row is equal where ours decides the same: the cut, the restored texts and the cleared results. Where it
//! differs, a predicate over the row's input, named after its item of the design, must say so.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::executor::block_on;
use serde_json::Value;
use wb_budget::{AUTO_CONDENSE_POLICY, BudgetPolicy, ModelCard, estimate_tokens, plan_slice};
use wb_conductor::{CondenseOpts, CondenseReport, CondenseSettings, condense_in_place};
use wb_message::marks::{digest_body, is_prompt};
use wb_message::{Message, Pairing};
use wb_passes::{RehydrateOpts, clear_stale_tool_results, rehydrate_recent_reads};
use wb_summarize::scripted::{Script, ScriptedInvoker};
use wb_testkit::vectors;

/// What a row records of an outcome, and what ours did.
#[derive(Debug, PartialEq, Clone)]
struct Outcome {
    cut: usize,
    restored: Vec<String>,
    cleared: Vec<usize>,
    by_model: bool,
}

fn main_text(message: &Message) -> String {
    match message {
        Message::User { content, .. } => content.texts().collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

fn ours(report: &CondenseReport, after: &[Message]) -> Outcome {
    let restored = after.iter().skip(1).take(report.restored.len()).map(main_text).collect();
    Outcome {
        cut: report.cut,
        restored,
        cleared: report.cleared.clone(),
        by_model: report.digest == Some(wb_conductor::DigestSource::Model),
    }
}

fn indices(list: &Value) -> Vec<usize> {
    list.as_array()
        .map_or(vec![], |list| list.iter().map(|n| usize::try_from(n.as_u64().unwrap()).unwrap()).collect())
}

/// The recorded outcome; long texts of restored files stay as their hashes.
fn recorded(out: &Value) -> (usize, Vec<Value>, Vec<usize>, bool) {
    let cut = out["kept_from"].as_u64().unwrap_or(0);
    let restored = out["restored"].as_array().cloned().unwrap_or_default();
    let by_model = out["digest"].as_str().is_some_and(|digest| digest != "fallback");
    (usize::try_from(cut).unwrap(), restored, indices(&out["cleared_in_kept"]), by_model)
}

fn is_equal(ours: &Outcome, out: &Value) -> bool {
    let (cut, restored, cleared, by_model) = recorded(out);
    let same_files = ours.restored.len() == restored.len()
        && ours.restored.iter().zip(&restored).all(|(text, row)| vectors::is_recorded(text, row));
    ours.cut == cut && same_files && ours.cleared == cleared && ours.by_model == by_model
}

/// One pipeline run of a row.
struct Case<'a> {
    messages: &'a [Message],
    force: bool,
    policy: BudgetPolicy,
    reply: Option<&'a str>,
    passes: bool,
}

impl Case<'_> {
    /// The published decisions, recomputed from the exact functions: what was cut, on what, and what came back.
    fn published_cut(&self) -> (Vec<Message>, usize) {
        let cleared = if self.passes {
            clear_stale_tool_results(self.messages.to_vec(), 6).unwrap_or_else(|| self.messages.to_vec())
        } else {
            self.messages.to_vec()
        };
        let cut = if self.force {
            wb_budget::last_user_turn_start(&cleared).unwrap_or(0)
        } else {
            plan_slice(&cleared, &self.policy).cut
        };
        (cleared, cut)
    }

    /// Names every item of the design that speaks of this input.
    fn reasons(&self) -> BTreeSet<&'static str> {
        let (cleared, cut) = self.published_cut();
        let pairing = Pairing::of(self.messages);
        let mut reasons = BTreeSet::new();
        let head = &self.messages[..cut];
        if self.reply.is_some_and(|reply| !reply.contains("# Objective")) {
            reasons.insert("4.5 a reply without headings is no digest");
        }
        if cut > 0 && !pairing.is_legal(cut) {
            reasons.insert("4.2 the cut would separate a pair, drop a call in flight or start with a result");
        }
        if cut == 0 && !self.force && estimate_tokens(&cleared) > self.policy.keep_recent {
            reasons.insert("4.2 the cut snaps backward where snapping forward keeps nothing (WB1)");
        }
        if self.force && cut > 0 && !is_prompt(&self.messages[cut]) || self.force && cut == 0 {
            reasons
                .insert("4.4 digests, restored files and results are not user turns, free savings are kept");
        }
        if cut > 0
            && head
                .iter()
                .all(|message| digest_body(message).is_some() || main_text(message).starts_with("[Restored"))
        {
            reasons.insert("4.4 an earlier digest alone is not digested again");
        }
        if self.messages.iter().any(wb_message::marks::is_pinned) {
            reasons.insert("6 pinned messages stay");
        }
        let least_digest_tokens = 40;
        let restored = rehydrate_recent_reads(head, &cleared[cut..], &RehydrateOpts::default());
        if cut > 0 && estimate_tokens(head) / 2 <= estimate_tokens(&restored) + least_digest_tokens {
            reasons.insert("4.3 strictly lighter: what replaces the head takes at most half of it");
        }
        if self.passes {
            self.pass_reasons(&cleared, cut, &mut reasons);
        }
        reasons
    }

    fn pass_reasons(&self, cleared: &[Message], cut: usize, reasons: &mut BTreeSet<&'static str>) {
        let pairing = Pairing::of(self.messages);
        let names = |name: &str| wb_message::ToolVocabulary::UNIVERSAL.is_compactable(name);
        let seed = wb_passes::compactable_tool_names();
        let calls = || self.messages.iter().flat_map(Message::calls);
        if calls().any(|(_, name, _)| names(name) != seed.contains(name)) {
            reasons.insert("4.8 more tools than the seed's ten are known");
        }
        let ids: Vec<&str> = calls().map(|(id, _, _)| id).collect();
        if ids.iter().collect::<BTreeSet<_>>().len() < ids.len()
            || !pairing.orphans().is_empty()
            || pairing.pairs().iter().any(|pair| pair.repeated)
        {
            reasons.insert("4.2 results are told by id and position");
        }
        let short = |message: &Message| {
            matches!(message, Message::ToolResult { .. })
                && estimate_tokens(std::slice::from_ref(message)) < 25
        };
        if self.messages.iter().any(short) {
            reasons.insert("4.8 short and empty bodies are not cleared and do not count");
        }
        if !self.force && cut == 0 && cleared != self.messages {
            reasons.insert("4.8 what clearing saves is kept");
        }
        let restored = |head: &[Message], kept: &[Message]| {
            rehydrate_recent_reads(head, kept, &RehydrateOpts::default())
        };
        let (head, kept) = cleared.split_at(cut);
        let whole_head = &self.messages[..cut];
        if restored(head, kept) != restored(whole_head, kept) {
            reasons.insert("4.7 a cleared body is never restored, a real one is");
        }
        let touches = |names: &[&str]| calls().any(|(_, name, _)| names.contains(&name));
        if cut > 0 && touches(&["edit", "write"]) {
            reasons.insert("4.7 a body older than an edit is not restored");
        }
        if calls().any(|(_, name, input)| {
            name == "read" && (input.get("offset").is_some() || input.get("limit").is_some())
        }) {
            reasons.insert("4.7 a partial read does not replace a full one");
        }
        let paths: BTreeSet<&str> = calls().filter_map(|(_, _, input)| input.get("path")?.as_str()).collect();
        let plain = paths.iter().map(|path| wb_message::tools::normal_path(path)).collect::<BTreeSet<_>>();
        if plain.len() < paths.len() || paths.iter().any(|path| path.trim().is_empty() || path.contains('\n'))
        {
            reasons.insert("4.7 one file under two spellings is one file");
        }
        let reads_in = |messages: &[Message]| {
            messages.iter().flat_map(Message::calls).filter(|(_, name, _)| *name == "read").count()
        };
        if reads_in(kept) > 0 && reads_in(head) > 0 {
            reasons.insert("4.7 a path is visible only where its body is");
        }
        if whole_head.iter().any(|message| main_text(message).starts_with("[Restored file")) {
            reasons.insert("4.7 restored files are remembered");
        }
        if estimate_tokens(&restored(whole_head, &[])) > 7000 {
            reasons.insert("4.7 the freshest file is clipped to its cap, smaller ones get room");
        }
    }

    fn settings(&self, card: Option<ModelCard>) -> CondenseSettings {
        let mut settings = CondenseSettings::new().policy(self.policy);
        if let Some(card) = card {
            settings = settings.card(card);
        }
        if let Some(reply) = self.reply {
            settings = settings.invoke(Arc::new(ScriptedInvoker::new([Script::says(reply)])));
        }
        settings
    }

    fn run(&self) -> Outcome {
        let mut after = self.messages.to_vec();
        let opts = CondenseOpts { force: self.force, ..CondenseOpts::default() };
        let report = block_on(condense_in_place(&mut after, &self.settings(None), &opts));
        assert_eq!(report.tokens_after, estimate_tokens(&after));
        ours(&report, &after)
    }
}

#[derive(Debug, Default)]
struct Tally {
    n_equal: usize,
    n_differing: usize,
    by_reason: BTreeMap<&'static str, usize>,
}

#[test]
#[expect(
    clippy::print_stdout,
    reason = "the counts of equal and differing rows are part of the test's answer"
)]
fn every_recorded_run_is_equal_or_differs_for_a_named_reason() {
    let mut tally = Tally::default();
    for row in vectors::rows("window-budget.jsonl", "session") {
        let messages = vectors::messages(&row["messages"]);
        for recorded in row["condense_transcript"].as_array().unwrap() {
            let case = Case {
                messages: &messages,
                force: recorded["force"].as_bool().unwrap(),
                policy: BudgetPolicy {
                    keep_recent: recorded["keep_recent"].as_u64().unwrap(),
                    ..AUTO_CONDENSE_POLICY
                },
                reply: recorded["reply"].as_str(),
                passes: true,
            };
            let outcome = case.run();
            if is_equal(&outcome, &recorded["out"]) {
                tally.n_equal += 1;
                continue;
            }
            tally.n_differing += 1;
            let reasons = case.reasons();
            assert!(!reasons.is_empty(), "{}: ours {outcome:#?}\nrecorded {recorded:#}", row["id"]);
            for reason in reasons {
                *tally.by_reason.entry(reason).or_default() += 1;
            }
        }
    }
    println!("condense_transcript: {tally:#?}");
}
