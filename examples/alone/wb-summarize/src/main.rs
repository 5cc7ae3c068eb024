use wb_summarize::{CondenseScope, DigestRequest, Message, ModelCard, local_fallback_digest};

fn main() {
    let head = [Message::user("Port the importer, but never change its API."), Message::assistant("Ported.")];
    let digest = local_fallback_digest(&head, None);
    assert!(digest.contains("# Guardrails\n- Port the importer, but never change its API."));
    let card = ModelCard::with_window(200_000);
    let request = DigestRequest::new(&head, CondenseScope::Session, None, Some(&card), 500);
    assert!(request.parts[0].contains("Port the importer"));
}
