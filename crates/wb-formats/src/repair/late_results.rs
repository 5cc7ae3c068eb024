//! Results that come too late, after other messages since their calls: each moves to the results of
//! its answer.

use std::collections::BTreeMap;

use wb_message::{Edit, Message, Pairing, Patch};
use wb_record::{NotExpressible, items};

use super::SessionRepair;
use super::stage::{Current, Next};
use crate::dialects::SentAs;

pub(super) fn stage(current: &Current<'_>) -> Result<Next, NotExpressible> {
    // If calls share an id, their results can be assigned only when each has its own.
    if !current.is_refused("result-misplaced") || current.is_refused("call-repeated") {
        return Ok(Next::Nothing);
    }
    let late = late_results(current.messages(), &current.sent);
    if late.is_empty() || !current.is_one_file()? {
        return Ok(Next::Nothing);
    }
    let patch = current.view.with_whole_records(brought_home(current.messages(), &late));
    let wanted = items(&patch, current.messages().len());
    // If the format cannot hold them there, or still reads them at the old position, their calls
    // are answered otherwise.
    let Ok(changes) = current.document().render(current.conversation, &current.view, &wanted, &current.stamp)
    else {
        return Ok(Next::Nothing);
    };
    match current.read_after(&changes) {
        Ok(after) if late_results(after.messages(), &current.sent).is_empty() => {
            Ok(Next::step_to(SessionRepair::from_changes(changes), after))
        }
        _ => Ok(Next::Nothing),
    }
}

/// Returns the results that come too late, each with the position that its call requires.
fn late_results(messages: &[Message], sent: &SentAs<'_>) -> Vec<(usize, usize)> {
    let is_model = |at: usize| matches!(messages[at], Message::Assistant { .. });
    let is_result = |at: usize| matches!(messages[at], Message::ToolResult { .. });
    // If the agent sorts results first between two answers, only an answer separates them from
    // their calls.
    let parts = |at: usize| if sent.verbatim.order { !is_result(at) } else { is_model(at) };
    let pairing = Pairing::new(messages);
    let late = pairing.pairs().iter().filter_map(|pair| {
        let (call, result) = (pair.call.message as usize, pair.result as usize);
        let end = (call..result).find(|at| !is_model(*at))?;
        let home = (end..result).find(|at| !is_result(*at))?;
        let is_late = is_result(result) && (home..result).any(parts);
        is_late.then_some((result, home))
    });
    late.collect()
}

/// Returns the patch that moves results to their calls.
fn brought_home(messages: &[Message], late: &[(usize, usize)]) -> Patch {
    let mut homes: BTreeMap<usize, Vec<Message>> = BTreeMap::new();
    for (result, home) in late {
        homes.entry(*home).or_default().push(messages[*result].clone());
    }
    let there = homes.into_iter().map(|(home, with)| Edit::Fold { range: home..home, with });
    let gone = late.iter().map(|(result, _)| Edit::Fold { range: *result..result + 1, with: Vec::new() });
    Patch::new(there.chain(gone).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wb_message::Block;

    use super::*;

    #[test]
    fn a_result_is_late_behind_an_answer_or_behind_the_user_where_the_agent_keeps_the_order() {
        let call = |id: &str| Message::assistant_blocks(vec![Block::call(id, "ls", json!({}))]);
        let result = |id: &str| Message::tool_result(id, "ls", "a.rs");
        let late = |messages: &[Message], format| late_results(messages, &SentAs::from_format(format, None));
        let user = [call("a"), call("b"), result("b"), Message::user("wait"), result("a")];
        assert_eq!(late(&user, "kimi-cli"), [(4, 3)]);
        assert_eq!(late(&user, "claude-code"), []);
        let answer = [call("a"), Message::user("wait"), Message::assistant("I do."), result("a")];
        for format in ["kimi-cli", "claude-code"] {
            assert_eq!(late(&answer, format), [(3, 1)]);
        }
        assert_eq!(late(&[call("a"), Message::assistant("There."), result("a")], "kimi-cli"), []);
    }
}
