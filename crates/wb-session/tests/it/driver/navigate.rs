//! Moves to another branch: a diagram, and the changes that hooks want.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::executor::block_on;
use futures::future::ready;
use wb_invoke::scripted::{Script, ScriptedInvoker};
use wb_session::{
    BeforeTree, BranchSummaryOpts, HookFuture, HookList, NavigateOpts, SessionBeforeTreeEvent, SessionHooks,
    TreeOverrides, TreePreparation, navigate_tree,
};
use wb_session::{EntryId, EntryTag, Session};
use wb_testkit::script;

use crate::talks::{SUMMARY, append, session_of};

/// The tree: below A the branch B, C, D with the leaf, and E, F, the target.
fn diagram() -> (Session, Vec<(EntryId, char)>) {
    let (mut session, mut ids) = session_of(r#"u"A""#);
    ids.extend(append(&mut session, script(r#"a"E" a"F""#)));
    session.branch(&ids[0]).unwrap();
    ids.extend(append(&mut session, script(r#"a"B" u"C" a"D""#)));
    (session, ids.into_iter().zip("AEFBCD".chars()).collect())
}

/// Draws a tree in brackets: each entry by its letter, a summary as `s`, a label as `l`; `*` is the
/// leaf.
fn drawn(session: &Session, names: &[(EntryId, char)]) -> String {
    let mut out = String::new();
    for (depth, node) in session.tree().walk() {
        let letter = names.iter().find(|(id, _)| *id == node.id).map(|(_, letter)| *letter);
        let letter = letter.unwrap_or(if node.tag == EntryTag::Label { 'l' } else { 's' });
        let leaf = if session.leaf() == Some(&node.id) { "*" } else { "" };
        let _ = write!(out, "{depth}{letter}{leaf} ");
    }
    out.trim_end().to_owned()
}

#[test]
fn a_navigation_goes_as_drawn_but_for_the_place_of_the_summary() {
    let (mut session, names) = diagram();
    assert_eq!(drawn(&session, &names), "0A 1E 2F 1B 2C 3D*");
    let target = names[2].0.clone();
    let invoker = ScriptedInvoker::new([Script::says(SUMMARY)]);
    let opts = NavigateOpts { user_wants_summary: true, ..NavigateOpts::default() };
    let mut hooks = HookList::default();
    let gone = block_on(navigate_tree(&mut session, &target, Some(&invoker), &mut hooks, opts, 1)).unwrap();
    assert_eq!(gone.old_leaf_id.as_ref(), Some(&names[5].0));
    // The diagram has it under D; its fifth step defines where the session goes on.
    assert_eq!(drawn(&session, &names), "0A 1E 2F 3s* 1B 2C 3D");
    let prompt = &invoker.prompts()[0];
    let said = |word: &str| prompt.contains(&format!("]: {word}\n"));
    assert_eq!(["B", "C", "D"].map(said), [true; 3], "{prompt}");
    assert_eq!(["A", "E", "F"].map(said), [false; 3], "{prompt}");
}

/// Changes an option, and records the user's choice.
struct Wanting {
    overrides: TreeOverrides,
    seen: Mutex<Option<TreePreparation>>,
}

impl SessionHooks for Wanting {
    fn session_before_tree<'a>(&'a self, event: &'a SessionBeforeTreeEvent) -> HookFuture<'a, BeforeTree> {
        *self.seen.lock().unwrap() = Some(event.preparation.clone());
        ready(Ok(BeforeTree::Adjust(self.overrides.clone()))).boxed()
    }
}

fn gone_with(
    overrides: TreeOverrides,
    user_wants_summary: bool,
) -> (Session, Vec<(EntryId, char)>, Vec<String>) {
    let (mut session, names) = diagram();
    let wanting = Arc::new(Wanting { overrides, seen: Mutex::default() });
    let mut hooks = HookList::default();
    hooks.push(wanting.clone());
    let custom_instructions = Some("the user's focus".to_owned());
    let summary =
        BranchSummaryOpts { custom_instructions: custom_instructions.clone(), ..Default::default() };
    let label = Some("the user's label".to_owned());
    let opts = NavigateOpts { user_wants_summary, label: label.clone(), summary };
    let invoker = ScriptedInvoker::new([Script::says(SUMMARY)]);
    let target = names[2].0.clone();
    block_on(navigate_tree(&mut session, &target, Some(&invoker), &mut hooks, opts, 1)).unwrap();
    let seen = wanting.seen.lock().unwrap().take().unwrap();
    assert_eq!((seen.custom_instructions, seen.label), (custom_instructions, label));
    assert!(!seen.replace_instructions);
    (session, names, invoker.prompts())
}

#[test]
fn a_hook_may_have_its_own_instructions_and_label_and_leaves_the_rest_as_the_user_wants_it() {
    let (session, names, prompts) = gone_with(TreeOverrides::default(), true);
    assert!(prompts[0].contains("Additional focus: the user's focus"));
    assert_eq!(drawn(&session, &names), "0A 1E 2F 3s 4l* 1B 2C 3D");
    assert_eq!(session.tree().labels().map(|(_, label)| label).collect::<Vec<_>>(), ["the user's label"]);

    let overrides = TreeOverrides {
        custom_instructions: Some("Only what failed.".into()),
        replace_instructions: Some(true),
        label: Some("tried".into()),
    };
    let (session, names, prompts) = gone_with(overrides, true);
    assert!(prompts[0].contains("Only what failed.") && !prompts[0].contains("Additional focus"));
    let labelled = session.tree().labels().next().map(|(id, label)| (id.clone(), label.to_owned())).unwrap();
    assert!(!names.iter().any(|(id, _)| *id == labelled.0), "the summary has it");
    assert_eq!(labelled.1, "tried");
}

#[test]
fn without_a_summary_the_target_gets_the_label() {
    let (session, names, prompts) = gone_with(TreeOverrides::default(), false);
    assert!(prompts.is_empty());
    assert_eq!(drawn(&session, &names), "0A 1E 2F 3l* 1B 2C 3D");
    assert_eq!(session.tree().label(&names[2].0), Some("the user's label"));
}
