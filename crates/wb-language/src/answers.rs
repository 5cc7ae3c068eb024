//! Answers, approvals and refusals of the user in the results of tool calls.

use serde_json::Value;
use wb_message::text::{clip_words, head, one_line};

use crate::tasks::{bare_name, is_of_server};
use crate::user_text::{is_rejection, rejected_words};
use crate::{UTTERANCE_BYTES, plain_words};

/// The maximum number of questions that are read from a call.
const MOST_QUESTIONS: usize = 16;
/// The characters of a question or a call.
const WHAT_CHARS: usize = 200;

/// The reaction of the user to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The user answered a question.
    Answered {
        /// The question of the agent.
        question: String,
        /// The choice or the words of the user.
        answer: String,
    },
    /// The user approved a plan.
    Approved {
        /// The plan.
        what: String,
    },
    /// The user refused a plan or a call.
    Refused {
        /// The plan or call.
        what: String,
        /// The words of the user.
        words: Option<String>,
    },
}

/// Returns the reactions of the user in the result of a call, one for each question.
///
/// A result may contain anything, so a refusal counts only if the host itself records it
/// (`is_refusal`), or in the result of a tool of the host that asks the user.
pub fn answers(tool: &str, input: &Value, result: &str, is_error: bool, is_refusal: bool) -> Vec<Answer> {
    let (is_plan, is_question) = (proposes_a_plan(tool), asks_the_user(tool));
    if is_refusal || (is_plan || is_question) && is_rejection(result) {
        let words = rejected_words(result).map(|words| clip_words(words, UTTERANCE_BYTES).into_owned());
        return vec![Answer::Refused { what: describe(tool, input), words }];
    }
    if is_plan {
        return plan_answer(tool, input, result, is_error).into_iter().collect();
    }
    if is_question && !is_error { question_answers(input, result) } else { Vec::new() }
}

/// Returns whether a tool of the host shows the user a plan to approve.
pub fn proposes_a_plan(tool: &str) -> bool {
    const NAMES: [&str; 4] = ["exitplanmode", "planexit", "exitplan", "proposeplan"];
    !is_of_server(tool) && NAMES.contains(&bare_name(tool).as_str())
}

/// Returns whether a tool of the host asks the user.
pub fn asks_the_user(tool: &str) -> bool {
    const NAMES: [&str; 8] = [
        "askfollowupquestion",
        "askquestion",
        "askquestions",
        "askuser",
        "askuserquestion",
        "askuserquestions",
        "question",
        "requestuserinput",
    ];
    !is_of_server(tool) && NAMES.contains(&bare_name(tool).as_str())
}

/// Returns the approval or refusal of a plan, if the result contains one.
fn plan_answer(tool: &str, input: &Value, result: &str, is_error: bool) -> Option<Answer> {
    const REFUSED: [&str; 6] = ["reject", "declin", "not approved", "disapprov", "keep planning", "denied"];
    let text = head(result, 300).to_lowercase();
    if REFUSED.iter().any(|it| text.contains(it)) {
        return Some(Answer::Refused { what: describe(tool, input), words: None });
    }
    (!is_error && is_approved(&text)).then(|| Answer::Approved { what: describe(tool, input) })
}

/// Returns whether a text reports an approval, not one that is required or pending.
fn is_approved(text: &str) -> bool {
    const NOT: [&str; 15] = [
        "not", "be", "being", "until", "never", "if", "when", "once", "unless", "before", "without", "to",
        "await", "awaiting", "isn",
    ];
    let words: Vec<&str> = plain_words(text).collect();
    let is_open = |at: usize| words[at.saturating_sub(4)..at].iter().any(|word| NOT.contains(word));
    words.iter().enumerate().any(|(at, word)| *word == "approved" && !is_open(at))
}

