use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use wb_invoke::{BoxStream, Conversation, Emission, ModelInvoker, StreamOptions, collect_text, from_fn};

fn main() {
    let model = from_fn(async |_: Conversation| Ok::<_, String>("four".to_owned()));
    let reply: BoxStream<'static, Emission> = model.invoke(Conversation::default(), StreamOptions::default());
    let mut text = pin!(collect_text(reply));
    let Poll::Ready(text) = text.as_mut().poll(&mut Context::from_waker(Waker::noop())) else { return };
    assert_eq!(text.as_deref(), Some("four"));
}
