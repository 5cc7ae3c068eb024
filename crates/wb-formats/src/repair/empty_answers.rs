//! Answers without content, which a provider of chat refuses if they are sent unchanged: each is
//! removed.

use wb_message::{Block, Edit, Message, Patch};
use wb_record::{NotExpressible, items};

use super::SessionRepair;
use super::stage::{Current, Next};

pub(super) fn stage(current: &Current<'_>) -> Result<Next, NotExpressible> {
    if !current.is_refused("message-empty") {
        return Ok(Next::Nothing);
    }
    let messages = current.messages();
    let is_empty = |at: &usize| {
        let is_answer = matches!(messages[*at], Message::Assistant { .. });
        is_answer && messages[*at].blocks().iter().all(Block::is_empty_text)
    };
    let empty = (0..messages.len()).filter(is_empty);
    let gone = empty.map(|at| Edit::Fold { range: at..at + 1, with: Vec::new() });
    let patch = current.view.with_whole_records(Patch::new(gone.collect()));
    let wanted = items(&patch, messages.len());
    let changes = current.document().render(current.conversation, &current.view, &wanted, &current.stamp)?;
    let after = current.read_after(&changes)?;
    if after.is_refused("message-empty") {
        return Ok(Next::Left(current.refused("an empty answer cannot be removed alone")));
    }
    Ok(Next::step_to(SessionRepair::from_changes(changes), after))
}