/// Describes a call on one line.
fn describe(tool: &str, input: &Value) -> String {
    const KEYS: [&str; 13] = [
        "plan",
        "command",
        "cmd",
        "file_path",
        "filePath",
        "path",
        "question",
        "url",
        "query",
        "pattern",
        "description",
        "prompt",
        "title",
    ];
    let named = KEYS.iter().find_map(|key| input.get(key)?.as_str());
    let question = || questions(input).first().map(|(_, question)| *question);
    let detail = named.or_else(question).unwrap_or_default().trim_start();
    // A plan is described by its title.
    let line = if input.get("plan").is_some() { detail.lines().next().unwrap_or_default() } else { detail };
    one_line(&[tool, " ", line.trim_start_matches(['#', ' '])].concat(), WHAT_CHARS)
}

/// Returns the questions of a call with their ids.
fn questions(input: &Value) -> Vec<(Option<&str>, &str)> {
    let single = input.get("question").and_then(Value::as_str).map(|question| (None, question));
    let listed = input.get("questions").and_then(Value::as_array).into_iter().flatten().filter_map(|item| {
        let question = item.as_str().or_else(|| item.get("question")?.as_str())?;
        Some((item.get("id").and_then(Value::as_str), question))
    });
    single.into_iter().chain(listed).take(MOST_QUESTIONS).collect()
}

fn question_answers(input: &Value, result: &str) -> Vec<Answer> {
    let questions = questions(input);
    let json = serde_json::from_str::<Value>(result).ok();
    let answered = |nth: usize, (id, question): &(Option<&str>, &str)| {
        let answer = json.as_ref().and_then(|json| json_answer(json, nth, *id, question));
        let answer = answer.or_else(|| quoted_answer(result, question).map(str::to_owned));
        let alone = || (questions.len() == 1 && json.is_none()).then(|| plain_answer(result).to_owned());
        let answer = answer.or_else(alone).filter(|answer| !answer.trim().is_empty())?;
        let answer = clip_words(&answer, UTTERANCE_BYTES).into_owned();
        Some(Answer::Answered { question: one_line(question, WHAT_CHARS), answer })
    };
    questions.iter().enumerate().filter_map(|(nth, question)| answered(nth, question)).collect()
}

/// Returns an answer of the form `"question"="answer", "next"="…". You can now …`.
fn quoted_answer<'a>(result: &'a str, question: &str) -> Option<&'a str> {
    let start = result.find(&["\"", question, "\"=\""].concat())? + question.len() + 4;
    let rest = &result[start..];
    let ends = ["\", \"", "\". You can now", "\" user notes:", "\" selected preview:"];
    let end = ends.iter().filter_map(|end| rest.find(end)).min();
    Some(&rest[..end.or_else(|| rest.rfind('"')).unwrap_or(rest.len())])
}

/// Returns an answer in a JSON object, by the id, the index or the words of its question.
fn json_answer(json: &Value, nth: usize, id: Option<&str>, question: &str) -> Option<String> {
    let all = json.get("answers")?;
    let nth_key = nth.to_string();
    let keys = [id.unwrap_or(question), question, &nth_key];
    let found = keys.iter().find_map(|key| all.get(key)).or_else(|| all.get(nth))?;
    let texts = |list: &Vec<Value>| list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ");
    match found.get("answers").or_else(|| found.get("answer")).unwrap_or(found) {
        Value::String(text) => Some(text.clone()),
        Value::Array(list) => Some(texts(list)),
        _ => None,
    }
}

