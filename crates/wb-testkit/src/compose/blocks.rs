//! One block of each type in the providers' libraries, as JSON; `$` is the id of a call.

/// A block, and whether only its provider has it.
pub type Block = (&'static str, bool);

const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAyAAAAJYCAAAAAA=";

/// Blocks of the user's side of Anthropic.
pub const ANTHROPIC_USER: &[Block] = &[
    (r#"{"type":"text","text":"Look."}"#, false),
    (r#"{"type":"text","text":""}"#, false),
    (r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"PNG"}}"#, true),
    (r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":""}}"#, true),
    (r#"{"type":"image","source":{"type":"url","url":"https://a.example/b.png"}}"#, true),
    (r#"{"type":"image","source":{"type":"file","file_id":"file_1"}}"#, true),
    (r#"{"type":"document","source":{"type":"text","media_type":"text/plain","data":"Beans."}}"#, true),
    (
        r#"{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}}"#,
        true,
    ),
    (r#"{"type":"search_result","source":"a","title":"b","content":[{"type":"text","text":"c"}]}"#, true),
    (r#"{"type":"container_upload","file_id":"file_1"}"#, true),
    (r#"{"type":"tool_result","tool_use_id":"$","content":"a.rs"}"#, true),
    (r#"{"type":"tool_result","tool_use_id":"$"}"#, true),
    (
        r#"{"type":"tool_result","tool_use_id":"$","is_error":true,"content":[{"type":"text","text":""}]}"#,
        true,
    ),
    (
        r#"{"type":"tool_result","tool_use_id":"$","content":[{"type":"tool_reference","tool_name":"ls"}]}"#,
        true,
    ),
];

/// Blocks of an answer of Anthropic.
pub const ANTHROPIC_ANSWER: &[Block] = &[
    (r#"{"type":"text","text":"Done."}"#, false),
    (
        r#"{"type":"text","text":"Sow.","citations":[{"type":"char_location","cited_text":"s","document_index":0}]}"#,
        true,
    ),
    (r#"{"type":"thinking","thinking":"Hm.","signature":"Eq8C"}"#, true),
    (r#"{"type":"thinking","thinking":"Hm."}"#, true),
    (r#"{"type":"redacted_thinking","data":"Eq8C"}"#, true),
    (r#"{"type":"tool_use","id":"$","name":"ls","input":{"path":"a"}}"#, true),
    (r#"{"type":"tool_use","id":"$","name":"ls","input":"a"}"#, true),
    (r#"{"type":"server_tool_use","id":"srvtoolu_$","name":"web_search","input":{"query":"beans"}}"#, true),
    (r#"{"type":"web_search_tool_result","tool_use_id":"srvtoolu_$","content":[]}"#, true),
    (
        r#"{"type":"web_fetch_tool_result","tool_use_id":"srvtoolu_$","content":{"type":"web_fetch_tool_result_error"}}"#,
        true,
    ),
    (
        r#"{"type":"code_execution_tool_result","tool_use_id":"srvtoolu_$","content":{"stdout":"ok","return_code":0}}"#,
        true,
    ),
    (
        r#"{"type":"bash_code_execution_tool_result","tool_use_id":"srvtoolu_$","content":{"stdout":"ok"}}"#,
        true,
    ),
    (r#"{"type":"text_editor_code_execution_tool_result","tool_use_id":"srvtoolu_$","content":{}}"#, true),
    (
        r#"{"type":"tool_search_tool_result","tool_use_id":"srvtoolu_$","content":{"tool_references":[]}}"#,
        true,
    ),
    (
        r#"{"type":"advisor_tool_result","tool_use_id":"srvtoolu_$","content":{"type":"advisor_result","text":"Mulch."}}"#,
        true,
    ),
    (r#"{"type":"mcp_tool_use","id":"mcptoolu_$","name":"ls","server_name":"s","input":{}}"#, true),
    (
        r#"{"type":"mcp_tool_result","tool_use_id":"mcptoolu_$","content":[{"type":"text","text":"ok"}]}"#,
        true,
    ),
    (r#"{"type":"compaction","content":"So far."}"#, true),
    (r#"{"type":"compaction","content":null}"#, true),
    (r#"{"type":"compaction","content":"So far.","signature":"Eq8C"}"#, true),
    (r#"{"type":"container_upload","file_id":"file_1"}"#, true),
];

/// Messages of Chat Completions.
pub const CHAT: &[Block] = &[
    (r#"{"role":"user","content":"Look."}"#, false),
    (r#"{"role":"user","content":[{"type":"text","text":"Look."}]}"#, false),
    (r#"{"role":"assistant","content":"Done."}"#, false),
    (r#"{"role":"assistant","content":""}"#, false),
    (r#"{"role":"system","content":"Garden."}"#, true),
    (r#"{"role":"developer","content":"Garden."}"#, true),
    (
        r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,PNG"}}]}"#,
        true,
    ),
    (
        r#"{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,"}}]}"#,
        true,
    ),
    (
        r#"{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}]}"#,
        true,
    ),
    (r#"{"role":"user","content":[{"type":"file","file":{"file_id":"file_1"}}]}"#, true),
    (r#"{"role":"assistant","content":[{"type":"refusal","refusal":"No."}]}"#, true),
    (r#"{"role":"assistant","content":null,"refusal":"No."}"#, true),
    (r#"{"role":"assistant","content":null,"audio":{"id":"audio_1"}}"#, true),
    (
        r#"{"role":"assistant","tool_calls":[{"id":"$","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#,
        true,
    ),
    (
        r#"{"role":"assistant","tool_calls":[{"id":"$","type":"custom","custom":{"name":"ls","input":"a"}}]}"#,
        true,
    ),
    (r#"{"role":"assistant","content":"","tool_calls":[]}"#, true),
    (r#"{"role":"assistant","content":null,"function_call":{"name":"ls","arguments":"{}"}}"#, true),
    (r#"{"role":"tool","tool_call_id":"$","content":"a.rs"}"#, true),
    (r#"{"role":"tool","tool_call_id":"$","content":[{"type":"text","text":"a.rs"}]}"#, true),
    (r#"{"role":"function","name":"ls","content":"a.rs"}"#, true),
];

/// Items of Responses.
pub const RESPONSES: &[Block] = &[
    (r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"Look."}]}"#, true),
    (r#"{"role":"user","content":"Look."}"#, false),
    (
        r#"{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,PNG"}]}"#,
        true,
    ),
    (
        r#"{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,"}]}"#,
        true,
    ),
    (r#"{"type":"message","role":"user","content":[{"type":"input_file","file_id":"file_1"}]}"#, true),
    (r#"{"type":"message","role":"developer","content":"Garden."}"#, true),
    (
        r#"{"type":"message","id":"msg_$","role":"assistant","content":[{"type":"output_text","text":"Done.","annotations":[]}]}"#,
        true,
    ),
    (r#"{"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"No."}]}"#, true),
    (r#"{"type":"reasoning","id":"rs_$","summary":[{"type":"summary_text","text":"Hm."}]}"#, true),
    (
        r#"{"type":"reasoning","summary":[],"encrypted_content":"gAAA","content":[{"type":"reasoning_text","text":"Hm."}]}"#,
        true,
    ),
    (r#"{"type":"function_call","call_id":"$","name":"ls","arguments":"{}"}"#, true),
    (r#"{"type":"function_call_output","call_id":"$","output":"a.rs"}"#, true),
    (r#"{"type":"function_call_output","call_id":"$","output":[{"type":"input_text","text":"a.rs"}]}"#, true),
    (r#"{"type":"custom_tool_call","call_id":"$","name":"ls","input":"a"}"#, true),
    (r#"{"type":"custom_tool_call_output","call_id":"$","output":"a.rs"}"#, true),
    (
        r#"{"type":"local_shell_call","call_id":"$","action":{"type":"exec","command":["ls"],"env":{}},"status":"completed"}"#,
        true,
    ),
    (r#"{"type":"local_shell_call_output","id":"$","output":"a.rs"}"#, true),
    (r#"{"type":"shell_call","call_id":"$","action":{"commands":["ls"]},"status":"completed"}"#, true),
    (
        r#"{"type":"shell_call_output","call_id":"$","output":[{"stdout":"a.rs","stderr":"","outcome":{"type":"exit","exit_code":0}}]}"#,
        true,
    ),
    (
        r#"{"type":"apply_patch_call","call_id":"$","operation":{"type":"delete_file","path":"a.rs"},"status":"completed"}"#,
        true,
    ),
    (r#"{"type":"apply_patch_call_output","call_id":"$","status":"completed","output":"ok"}"#, true),
    (r#"{"type":"computer_call","call_id":"$","action":{"type":"screenshot"},"status":"completed"}"#, true),
    (
        r#"{"type":"computer_call_output","call_id":"$","output":{"type":"computer_screenshot","image_url":"data:image/png;base64,PNG"}}"#,
        true,
    ),
    (
        r#"{"type":"web_search_call","id":"ws_$","status":"completed","action":{"type":"search","query":"beans"}}"#,
        true,
    ),
    (r#"{"type":"file_search_call","id":"fs_$","queries":["beans"],"status":"completed"}"#, true),
    (
        r#"{"type":"code_interpreter_call","id":"ci_$","code":"1","container_id":"c","status":"completed"}"#,
        true,
    ),
    (r#"{"type":"image_generation_call","id":"ig_$","result":"PNG","status":"completed"}"#, true),
    (r#"{"type":"mcp_list_tools","id":"ml_$","server_label":"s","tools":[]}"#, true),
    (r#"{"type":"mcp_approval_request","id":"ma_$","server_label":"s","name":"ls","arguments":"{}"}"#, true),
    (r#"{"type":"mcp_approval_response","approval_request_id":"ma_$","approve":true}"#, true),
    (
        r#"{"type":"mcp_call","id":"mc_$","server_label":"s","name":"ls","arguments":"{}","output":"a.rs"}"#,
        true,
    ),
    (r#"{"type":"tool_search_call","call_id":"$","arguments":{},"status":"completed"}"#, true),
    (r#"{"type":"tool_search_output","call_id":"$","tools":[],"status":"completed"}"#, true),
    (r#"{"type":"item_reference","id":"msg_$"}"#, true),
    (r#"{"type":"compaction","encrypted_content":"gAAA"}"#, true),
];

/// Parts of Gemini, each on the side that sends it: the model's or the user's.
pub const GEMINI: &[(&str, &str)] = &[
    ("user", r#"{"text":"Look."}"#),
    ("model", r#"{"text":"Done."}"#),
    ("model", r#"{"text":"Hm.","thought":true}"#),
    ("model", r#"{"text":"","thoughtSignature":"Eq8C"}"#),
    ("user", r#"{"inlineData":{"mimeType":"image/png","data":"PNG"}}"#),
    ("user", r#"{"inline_data":{"mime_type":"image/gif","data":"R0lGODlhIANYAgAAAA=="}}"#),
    ("user", r#"{"inlineData":{"mimeType":"audio/wav","data":"UklGRg=="}}"#),
    ("user", r#"{"fileData":{"mimeType":"application/pdf","fileUri":"https://a.example/b.pdf"}}"#),
    ("model", r#"{"functionCall":{"id":"$","name":"ls","args":{"path":"a"}}}"#),
    ("model", r#"{"functionCall":{"name":"ls","args":{}},"thoughtSignature":"Eq8C"}"#),
    ("user", r#"{"functionResponse":{"id":"$","name":"ls","response":{"output":"a.rs"}}}"#),
    ("user", r#"{"functionResponse":{"name":"ls","response":"a.rs"}}"#),
    ("model", r#"{"executableCode":{"language":"PYTHON","code":"1"}}"#),
    ("model", r#"{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1"}}"#),
];

/// Returns a block with an id.
pub(super) fn with_id(block: &str, id: usize) -> serde_json::Value {
    let text = block.replace('$', &format!("call_{id}")).replace("PNG", PNG);
    serde_json::from_str(&text).expect("a block")
}
