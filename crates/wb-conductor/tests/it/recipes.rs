//! The recipes of the documentation: every line of their code is compiled and run here.

#![expect(clippy::print_stdout, reason = "the recipes show what to print")]

use std::error::Error;
use std::sync::Arc;

use futures::executor::block_on;
use serde_json::json;
use wb_budget::{FittedCounter, ModelCard, TokenCounter, Usage, WeighedTranscript, estimate_tokens};
use wb_conductor::{
    AgentContext, Compactor, CondenseOpts, Pipeline, Step, compact_in_place, compact_locally,
};
use wb_invoke::scripted::{Script, ScriptedInvoker};
use wb_message::{Block, Conversation, Edit, Message, Pairing, Patch};
use wb_passes::{Goal, Pass, Repair};
use wb_summarize::{CompactionConfig, Summarizer};
use wb_testkit::{pass_laws, script};

use crate::support::good_reply;

const RECIPES: [&str; 5] = [
    include_str!("../../../../docs/recipes/add-a-pass-from-another-crate.md"),
    include_str!("../../../../docs/recipes/choose-a-strategy.md"),
    include_str!("../../../../docs/recipes/compact-in-a-message-loop.md"),
    include_str!("../../../../docs/recipes/run-a-compaction-in-the-background.md"),
    include_str!("../../../../docs/recipes/use-your-own-tokenizer.md"),
];

/// Visits the lines of code in the recipes, without imports.
fn code_block() -> impl Iterator<Item = &'static str> {
    let blocks = RECIPES.iter().flat_map(|recipe| recipe.split("```rust\n").skip(1));
    let code = blocks.filter_map(|block| block.split("```").next());
    let lines = code.flat_map(str::lines).map(|line| line.split(" //").next().unwrap_or_default().trim());
    lines.filter(|line| !line.is_empty() && !line.starts_with("use ") && !line.starts_with("//"))
}

#[test]
fn every_line_of_the_recipes_is_compiled() {
    let squeezed = |text: &str| text.split_whitespace().collect::<String>();
    let own = squeezed(include_str!("recipes.rs"))
        + &squeezed(include_str!("../../../wb-tokens/tests/it/recipe.rs"));
    let missing: Vec<_> = code_block().filter(|line| !own.contains(&squeezed(line))).collect();
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(code_block().count() > 40);
}

fn long_session() -> Vec<Message> {
    let turn =
        |n: usize| [Message::user(format!("step {n} {}", "x".repeat(3_000))), Message::assistant("done")];
    (0..40).flat_map(turn).collect()
}

#[test]
fn presets_and_a_custom_order() -> Result<(), Box<dyn Error>> {
    let mut messages = long_session();
    let compactor = Compactor::new().card(ModelCard::with_window(12_000));
    let pipeline = Pipeline::preset("three-level").ok_or("there is no such preset")?;
    let report = compact_locally(&mut messages, &compactor.pipeline(pipeline), &CondenseOpts::default());
    println!("{report}");
    report.undo.ok_or("it is over")?.revert(&mut messages);
    assert_eq!(messages, long_session());

    let steps = json!([{"step": "tool-output", "max_lines": 20}, "digest", "truncate", "repair"]);
    let compactor = Compactor::new().card(ModelCard::with_window(12_000));
    let compactor = compactor.pipeline(Pipeline::from_settings(&steps)?);
    let mut request = messages.clone();
    let report = compact_locally(&mut request, &compactor, &CondenseOpts::default());
    assert!(report.tokens_after <= report.target_tokens.ok_or("it has a window")?, "{report}");
    assert_eq!(messages, long_session());
    Ok(())
}

#[test]
fn a_message_loop() {
    let conversation = Conversation { system: Some("Port it.".repeat(90)), ..Conversation::default() };
    let ask_your_model =
        |_: &Conversation, _: &[Message]| (Message::assistant("y".repeat(90_000)), Usage::EMPTY);
    let (mut messages, mut n_turns) = (Vec::new(), 0);
    let mut context = AgentContext::new(ModelCard::with_window(200_000)).overhead_of(&conversation);
    loop {
        messages.push(Message::user("Go on."));
        for report in context.before_request(&mut messages) {
            println!("{report}");
        }
        let (answer, usage) = ask_your_model(&conversation, &messages);
        messages.push(answer);
        context.after_response(&messages, &usage);
        n_turns += 1;
        if n_turns == 20 {
            break;
        }
    }
    assert!(messages.len() < 40 && estimate_tokens(&messages) < 200_000);
    context.observe(&messages[..1]);
}