/// Returns an answer without the frame of the host.
fn plain_answer(result: &str) -> &str {
    const LABELS: [&str; 6] = [
        "User has answered your question:",
        "User answered:",
        "User response:",
        "User selected:",
        "The user answered:",
        "Answer:",
    ];
    let text = result.trim();
    let text = LABELS.iter().find_map(|label| text.strip_prefix(label)).unwrap_or(text).trim();
    let framed = text.split_once("<answer>").and_then(|(_, rest)| rest.split_once("</answer>"));
    framed.map_or(text, |(answer, _)| answer).trim()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn check(tool: &str, input: &Value, result: &str, expected: &[Answer]) {
        assert_eq!(answers(tool, input, result, false, false), expected, "{tool} {result:?}");
    }

    fn answered(question: &str, answer: &str) -> Answer {
        Answer::Answered { question: question.to_owned(), answer: answer.to_owned() }
    }

    #[test]
    fn each_question_has_its_answer() {
        let two =
            json!({ "questions": [{ "id": "p", "question": "Which \"port\"?" }, { "question": "Why?" }] });
        let result = "User has answered your questions: \"Which \"port\"?\"=\"80\", \"Why?\"=\"so\". You can now continue.";
        let both = [answered("Which \"port\"?", "80"), answered("Why?", "so")];
        check("AskUserQuestion", &two, result, &both);
        check("request_user_input", &two, r#"{"answers":{"p":{"answers":["80"]},"Why?":"so"}}"#, &both);
        let one = json!({ "question": "Which?" });
        check("ask_followup_question", &one, "<answer>\nthis\n</answer>", &[answered("Which?", "this")]);
        check("ask_user", &one, "this", &[answered("Which?", "this")]);
        check("Task", &one, "this", &[]);
    }

    #[test]
    fn a_plan_is_approved_or_refused() {
        let plan = json!({ "plan": "# Add a cache\n\n1. do it" });
        let what = "ExitPlanMode Add a cache".to_owned();
        let approved = [Answer::Approved { what: what.clone() }];
        check("ExitPlanMode", &plan, "User has approved your plan. You can now start coding.", &approved);
        check("ExitPlanMode", &plan, r#"{"decision":"approved"}"#, &approved);
        let refused =
            |words: Option<&str>| [Answer::Refused { what: what.clone(), words: words.map(str::to_owned) }];
        let start = "The user doesn't want to proceed with this tool use.";
        check("ExitPlanMode", &plan, start, &refused(None));
        check("ExitPlanMode", &plan, &format!("{start} the user said:\nsmaller"), &refused(Some("smaller")));
        check("ExitPlanMode", &plan, "No plan file", &[]);
    }

    #[test]
    fn a_pending_plan_is_not_approved() {
        let plan = json!({ "plan": "x" });
        let what = "ExitPlanMode x".to_owned();
        check("ExitPlanMode", &plan, "Waiting for the user to approve the plan", &[]);
        check("ExitPlanMode", &plan, "The plan must be approved by the user first.", &[]);
        check("ExitPlanMode", &plan, "The plan has not yet been approved.", &[]);
        let refused = Answer::Refused { what: what.clone(), words: None };
        check("ExitPlanMode", &plan, "The user disapproved of the plan.", &[refused]);
        check("ExitPlanMode", &plan, "Plan approved.", &[Answer::Approved { what }]);
    }

    #[test]
    fn a_refusal_describes_the_call() {
        let refused = Answer::Refused { what: "Bash git push".to_owned(), words: Some("not yet".to_owned()) };
        let result = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nnot yet";
        let call = json!({ "command": "git push" });
        assert_eq!(answers("Bash", &call, result, true, true), [refused]);
        // A viewer does not speak for the user.
        check("Bash", &call, result, &[]);
        check("Bash", &json!({ "command": "cat a" }), "1: the user said:\nx", &[]);
    }

    #[test]
    fn the_number_of_questions_is_limited() {
        let many = vec!["Why?"; 5_000];
        let result = "\"Why?\"=\"so\"".repeat(5_000);
        assert_eq!(
            answers("ask_user", &json!({ "questions": many }), &result, false, false).len(),
            MOST_QUESTIONS
        );
    }

    proptest! {
        #[test]
        fn no_result_panics(tool in "ExitPlanMode|ask_user|Bash", text in any::<String>(), is_error: bool) {
            let input = json!({ "question": text, "plan": text, "questions": [text, 1, { "id": text }] });
            _ = answers(&tool, &input, &text, is_error, !is_error);
            _ = answers(&tool, &input, &format!("\"{text}\"=\"{text}"), is_error, !is_error);
        }
    }
}
