//! A saved conversation of Rig that is compacted before each request.

use rig_core::completion::Message;
use rig_memory::{MemoryStore, load, save, summarized_prefix};
use wb_conductor::{Compactor, CondenseOpts, ModelCard};
use wb_interop::compact;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = MemoryStore::default();
    let compactor = Compactor::new().card(ModelCard::with_window(12_000));
    for n in 0..60 {
        let mut conversation = load(&store, "user-123")?;
        conversation.extend([Message::user(format!("Step {n}: {}", "x".repeat(900)))]);
        let report = compact(&mut conversation, &compactor, &CondenseOpts::default()).await?;
        if report.is_changed() {
            println!("{report}");
        }
        // let response = agent.chat(…).await?;
        conversation.extend([Message::assistant("Done.")]);
        save(&store, "user-123", &mut conversation)?;
    }
    let conversation = load(&store, "user-123")?;
    assert!(conversation.messages().len() < 60 && summarized_prefix(&conversation) == 1);
    Ok(())
}