#[test]
fn the_repair_of_a_transcript_whose_process_was_killed() {
    let mut messages = script("u a:read(src/a.rs)");
    let repaired = Repair { in_flight: true, ..Repair::default() }.repair(&mut messages);
    println!("{} calls answered, {} stray results dropped", repaired.answered, repaired.dropped);
    assert_eq!(repaired.answered, 1);
    assert!(Pairing::new(&messages).dangling().is_empty());
}

#[tokio::test]
async fn a_digest_in_the_background() {
    let your_model = Arc::new(ScriptedInvoker::new([Script::says(good_reply("port it"))]));
    let mut messages = long_session();
    messages.extend((0..120).flat_map(|_| long_session()));
    let compactor = Compactor::new().card(ModelCard::with_window(200_000)).summarizer(your_model);
    let mut context = AgentContext::from_compactor(compactor).start_above(Some(100_000));
    for report in context.before_request(&mut messages) {
        println!("{report}");
    }
    assert!(context.tracker().total_tokens() < 200_000);
}

#[test]
fn a_custom_tokenizer() {
    struct Words(char);
    impl Words {
        fn count(&self, text: &str) -> usize {
            text.split(self.0).count()
        }
    }
    let counter = FittedCounter::from_model_id("claude-sonnet-4-5");
    assert!(counter.is_some_and(|counter| counter.text("one two three") > 0));
    let (tokenizer, conversation) = (Words(' '), Conversation::default());
    let counter: Arc<dyn TokenCounter> = Arc::new(move |text: &str| tokenizer.count(text) as u64);
    let compactor = Compactor::new().card(ModelCard::with_window(200_000)).counter(counter);
    let mut context = AgentContext::from_compactor(compactor).overhead_of(&conversation);
    assert_eq!(
        context.estimate(&[Message::user("one two three")]).context_tokens,
        3 + 4 + 2,
        "words, frame, block"
    );
}

#[derive(Debug)]
struct NoThinking;

impl Pass for NoThinking {
    fn name(&self) -> &'static str {
        "no-thinking"
    }

    fn plan(&self, view: &WeighedTranscript<'_>, _: Goal<'_>) -> Option<Patch> {
        let last = view.messages.iter().rposition(|message| matches!(message, Message::Assistant { .. }))?;
        let thinks = |block: &Block| matches!(block, Block::Thinking { .. });
        let edits = (0..last).filter_map(|at| {
            let (thought, said): (Vec<_>, Vec<_>) =
                view.messages[at].blocks().iter().cloned().partition(thinks);
            (!thought.is_empty() && !said.is_empty()).then_some(Edit::Body { at, content: said })
        });
        Some(Patch::new(edits.collect())).filter(|patch| !patch.is_empty())
    }
}

#[test]
fn a_pass_from_another_crate() {
    let turn = |n: usize| {
        let thought = Block::Thinking { text: "hm ".repeat(900), signature: None };
        [
            Message::user(format!("step {n}")),
            Message::assistant_blocks(vec![thought, Block::text("It is so.")]),
        ]
    };
    let messages: Vec<Message> = (0..400).flat_map(turn).collect();
    pass_laws::all(&NoThinking, &messages, 0);
    let mut pipeline = Pipeline::default();
    pipeline.steps.insert(0, Step::pass(NoThinking));
    let compactor = Compactor::new().card(ModelCard::with_window(200_000)).pipeline(pipeline);
    let mut shorter = messages.clone();
    let report = compact_locally(&mut shorter, &compactor, &CondenseOpts::default());
    assert_eq!(report.step_names(), ["no-thinking"], "{report}");
    assert_eq!(shorter.len(), messages.len());
}

#[test]
fn custom_prompts() -> Result<(), Box<dyn Error>> {
    let your_model = Arc::new(ScriptedInvoker::new([Script::says("Forty steps were done.")]));
    let config = CompactionConfig {
        summarizer_user_prompt: "So far:\n{previous_summary}\n\nNew:\n{messages}".to_owned(),
        ..CompactionConfig::default()
    };
    let summarizer = Summarizer::new(your_model).configured(&config)?;
    let compactor = Compactor::new().card(ModelCard::with_window(12_000)).summarizer(summarizer);
    let mut messages = long_session();
    let report = block_on(compact_in_place(&mut messages, &compactor, &CondenseOpts::default()));
    assert!(format!("{messages:?}").contains("Forty steps were done."), "{report}");
    Ok(())
}
