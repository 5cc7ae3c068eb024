use wb_facts::{Facts, Message, ToolVocabulary, audit};

fn main() {
    let request = Message::user("Port src/cart.rs, but never touch its API.");
    let session = [request, Message::assistant("Now I read it.")];
    let facts = Facts::default().with_messages(&session, &ToolVocabulary::default());
    assert_eq!(facts.constraints().count(), 1);
    assert!(!audit("# Status\n- Ported src/basket.rs.", &facts).is_empty());
}
