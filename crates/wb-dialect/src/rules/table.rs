//! The table of rules, in the order in which they are repaired.

use super::{
    Rule, calls, content, deferred_tools, item_ids, order, pictures, responses_items, results, roles,
    server_tools, sizes, thinking, tools,
};
use crate::dialect::Dialect::{Anthropic, Gemini, OpenaiChat, OpenaiResponses};

/// A gateway's tests, which quote a refusal.
const LITELLM_TESTS: &str = "https://github.com/BerriAI/litellm/blob/main/tests/test_litellm/llms/anthropic/\
    experimental_pass_through/adapters/test_anthropic_experimental_pass_through_adapters_transformation.py";

const COMPACTION_ON_DEMAND: &str =
    "https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand";

const OPENAI_VISION: &str = "https://developers.openai.com/api/docs/guides/images-vision";
const GEMINI_VISION: &str = "https://ai.google.dev/gemini-api/docs/image-understanding";

/// All rules. A later rule repairs what an earlier one leaves behind, such as an empty message.
pub const RULES: [Rule; 43] = [
    Rule {
        id: "role-missing",
        says: "a message says who speaks",
        fix: "restore the role if the message or its neighbours show it",
        sources: &[
            (Anthropic, "https://platform.claude.com/docs/en/api/messages"),
            (OpenaiChat, "https://github.com/OkGoDoIt/OpenAI-API-dotnet/issues/164"),
            (OpenaiResponses, "https://platform.openai.com/docs/api-reference/responses/create"),
        ],
        check: roles::missing_roles,
        repair: roles::restore_role,
    },
    Rule {
        id: "role-unknown",
        says: "a message has a role that the provider knows: the user or the model; with OpenAI also the system, the \
               developer, and in chat a tool",
        fix: "give the message a known role, turn a tool's message into a result, and remove an empty message",
        sources: &[
            (Anthropic, "https://platform.claude.com/docs/en/api/messages"),
            (OpenaiChat, "https://github.com/lss233/kirara-ai/issues/1028"),
            (OpenaiResponses, "https://github.com/openai/openai-python/issues/2677"),
            (Gemini, "https://ai.google.dev/api/caching#Content"),
        ],
        check: roles::unknown_roles,
        repair: roles::replace_role,
    },
    Rule {
        id: "result-nameless",
        says: "a result names its call: by its id, or with Gemini by its name",
        fix: "give the call and the unmatched result next to it one id and one name",
        sources: &[
            (Anthropic, "https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls"),
            (OpenaiChat, "https://github.com/aliasrobotics/cai/issues/111"),
            (OpenaiResponses, "https://github.com/continuedev/continue/issues/10092"),
            (Gemini, "https://github.com/langchain-ai/langchain/issues/27799"),
        ],
        check: results::nameless_results,
        repair: calls::link_result,
    },
    Rule {
        id: "result-misplaced",
        says: "a result is where its call expects it: in the next user message, among the tool messages that \
              directly follow, or anywhere after the call",
        fix: "move the result after its call",
        sources: &[
            (Anthropic, "https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls"),
            (OpenaiChat, "https://github.com/aliasrobotics/cai/issues/111"),
            (OpenaiResponses, "https://github.com/continuedev/continue/issues/10092"),
            (Gemini, "https://github.com/langchain-ai/langchain/issues/27799"),
        ],
        check: results::misplaced_results,
        repair: results::move_to_call,
    },
    Rule {
        id: "call-unanswered",
        says: "every call has a result",
        fix: "answer the call with a result that says it was interrupted",
        sources: &[
            (Anthropic, "https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls"),
            (OpenaiChat, "https://github.com/aliasrobotics/cai/issues/111"),
            (OpenaiResponses, "https://github.com/bytedance/trae-agent/issues/245"),
            (Gemini, "https://github.com/microsoft/vscode/issues/299295"),
        ],
        check: results::unanswered_calls,
        repair: results::answer_call,
    },
    Rule {
        id: "result-repeated",
        says: "a call has one result",
        fix: "drop all results of the call except the first",
        sources: &[
            (Anthropic, LITELLM_TESTS),
            (OpenaiChat, "https://github.com/agno-agi/agno/issues/5116"),
            (Gemini, "https://github.com/microsoft/vscode/issues/299295"),
        ],
        check: results::repeated_results,
        repair: content::remove_part,
    },
    Rule {
        id: "result-orphan",
        says: "every result has its call in the same request",
        fix: "drop the result",
        sources: &[
            (Anthropic, "https://github.com/anthropics/claude-code/issues/18947"),
            (OpenaiChat, "https://github.com/FoundationAgents/OpenManus/issues/744"),
            (OpenaiResponses, "https://github.com/continuedev/continue/issues/10092"),
            (Gemini, "https://github.com/langchain-ai/langchain/issues/27799"),
        ],
        check: results::orphans,
        repair: content::remove_part,
    },
    Rule {
        id: "server-result-orphan",
        says: "a result of a server tool has its call before it",
        fix: "drop the result; in a session, turn it into a text",
        sources: &[(Anthropic, "https://github.com/anthropics/claude-code/issues/66944")],
        check: server_tools::orphans,
        repair: content::remove_part,
    },
    Rule {
        id: "server-call-unanswered",
        says: "a call of a server tool has a result, unless the model is still to continue",
        fix: "drop the call; in a session, turn it into a text",
        sources: &[(Anthropic, "https://github.com/AnswerDotAI/lisette/issues/108")],
        check: server_tools::unanswered,
        repair: content::remove_part,
    },
    Rule {
        id: "compaction-first",
        says: "a signed compaction comes first",
        fix: "drop the messages that it replaces",
        sources: &[(Anthropic, COMPACTION_ON_DEMAND)],
        check: server_tools::late_compactions,
        repair: server_tools::remove_compacted,
    },
    Rule {
        id: "compaction-alone",
        says: "a request for a compaction asks for no other edits of the context",
        fix: "remove `context_management`",
        sources: &[(Anthropic, COMPACTION_ON_DEMAND)],
        check: server_tools::doubled_compactions,
        repair: server_tools::remove_edits,
    },
    Rule {
        id: "compaction-empty",
        says: "the summary of a compaction is a text, or null if it failed",
        fix: "set the summary to null",
        sources: &[(Anthropic, "https://github.com/anthropics/anthropic-sdk-python/issues/1175")],
        check: server_tools::empty_compactions,
        repair: server_tools::clear_compaction,
    },
    Rule {
        id: "results-first",
        says: "results come first in their message",
        fix: "move the results to the front of the message",
        sources: &[(
            Anthropic,
            "https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls",
        )],
        check: results::late_results,
        repair: results::move_results_first,
    },
    Rule {
        id: "response-object",
        says: "the response of a function is an object",
        fix: "wrap the response in an object under `output`",
        sources: &[(Gemini, "https://ai.google.dev/api/caching#FunctionResponse")],
        check: results::non_object_responses,
        repair: results::wrap_response,
    },
    Rule {
        id: "call-repeated",
        says: "calls have unique ids; in chat, within one message",
        fix: "give the later call and its result a new id",
        sources: &[
            (Anthropic, "https://github.com/anomalyco/opencode/issues/1279"),
            (OpenaiChat, "https://github.com/openclaw/openclaw/pull/47136"),
            (OpenaiResponses, "https://github.com/earendil-works/pi/issues/9057"),
        ],
        check: calls::repeated_ids,
        repair: calls::rename_id,
    },
    Rule {
        id: "call-id-shape",
        says: "a call id matches ^[a-zA-Z0-9_-]+$, or has at most 40 characters in chat and 64 in Responses",
        fix: "give the call and its results an id of that shape",
        sources: &[
            (Anthropic, "https://github.com/anomalyco/opencode/issues/1279"),
            (OpenaiChat, "https://github.com/agno-agi/agno/issues/5382"),
            (OpenaiResponses, "https://github.com/earendil-works/pi/issues/1022"),
        ],
        check: calls::malformed_ids,
        repair: calls::reshape_id,
    },
    Rule {
        id: "call-untyped",
        says: "a call has a type",
        fix: "give the call the type `function`",
        sources: &[(OpenaiChat, "https://github.com/langchain-ai/langchain-azure/issues/35")],
        check: calls::untyped_calls,
        repair: calls::add_type,
    },
    Rule {
        id: "call-arguments",
        says: "arguments are an object; with OpenAI, JSON in a string",
        fix: "convert the arguments; wrap any other value in an object under `input`",
        sources: &[
            (Anthropic, "https://github.com/anthropics/claude-code/issues/6696"),
            (OpenaiChat, "https://github.com/aaif-goose/goose-mobile/pull/20"),
            (OpenaiResponses, "https://platform.openai.com/docs/api-reference/responses/create"),
            (Gemini, "https://ai.google.dev/api/caching#FunctionCall"),
        ],
        check: calls::mistyped_arguments,
        repair: calls::fix_arguments,
    },
    Rule {
        id: "tool-name",
        says: "a tool name matches ^[a-zA-Z0-9_-]{1,128}$ (Anthropic), ^[a-zA-Z0-9_-]{1,64}$ (OpenAI; 128 in calls of \
              Responses), or begins with a letter or `_` and continues with those, digits, `-`, `.` and `:`, at most 64 \
              characters (Gemini)",
        fix: "give the tool, its calls and their results a name of that shape",
        // Refusals in calls: home-assistant/core#140005 (Anthropic), openai/codex#9447 and
        // aaif-goose/goose#10659 (Responses); Gemini documents one shape for both,
        // https://ai.google.dev/api/caching#FunctionCall.
        sources: &[
            (Anthropic, "https://github.com/home-assistant/core/issues/147760"),
            (OpenaiChat, "https://github.com/mcp-use/mcp-use/issues/90"),
            (OpenaiResponses, "https://github.com/openai/codex/pull/9447"),
            (Gemini, "https://github.com/kaitranntt/ccs/issues/25"),
        ],
        check: tools::bad_names,
        repair: tools::rename_tool,
    },
    Rule {
        id: "tool-reference",
        says: "a reference names a tool of the request",
        fix: "replace the reference with a text that names the tool",
        sources: &[(Anthropic, "https://github.com/anthropics/claude-code/issues/82004")],
        check: deferred_tools::unknown_references,
        repair: deferred_tools::replace_reference,
    },
    Rule {
        id: "tool-deferred",
        says: "a tool is loaded at once",
        fix: "load the tool that searches for others at once, or else the first",
        sources: &[(
            Anthropic,
            "https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool",
        )],
        check: deferred_tools::only_deferred_tools,
        repair: deferred_tools::load_tool,
    },
    Rule {
        id: "call-last",
        says: "no text follows a call in its message",
        fix: "move the text before the calls",
        sources: &[(Anthropic, "https://github.com/BerriAI/litellm/pull/22947")],
        check: calls::texts_after_calls,
        repair: calls::move_texts_first,
    },
    Rule {
        id: "thinking-unsigned",
        says: "reasoning has its signature",
        fix: "drop the reasoning",
        sources: &[(Anthropic, "https://github.com/earendil-works/pi/pull/1523")],
        check: thinking::unsigned_thinking,
        repair: content::remove_part,
    },
    // Signed reasoning may have an empty text, as models send it if their reasoning is hidden
    // (zendev-sh/goai#142, pipecat-ai/pipecat#5183, earendil-works/pi#6457): no rule.
    Rule {
        id: "thinking-textless",
        says: "reasoning has a text, which may be empty",
        fix: "set an empty text",
        sources: &[(Anthropic, "https://github.com/LibreChat-AI/agents/pull/279")],
        check: thinking::textless_thinking,
        repair: thinking::add_text,
    },
    Rule {
        id: "thinking-first",
        says: "with `thinking` enabled, the answer with the last calls begins with its reasoning",
        fix: "turn `thinking` off for this request",
        sources: &[(Anthropic, "https://platform.claude.com/docs/en/build-with-claude/extended-thinking")],
        check: thinking::missing_leading_thinking,
        repair: thinking::turn_off,
    },
    Rule {
        id: "item-repeated",
        says: "items have unique ids",
        fix: "remove the id of the later item, or the item if it has no other content, such as reasoning",
        sources: &[(OpenaiResponses, "https://github.com/earendil-works/pi/issues/5151")],
        check: item_ids::repeated_ids,
        repair: item_ids::remove_id,
    },
    Rule {
        id: "encrypted-content",
        says: "encrypted content is a string",
        fix: "remove the encrypted content of reasoning, and any other item with it",
        sources: &[(OpenaiResponses, "https://github.com/Yeachan-Heo/gajae-code/issues/1207")],
        check: responses_items::mistyped_encryption,
        repair: responses_items::remove_encryption,
    },
    Rule {
        id: "reasoning-content",
        says: "reasoning with encrypted content has no readable content",
        fix: "empty the readable content",
        sources: &[(OpenaiResponses, "https://github.com/musistudio/claude-code-router/issues/1783")],
        check: responses_items::readable_reasoning,
        repair: responses_items::empty_content,
    },
    Rule {
        id: "reasoning-alone",
        says: "a reasoning item with an id is followed by its output",
        fix: "drop the reasoning item",
        sources: &[(OpenaiResponses, "https://github.com/UKGovernmentBEIS/inspect_ai/pull/1990")],
        check: thinking::lone_reasoning,
        repair: content::remove_part,
    },
    Rule {
        id: "thought-signature",
        says: "since Gemini 3, the first call of each step of the running turn has its thought signature",
        fix: "set the documented placeholder",
        sources: &[(Gemini, "https://ai.google.dev/gemini-api/docs/thought-signatures")],
        check: thinking::unsigned_calls,
        repair: thinking::sign,
    },
    Rule {
        id: "text-blank",
        says: "a text is not blank",
        fix: "drop the text",
        sources: &[(Anthropic, "https://github.com/anthropics/claude-code/issues/23440")],
        check: content::blank_texts,
        repair: content::remove_part,
    },
    Rule {
        id: "message-empty",
        says: "a message has content; no list of content or calls is empty; in chat, an answer has a text or calls",
        fix: "drop the message; in chat, remove empty lists and give a message of another role an empty text",
        sources: &[
            (Anthropic, "https://github.com/anthropics/claude-code/issues/3196"),
            // Kimi also refuses an answer with an empty text: MoonshotAI/kimi-code#1985.
            (OpenaiChat, "https://github.com/docker/docker-agent/issues/63"),
            (Gemini, "https://github.com/vercel/ai/issues/3775"),
        ],
        check: content::empty_messages,
        repair: content::remove_or_fill,
    },
    Rule {
        id: "request-empty",
        says: "a request has a message, or continues what the provider stores",
        fix: "append a user message",
        sources: &[
            (Anthropic, "https://github.com/langchain-ai/langchain/pull/31696"),
            (OpenaiResponses, "https://github.com/earendil-works/pi/issues/4246"),
        ],
        check: order::empty_request,
        repair: order::append_user,
    },
    Rule {
        id: "alternation",
        says: "user and model alternate",
        fix: "merge the message into the one before",
        sources: &[(Gemini, "https://github.com/NousResearch/hermes-agent/pull/55623")],
        check: order::repeated_sides,
        repair: order::merge,
    },
    Rule {
        id: "user-first",
        says: "the user speaks first (Anthropic: enforced by Bedrock), or at least before a call (Gemini)",
        fix: "insert a user message at the start",
        sources: &[
            (Anthropic, "https://github.com/anthropics/anthropic-sdk-typescript/issues/622"),
            (Gemini, "https://github.com/google-gemini/gemini-cli/issues/26486"),
        ],
        check: order::model_first,
        repair: order::prepend_user,
    },
    Rule {
        id: "user-last",
        says: "the user or a result speaks last (Anthropic: since Claude Opus 4.6)",
        fix: "append a user message",
        sources: &[
            (Anthropic, "https://github.com/langchain-ai/langchain/pull/36611"),
            (Gemini, "https://github.com/songquanpeng/one-api/issues/836"),
        ],
        check: order::model_last,
        repair: order::append_user,
    },
    Rule {
        id: "picture-empty",
        says: "a picture has bytes",
        fix: "replace the picture with a text",
        sources: &[
            (Anthropic, "https://github.com/anthropics/claude-code/issues/12750"),
            (OpenaiChat, OPENAI_VISION),
            (OpenaiResponses, "https://github.com/anomalyco/opencode/issues/23983"),
            (Gemini, "https://github.com/google-gemini/gemini-cli/issues/5882"),
        ],
        check: pictures::empty_pictures,
        repair: sizes::replace_picture,
    },
    Rule {
        id: "picture-type",
        says: "a picture is a JPEG, PNG, GIF or WebP (Gemini: JPEG, PNG, WebP, HEIC or HEIF); its media type is that \
               of its bytes (Anthropic), one of these (Gemini), or any of a picture (OpenAI)",
        fix: "correct the media type, or replace a picture of another format with a text",
        // Refusals: yuji-hatakeyama/opencode-gpt-imagegen#82 (Responses), Mai-with-u/MaiBot#1435
        // and brianpetro/obsidian-smart-connections#1238 (Gemini).
        sources: &[
            (Anthropic, "https://github.com/anthropics/claude-code/issues/13131"),
            (OpenaiChat, "https://github.com/CosmosShadow/gptpdf/issues/6"),
            (OpenaiResponses, OPENAI_VISION),
            (Gemini, GEMINI_VISION),
        ],
        check: pictures::mistyped_pictures,
        repair: pictures::correct_type,
    },
    Rule {
        // OpenAI and Gemini make larger pictures smaller, and name no limit.
        id: "picture-pixels",
        says: "a side of a picture has at most 8000 pixels; 2000 in a request with more than 20 pictures",
        fix: "replace the picture with a text, or make it smaller",
        // The refusal of many pictures is quoted in anthropics/claude-code#49537.
        sources: &[(Anthropic, "https://platform.claude.com/docs/en/build-with-claude/vision")],
        check: pictures::large_sides,
        repair: sizes::replace_picture,
    },
    Rule {
        id: "picture-size",
        says: "a picture has at most 5 MB in base64",
        fix: "replace the picture with a text, or make it smaller",
        sources: &[(Anthropic, "https://github.com/anthropics/claude-code/issues/14887")],
        check: sizes::oversized_pictures,
        repair: sizes::replace_picture,
    },
    Rule {
        id: "picture-count",
        says: "a request has at most 100 pictures (Anthropic), 1500 (OpenAI) or 3600 (Gemini)",
        fix: "replace the oldest pictures with texts",
        sources: &[
            (Anthropic, "https://github.com/anthropics/claude-code/issues/19822"),
            (OpenaiChat, OPENAI_VISION),
            (OpenaiResponses, OPENAI_VISION),
            (Gemini, GEMINI_VISION),
        ],
        check: sizes::excess_pictures,
        repair: sizes::replace_picture,
    },
    Rule {
        id: "request-size",
        says: "a request has at most 32 MB (Anthropic), 512 MB (OpenAI) or 100 MB (Gemini)",
        fix: "replace the oldest pictures with texts, or compact",
        sources: &[
            (Anthropic, "https://platform.claude.com/docs/en/api/overview#request-size-limits"),
            (OpenaiChat, OPENAI_VISION),
            (OpenaiResponses, OPENAI_VISION),
            (
                Gemini,
                "https://blog.google/innovation-and-ai/technology/developers-tools/gemini-api-new-file-limits",
            ),
        ],
        check: sizes::oversized_request,
        repair: sizes::replace_picture,
    },
    Rule {
        id: "cache-breakpoints",
        says: "at most four blocks have `cache_control`",
        fix: "remove the first `cache_control`s in the messages",
        sources: &[(Anthropic, "https://platform.claude.com/docs/en/build-with-claude/prompt-caching")],
        check: sizes::excess_breakpoints,
        repair: sizes::remove_breakpoint,
    },
];
