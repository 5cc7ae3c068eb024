use wb_conductor::{Compactor, CondenseOpts, Message, ModelCard, compact_locally};

fn main() {
    let step =
        |n: usize| [Message::user(format!("Step {n}: {}", "x".repeat(900))), Message::assistant("Done.")];
    let mut messages: Vec<Message> = (0..40).flat_map(step).collect();
    let compactor = Compactor::new().card(ModelCard::with_window(12_000));
    let report = compact_locally(&mut messages, &compactor, &CondenseOpts::default());
    assert!(report.is_changed());
    assert!(Some(report.tokens_after) <= report.target_tokens);
}
