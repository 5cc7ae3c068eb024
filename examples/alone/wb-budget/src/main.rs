use wb_budget::{AUTO_CONDENSE_POLICY, Message, ModelCard, is_over_budget, plan_slice};

fn main() {
    let messages: Vec<Message> =
        (0..20).map(|n| Message::user(format!("{n} {}", "x".repeat(2_000)))).collect();
    let card = ModelCard::with_window(12_000);
    assert!(is_over_budget(&messages, &card, &AUTO_CONDENSE_POLICY));
    let plan = plan_slice(&messages, &AUTO_CONDENSE_POLICY);
    assert_eq!(plan.dropped.len() + plan.kept.len(), messages.len());
    assert!(plan.cut > 0);
}
