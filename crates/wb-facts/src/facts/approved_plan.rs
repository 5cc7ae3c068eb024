//! The plan that the user approved, until it is carried out.

use super::Facts;
use wb_digest::labels::COMMITTED;
use wb_language::short_answers::is_answer;
use wb_language::tasks::{Task, continues_a_plan};

impl Facts {
    /// Forgets the approved plan if it is carried out and the user asks for something else.
    pub(super) fn finish_plan(&mut self, words: &str) {
        if self.is_plan_done() && !is_answer(words) && !continues_a_plan(words) {
            self.approved = None;
        }
    }

    /// Returns whether all tasks listed after the approval are done, or, without a list, changes
    /// were committed.
    fn is_plan_done(&self) -> bool {
        let Some(approved_at) = self.approved.as_ref().map(|plan| plan.at) else { return false };
        if self.ledger.tasks_at.is_some_and(|at| at > approved_at) {
            let tasks = self.tasks.all();
            return !tasks.is_empty() && !tasks.iter().any(|Task { state, .. }| state.is_open());
        }
        self.git.iter().any(|it| it.at > approved_at && it.text.inspect().starts_with(COMMITTED))
    }
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use serde_json::{Value, json};
    use wb_message::{Block, Message, ToolVocabulary};

    use super::*;

    fn call(nth: usize, tool: &str, input: Value, output: &str) -> [Message; 2] {
        let id = format!("call_{nth}");
        [
            Message::assistant_blocks(vec![Block::call(&id, tool, input)]),
            Message::tool_result(&id, tool, output),
        ]
    }

    fn is_approved(steps: &[(&str, Value, &str)]) -> bool {
        let mut facts = Facts::default();
        let approval =
            ("ExitPlanMode", json!({"plan": "# Plan\n1. Port the cart"}), "User has approved your plan.");
        facts.observe(&Message::user("Port the cart."), &ToolVocabulary::UNIVERSAL);
        for (nth, (tool, input, output)) in [approval].iter().chain(steps).enumerate() {
            let messages = match *tool {
                "" => vec![Message::user(*output)],
                _ => call(nth, tool, input.clone(), output).to_vec(),
            };
            for message in &messages {
                facts.observe(message, &ToolVocabulary::UNIVERSAL);
            }
        }
        facts.approved().is_some()
    }

    #[test]
    fn an_approved_plan_ends_when_it_is_done_and_the_user_asks_for_something_else() {
        let commit =
            ("Bash", json!({"command": "git commit -m 'Port the cart'"}), "[main 3f9c2ab] Port the cart");
        let todos = |state| {
            let todos =
                json!({"todos": [{"content": "Port the cart", "status": state, "activeForm": "Porting"}]});
            ("TodoWrite", todos, "Todos have been modified successfully.")
        };
        let user = |words| ("", Value::Null, words);
        let next = user("Add a tooltip to the button.");
        assert!(is_approved(&[]) && is_approved(from_ref(&next)));
        assert!(is_approved(from_ref(&commit)));
        assert!(!is_approved(&[commit.clone(), next.clone()]));
        assert!(!is_approved(&[commit.clone(), user("也要加上相应的提示")]));
        assert!(is_approved(&[commit.clone(), user("yes, go on")]));
        assert!(is_approved(&[commit.clone(), user("Now do the second phase.")]));
        assert!(is_approved(&[todos("in_progress"), commit, next.clone()]));
        assert!(!is_approved(&[todos("completed"), next]));
    }
}
