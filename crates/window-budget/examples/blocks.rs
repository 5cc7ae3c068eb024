//! Blocks over a session: two compactions by a model, what each covers, and an undo.

use std::error::Error;
use std::future::ready;

use window_budget::budget::WeighedTranscript;
use window_budget::conductor::{Compactor, CondenseOpts};
use window_budget::invoke::from_fn;
use window_budget::record::{Blocks, Explanation, History, MemoryParts, OperationKind, Stamp, items};
use window_budget::summarize::Summarizer;
use window_budget::{Message, ModelCard, formats};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let said = (0..40).map(|n| Message::assistant(format!("Step {n}: {}", "port the importer ".repeat(60))));
    let mut file = Vec::new();
    formats::write_jsonl(&said.collect::<Vec<_>>(), &mut file)?;
    let mut session = formats::open(Box::new(MemoryParts::from_bytes(file)))?;
    let mut history = History::open(Box::new(MemoryParts::default()))?;
    let opts = CondenseOpts::default();
    for window in [12_000, 5_000] {
        let digest = format!("# Objective\nPort the importer.\n# Status\nFits {window} tokens.");
        let model = Summarizer::new(from_fn(move |_| ready(Ok::<_, String>(digest.clone()))));
        let before = session.view("")?;
        let compactor = Compactor::new().card(ModelCard::with_window(window));
        let transcript = WeighedTranscript::new(&before.messages, compactor.token_counter());
        let plan = compactor.plan(transcript, &opts).map_err(|report| report.to_string())?;
        let compacted = plan.ask(Some(&model), None).await;
        let stamp = Stamp { seed: window, ..Stamp::default() };
        let changes =
            session.render("", &before, &items(compacted.patch(), before.messages.len()), &stamp)?;
        history.change(OperationKind::Compact, session.as_mut(), "", &before, &changes, &stamp)?;
    }
    let (view, blocks) = (session.view("")?, Blocks::new(&history));
    let ids: Vec<_> = blocks.iter().map(|block| (block.operation.id, block.parents.clone())).collect();
    assert_eq!(ids, [(1, vec![]), (2, vec![1])], "the second builds on the first");
    let objective = blocks.sections(&view, 2).into_iter().find(|it| it.heading == "Objective");
    assert!(objective.is_some_and(|it| it.text.contains("Port the importer.")));
    let first = blocks.get(1).ok_or("no block")?.covers[0];
    let hidden = blocks.explain(session.parts(), &view, first)?;
    assert_eq!(hidden, Explanation::Hidden { by: vec![1, 2] });
    history.undo(session.as_mut(), None, &Stamp::default())?;
    assert!(session.view("")?.messages.len() > view.messages.len());
    Ok(())
}

#[test]
fn each_assertion_holds() {
    main().unwrap();
}
