//! A conductor that speaks in turns and binds a [`CondenseFn`]: it condenses at a gate and when the
//! user asks, and rebinds only a result with strictly fewer turns.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use std::sync::Arc;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use wb_budget::{AUTO_CONDENSE_POLICY, ModelCard, budget_limit, estimate_tokens};
use wb_conductor::{
    CondenseFn, CondenseOpts, CondenserDeps, IdentityCondense, WindowBudgetCondense, project,
};
use wb_invoke::scripted::{Script, ScriptedInvoker};
use wb_message::{Block, Turn};

const WINDOW: u64 = 12_000;

/// An agent's session. Until an engine is bound it never condenses.
struct Conductor {
    turns: Vec<Turn>,
    engine: Arc<dyn CondenseFn>,
    n_condensed: usize,
}

impl Conductor {
    fn new(engine: impl CondenseFn + 'static) -> Self {
        Self { turns: Vec::new(), engine: Arc::new(engine), n_condensed: 0 }
    }

    fn tokens(&self) -> u64 {
        estimate_tokens(&project(self.turns.clone()).messages)
    }

    fn is_over(&self) -> bool {
        self.tokens() as f64 > budget_limit(&ModelCard::with_window(WINDOW), &AUTO_CONDENSE_POLICY)
    }

    /// Condenses before a request if the turns are over the limit.
    async fn gate(&mut self) {
        if self.is_over() {
            self.condense(CondenseOpts { context_tokens: self.tokens(), ..CondenseOpts::default() }).await;
        }
    }

    /// Condenses, and takes the result only if it is shorter.
    async fn condense(&mut self, opts: CondenseOpts) -> bool {
        let after = self.engine.condense(self.turns.clone(), opts).await;
        let is_shorter = after.len() < self.turns.len();
        if is_shorter {
            self.turns = after;
            self.n_condensed += 1;
        } else {
            assert!(after == self.turns, "a result that is not shorter is the input");
        }
        is_shorter
    }

    /// Adds one round of the agent: a call, its result and a remark, and at times a request.
    fn round(&mut self, n: usize) {
        if n.is_multiple_of(10) {
            self.turns.push(Turn::user(format!("Review part {n}.")));
        }
        let (id, path) = (format!("call_{n}"), format!("src/part_{}.rs", n % 12));
        let read = Block::call(&id, "read", json!({"path": path}));
        let output = json!(format!("// {path}, round {n}\n").repeat(20 + n % 7 * 30));
        let result = Block::ToolResult { call_id: id, output, is_error: None };
        self.turns.push(Turn::Assistant { blocks: vec![read] });
        self.turns.push(Turn::Tool { blocks: vec![result] });
        self.turns.push(Turn::Assistant { blocks: vec![Block::text(format!("Part {n} is fine."))] });
    }
}

/// Binds the engine with a model that replays one reply.
fn engine(reply: Script) -> WindowBudgetCondense {
    WindowBudgetCondense::new(CondenserDeps {
        invoke: Some(Arc::new(ScriptedInvoker::new([reply]))),
        card: Some(ModelCard::with_window(WINDOW)),
        policy: None,
    })
}

fn reply() -> Script {
    Script::says("# Objective\n- Review each part.\n\n# Next Steps\n- Review the next part.")
}

async fn run(engine: impl CondenseFn + 'static, n_rounds: usize) -> Conductor {
    let mut conductor = Conductor::new(engine);
    for n in 0..n_rounds {
        conductor.round(n);
        conductor.gate().await;
    }
    conductor
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let unbound = run(IdentityCondense, 120).await;
    assert_eq!((unbound.n_condensed, unbound.turns.len()), (0, 120 * 3 + 12));

    for (name, script) in [("a model", reply()), ("a model that fails", Script::fails("overloaded"))] {
        let mut conductor = Conductor::new(engine(script));
        for n in 0..120 {
            conductor.round(n);
            conductor.gate().await;
            assert!(!conductor.is_over(), "round {n} with {name}: {} tokens", conductor.tokens());
        }
        println!("{name}: condensed {} times, {} tokens", conductor.n_condensed, conductor.tokens());
        assert!(conductor.n_condensed > 3);
    }

    // The user asks: all before the last request becomes one digest, and the second time none does.
    let mut asked = run(engine(reply()), 15).await;
    asked.turns.push(Turn::user("Is the review done?"));
    let force = CondenseOpts { force: true, ..CondenseOpts::default() };
    assert!(asked.condense(force.clone()).await);
    assert!(!asked.condense(force.clone()).await);

    // The user cancels while the model is writing: the turns stay.
    let mut cancelled = run(engine(Script::Hang), 4).await;
    cancelled.round(10);
    let cancel = CancellationToken::new();
    let opts = CondenseOpts { cancel: Some(cancel.clone()), ..force };
    let stop = async {
        tokio::task::yield_now().await;
        cancel.cancel();
    };
    let (is_shorter, ()) = tokio::join!(cancelled.condense(opts), stop);
    assert!(!is_shorter);
}

#[test]
fn each_assertion_holds() {
    main();
}
