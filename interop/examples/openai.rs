//! A loop over async-openai whose request is kept within the model's window.

use async_openai::types::chat::{
    ChatCompletionRequestAssistantMessage, ChatCompletionRequestUserMessage, CreateChatCompletionRequest,
};
use wb_conductor::{Compactor, CondenseOpts, ModelCard};
use wb_interop::compact;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), wb_interop::InteropError> {
    let mut request = CreateChatCompletionRequest { model: "gpt-5.4".into(), ..Default::default() };
    let compactor = Compactor::new().card(ModelCard::with_window(12_000));
    for n in 0..60 {
        let text = format!("Step {n}: {}", "x".repeat(900));
        request.messages.push(ChatCompletionRequestUserMessage::from(text.as_str()).into());
        let report = compact(&mut request, &compactor, &CondenseOpts::default()).await?;
        if report.is_changed() {
            println!("{report}");
        }
        // let response = client.chat().create(request.clone()).await?;
        request.messages.push(ChatCompletionRequestAssistantMessage::from("Done.").into());
    }
    assert!(request.messages.len() < 60);
    Ok(())
}
