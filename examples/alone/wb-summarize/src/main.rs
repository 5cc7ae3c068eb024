use wb_summarize::{CondenseScope, Conversation, DigestRequest, Message, ModelCard, local_fallback_digest};

fn head() -> [Message; 2] {
    [Message::user("Port the importer, but never change its API."), Message::assistant("Ported.")]
}

fn prompt() -> Conversation {
    let card = ModelCard::with_window(200_000);
    DigestRequest::new(&head(), CondenseScope::Session, None, Some(&card), 500).prompt(None)
}

fn main() {
    let digest = local_fallback_digest(&head(), None);
    assert!(digest.contains("# Guardrails\n- Port the importer, but never change its API."));
    assert!(prompt().system.is_some_and(|brief| !brief.is_empty()));
}

#[test]
fn the_prompt_is_pinned() {
    let [turn] = &prompt().turns[..] else { panic!("one turn") };
    insta::assert_snapshot!(turn.blocks()[0].as_text().unwrap_or_default());
}
