//! A loop over genai whose request is kept within the model's window.

use genai::chat::{ChatMessage, ChatRequest};
use wb_conductor::{Compactor, CondenseOpts, ModelCard};
use wb_interop::compact;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), wb_interop::InteropError> {
    let mut request = ChatRequest::from_system("Be brief.");
    let compactor = Compactor::new().card(ModelCard::with_window(12_000));
    for n in 0..60 {
        request = request.append_message(ChatMessage::user(format!("Step {n}: {}", "x".repeat(900))));
        let report = compact(&mut request, &compactor, &CondenseOpts::default()).await?;
        if report.is_changed() {
            println!("{report}");
        }
        // let response = client.exec_chat("gpt-5.4", request.clone(), None).await?;
        request = request.append_message(ChatMessage::assistant("Done."));
    }
    assert!(request.messages.len() < 60);
    Ok(())
}
