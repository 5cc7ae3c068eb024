//! The table of the rules, in the order in which they are mended.

use super::{Rule, calls, content, item_ids, order, results, roles, sizes, thinking, tools};
use crate::dialect::Dialect::{Anthropic, Gemini, OpenaiChat, OpenaiResponses};

/// Tests of a gateway that quote a refusal.
const LITELLM_TESTS: &str = "https://github.com/BerriAI/litellm/blob/main/tests/test_litellm/llms/anthropic/\
    experimental_pass_through/adapters/test_anthropic_experimental_pass_through_adapters_transformation.py";

/// All rules. What one mend leaves behind, such as an empty message, is mended by a later one.
pub const RULES: [Rule; 30] = [
    Rule {
        id: "role-missing",
        says: "a message says who speaks",
        fix: "give the message the role that it had, where what is in it or beside it tells",
        sources: &[
            (Anthropic, "https://platform.claude.com/docs/en/api/messages"),
            (OpenaiChat, "https://github.com/OkGoDoIt/OpenAI-API-dotnet/issues/164"),
            (OpenaiResponses, "https://platform.openai.com/docs/api-reference/responses/create"),
        ],
        check: roles::lost,
        mend: roles::give,
    },
    Rule {
        id: "role-unknown",
        says: "a message has a role that the provider knows: the user or the model; with OpenAI also the system, the \
               developer, and in chat a tool",
        fix: "give the message the role that stands for its own, and make a result of what a tool says; one that says \
              nothing goes",
        sources: &[
            (Anthropic, "https://platform.claude.com/docs/en/api/messages"),
            (OpenaiChat, "https://github.com/lss233/kirara-ai/issues/1028"),
            (OpenaiResponses, "https://github.com/openai/openai-python/issues/2677"),
            (Gemini, "https://ai.google.dev/api/caching#Content"),
        ],
        check: roles::unknown,
        mend: roles::rename,
    },
    Rule {
        id: "result-nameless",
        says: "a result names its call: by its id, or with Gemini by its name",
        fix: "give a call and the result next to it one id and one name, where both are left over",
        sources: &[
            (Anthropic, "https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls"),
            (OpenaiChat, "https://github.com/aliasrobotics/cai/issues/111"),
            (OpenaiResponses, "https://github.com/continuedev/continue/issues/10092"),
            (Gemini, "https://github.com/langchain-ai/langchain/issues/27799"),
        ],
        check: results::nameless,
        mend: calls::name_result,
    },
    Rule {
        id: "result-misplaced",
        says: "a result stands where its call wants it: in the user message behind it, among the tool messages \
               directly behind it, or anywhere behind it",
        fix: "move the result behind its call",
        sources: &[
            (Anthropic, "https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls"),
            (OpenaiChat, "https://github.com/aliasrobotics/cai/issues/111"),
            (OpenaiResponses, "https://github.com/continuedev/continue/issues/10092"),
            (Gemini, "https://github.com/langchain-ai/langchain/issues/27799"),
        ],
        check: results::misplaced,
        mend: results::bring_home,
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
        check: results::unanswered,
        mend: results::answer,
    },
    Rule {
        id: "result-repeated",
        says: "a call has one result",
        fix: "drop all results of the call but the first",
        sources: &[
            (Anthropic, LITELLM_TESTS),
            (OpenaiChat, "https://github.com/agno-agi/agno/issues/5116"),
            (Gemini, "https://github.com/microsoft/vscode/issues/299295"),
        ],
        check: results::repeated,
        mend: content::drop_it,
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
        mend: content::drop_it,
    },
    Rule {
        id: "results-first",
        says: "results stand before everything else in their message",
        fix: "move the results to the front of the message",
        sources: &[(
            Anthropic,
            "https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls",
        )],
        check: results::not_first,
        mend: results::results_to_front,
    },
    Rule {
        id: "response-object",
        says: "the response of a function is an object",
        fix: "put the response into an object under `output`",
        sources: &[(Gemini, "https://ai.google.dev/api/caching#FunctionResponse")],
        check: results::not_objects,
        mend: results::wrap_response,
    },
    Rule {
        id: "call-repeated",
        says: "no two calls have one id; in chat, none of the same message",
        fix: "give the later call and its result an id of their own",
        sources: &[
            (Anthropic, "https://github.com/anomalyco/opencode/issues/1279"),
            (OpenaiChat, "https://github.com/openclaw/openclaw/pull/47136"),
            (OpenaiResponses, "https://github.com/earendil-works/pi/issues/9057"),
        ],
        check: calls::repeated,
        mend: calls::rename,
    },
    Rule {
        id: "call-id-shape",
        says: "the id of a call matches ^[a-zA-Z0-9_-]+$, or has at most 40 characters in chat and 64 in Responses",
        fix: "give the call and its results an id of that shape",
        sources: &[
            (Anthropic, "https://github.com/anomalyco/opencode/issues/1279"),
            (OpenaiChat, "https://github.com/agno-agi/agno/issues/5382"),
            (OpenaiResponses, "https://github.com/earendil-works/pi/issues/1022"),
        ],
        check: calls::misshapen,
        mend: calls::reshape,
    },
    Rule {
        id: "call-untyped",
        says: "a call says its type",
        fix: "give the call the type `function`",
        sources: &[(OpenaiChat, "https://github.com/langchain-ai/langchain-azure/issues/35")],
        check: calls::untyped,
        mend: calls::give_type,
    },
    Rule {
        id: "call-arguments",
        says: "arguments are an object, with OpenAI JSON in a string",
        fix: "write the arguments as that; what is no object goes into one under `input`",
        sources: &[
            (Anthropic, "https://github.com/anthropics/claude-code/issues/6696"),
            (OpenaiChat, "https://github.com/aaif-goose/goose-mobile/pull/20"),
            (OpenaiResponses, "https://platform.openai.com/docs/api-reference/responses/create"),
            (Gemini, "https://ai.google.dev/api/caching#FunctionCall"),
        ],
        check: calls::bad_arguments,
        mend: calls::fix_arguments,
    },
    Rule {
        id: "tool-name",
        says: "the name of a tool on offer or in a call matches ^[a-zA-Z0-9_-]{1,128}$ (Anthropic), ^[a-zA-Z0-9_-]{1,64}$ \
               (OpenAI; 128 in calls of Responses), or begins with a letter or `_` and goes on with those, dots and \
               colons, 64 characters in all (Gemini)",
        fix: "give the tool, its calls and their results a name of that shape",
        // What is refused in calls: home-assistant/core#140005 (Anthropic), openai/codex#9447 and aaif-goose/goose#10659
        // (Responses); Gemini documents one shape for both, https://ai.google.dev/api/caching#FunctionCall.
        sources: &[
            (Anthropic, "https://github.com/home-assistant/core/issues/147760"),
            (OpenaiChat, "https://github.com/mcp-use/mcp-use/issues/90"),
            (OpenaiResponses, "https://github.com/openai/codex/pull/9447"),
            (Gemini, "https://github.com/kaitranntt/ccs/issues/25"),
        ],
        check: tools::misnamed,
        mend: tools::rename,
    },
    Rule {
        id: "call-last",
        says: "no text stands behind a call in its message",
        fix: "move the text in front of the calls",
        sources: &[(Anthropic, "https://github.com/BerriAI/litellm/pull/22947")],
        check: calls::not_last,
        mend: calls::to_the_end,
    },
    Rule {
        id: "thinking-unsigned",
        says: "reasoning has its signature",
        fix: "drop the reasoning",
        sources: &[(Anthropic, "https://github.com/earendil-works/pi/pull/1523")],
        check: thinking::unsigned,
        mend: content::drop_it,
    },
    // An empty text is taken where it is signed, as models send it whose reasoning is not shown (zendev-sh/goai#142,
    // pipecat-ai/pipecat#5183, earendil-works/pi#6457): no rule.
    Rule {
        id: "thinking-textless",
        says: "reasoning has its text, which may be empty",
        fix: "set an empty text",
        sources: &[(Anthropic, "https://github.com/LibreChat-AI/agents/pull/279")],
        check: thinking::textless,
        mend: thinking::give_text,
    },
    Rule {
        id: "thinking-first",
        says: "with `thinking` enabled, the answer with the last calls begins with its reasoning",
        fix: "turn `thinking` off for this request",
        sources: &[(Anthropic, "https://platform.claude.com/docs/en/build-with-claude/extended-thinking")],
        check: thinking::not_first,
        mend: thinking::turn_off,
    },
    Rule {
        id: "item-repeated",
        says: "no two items have one id",
        fix: "take the id off the later item; one that is nothing without it, such as reasoning, goes",
        sources: &[(OpenaiResponses, "https://github.com/earendil-works/pi/issues/5151")],
        check: item_ids::repeated,
        mend: item_ids::take_id,
    },
    Rule {
        id: "reasoning-alone",
        says: "a reasoning item with an id is followed by what was reasoned about",
        fix: "drop the reasoning item",
        sources: &[(OpenaiResponses, "https://github.com/UKGovernmentBEIS/inspect_ai/pull/1990")],
        check: thinking::alone,
        mend: content::drop_it,
    },
    Rule {
        id: "thought-signature",
        says: "since Gemini 3, the first call of each step of the running turn has its thought signature",
        fix: "set the documented stand-in for a signature",
        sources: &[(Gemini, "https://ai.google.dev/gemini-api/docs/thought-signatures")],
        check: thinking::unsigned_calls,
        mend: thinking::sign,
    },
    Rule {
        id: "text-blank",
        says: "a text has more than blanks",
        fix: "drop the text",
        sources: &[(Anthropic, "https://github.com/anthropics/claude-code/issues/23440")],
        check: content::blank_texts,
        mend: content::drop_it,
    },
    Rule {
        id: "message-empty",
        says: "a message has content; no list of content or calls is empty",
        fix: "drop the message; in chat, give it an empty text and take empty lists out",
        sources: &[
            (Anthropic, "https://github.com/anthropics/claude-code/issues/3196"),
            (OpenaiChat, "https://github.com/docker/docker-agent/issues/63"),
            (Gemini, "https://github.com/vercel/ai/issues/3775"),
        ],
        check: content::empty_messages,
        mend: content::drop_or_fill,
    },
    Rule {
        id: "alternation",
        says: "user and model take turns",
        fix: "put the message into the one before",
        sources: &[(Gemini, "https://github.com/NousResearch/hermes-agent/pull/55623")],
        check: order::same_twice,
        mend: order::merge,
    },
    Rule {
        id: "user-first",
        says: "the user speaks first (Anthropic: enforced by Bedrock), or at least before a call (Gemini)",
        fix: "put a message of the user in front",
        sources: &[
            (Anthropic, "https://github.com/anthropics/anthropic-sdk-typescript/issues/622"),
            (Gemini, "https://github.com/google-gemini/gemini-cli/issues/26486"),
        ],
        check: order::model_first,
        mend: order::user_before,
    },
    Rule {
        id: "user-last",
        says: "the user or a result speaks last (Anthropic: since Claude Opus 4.6)",
        fix: "end with a message of the user",
        sources: &[
            (Anthropic, "https://github.com/langchain-ai/langchain/pull/36611"),
            (Gemini, "https://github.com/songquanpeng/one-api/issues/836"),
        ],
        check: order::model_last,
        mend: order::user_behind,
    },
    Rule {
        id: "picture-size",
        says: "a picture has at most 5 MB in base64",
        fix: "put a text into its place, or make the picture smaller",
        sources: &[(Anthropic, "https://github.com/anthropics/claude-code/issues/14887")],
        check: sizes::large_pictures,
        mend: sizes::take_out,
    },
    Rule {
        id: "picture-count",
        says: "a request has at most 100 pictures (Anthropic), 1500 (OpenAI) or 3600 (Gemini)",
        fix: "put texts into the places of the oldest pictures",
        sources: &[
            (Anthropic, "https://github.com/anthropics/claude-code/issues/19822"),
            (OpenaiChat, "https://developers.openai.com/api/docs/guides/images-vision"),
            (OpenaiResponses, "https://developers.openai.com/api/docs/guides/images-vision"),
            (Gemini, "https://ai.google.dev/gemini-api/docs/image-understanding"),
        ],
        check: sizes::too_many_pictures,
        mend: sizes::take_out,
    },
    Rule {
        id: "request-size",
        says: "a request has at most 32 MB (Anthropic), 512 MB (OpenAI) or 100 MB (Gemini)",
        fix: "put texts into the places of the oldest pictures, or compact",
        sources: &[
            (Anthropic, "https://platform.claude.com/docs/en/api/overview#request-size-limits"),
            (OpenaiChat, "https://developers.openai.com/api/docs/guides/images-vision"),
            (OpenaiResponses, "https://developers.openai.com/api/docs/guides/images-vision"),
            (
                Gemini,
                "https://blog.google/innovation-and-ai/technology/developers-tools/gemini-api-new-file-limits",
            ),
        ],
        check: sizes::too_large,
        mend: sizes::take_out,
    },
    Rule {
        id: "cache-breakpoints",
        says: "at most four blocks have `cache_control`",
        fix: "take `cache_control` off the first ones in the messages",
        sources: &[(Anthropic, "https://platform.claude.com/docs/en/build-with-claude/prompt-caching")],
        check: sizes::breakpoints,
        mend: sizes::take_breakpoint,
    },
];
