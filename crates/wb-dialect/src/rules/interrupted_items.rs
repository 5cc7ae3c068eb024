//! Items of the Responses API that answer a call which was interrupted.

use serde_json::{Value, json};
use wb_message::markers::INTERRUPTED;

/// A picture of one pixel, in place of a screenshot.
const NO_SCREENSHOT: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNg\
    AAAAAgABSK+kcQAAAABJRU5ErkJggg==";

/// Builds the item that answers a call: each kind of call has outputs of its own shape.
pub(super) fn interrupted_item(call: &Value) -> Value {
    let (kind, id) = (call["type"].as_str().unwrap_or("function_call"), &call["call_id"]);
    match kind {
        "shell_call" => {
            let outcome = json!({ "type": "exit", "exit_code": 1 });
            let output = json!([{ "stdout": "", "stderr": INTERRUPTED, "outcome": outcome }]);
            json!({ "type": "shell_call_output", "call_id": id, "output": output })
        }
        "apply_patch_call" => json!({
            "type": "apply_patch_call_output", "call_id": id, "status": "failed", "output": INTERRUPTED,
        }),
        "computer_call" => {
            let screenshot = json!({ "type": "computer_screenshot", "image_url": NO_SCREENSHOT });
            json!({ "type": "computer_call_output", "call_id": id, "output": screenshot })
        }
        "tool_search_call" => json!({
            "type": "tool_search_output", "call_id": id, "execution": "client", "status": "completed", "tools": [],
        }),
        _ => json!({ "type": format!("{kind}_output"), "call_id": id, "output": INTERRUPTED }),
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::picture_header::sides;

    #[test]
    fn the_empty_screenshot_is_a_whole_picture() {
        let (_, data) = NO_SCREENSHOT.split_once(',').unwrap();
        assert_eq!(sides(data), Some((1, 1)));
        assert!(STANDARD.decode(data).unwrap().ends_with(b"IEND\xaeB`\x82"));
    }
}
