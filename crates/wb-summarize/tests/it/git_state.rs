//! The git repository in the local digest.

use wb_facts::Facts;
use wb_message::ToolVocabulary;
use wb_summarize::LocalDigest;
use wb_testkit::script;

use crate::local::{digest, lines};

#[test]
fn a_stopped_merge_is_listed_until_it_is_aborted() {
    let stopped = r#"u"Merge it." a:bash(git merge topic) t!"Auto-merging src/a.rs
CONFLICT (content): Merge conflict in src/a.rs
Automatic merge failed; fix conflicts and then commit the result." "#;
    let first = digest(&script(stopped), None);
    let expected = ["- Git is not finished: merge of topic stopped on conflicts in src/a.rs"];
    assert_eq!(lines(&first, "- Git is"), expected);
    let next = digest(&script(r#"u"And now?" a"I look at it.""#), Some(&first));
    assert_eq!(lines(&next, "- Git is"), expected);
    let given_up = digest(&script(r#"u"Leave it." a:bash(git merge --abort) t"""#), Some(&first));
    assert!(lines(&given_up, "- Git is").is_empty() && lines(&given_up, "- Stuck?").is_empty(), "{given_up}");
    assert_eq!(lines(&given_up, "- Git, newest"), ["- Git, newest first: gave up the merge"]);
}

#[test]
fn a_rebase_that_went_on_to_its_end_is_not_stuck() {
    let stopped = r#"u"Rebase it." a:bash(git rebase main) t!"CONFLICT (content): Merge conflict in src/a.rs
error: could not apply 3f9c2ab... Port the cart" "#;
    let first = digest(&script(stopped), None);
    assert_eq!(lines(&first, "- Git is"), ["- Git is not finished: rebase stopped on conflicts in src/a.rs"]);
    assert!(lines(&first, "- Stuck?").is_empty(), "it is reported once: {first}");
    let went_on = r#"a:bash(git rebase --continue) t"Successfully rebased and updated refs/heads/topic.""#;
    let ended = digest(&script(&[stopped, went_on].concat()), None);
    assert!(lines(&ended, "- Git is").is_empty() && lines(&ended, "- Stuck?").is_empty(), "{ended}");
}

#[test]
fn the_last_status_is_listed_until_it_may_have_changed() {
    let shown = r###"u"Look." a:bash(git status -sb) t"## main...origin/main [ahead 2]
 M src/a.rs
?? notes.md" "###;
    let first = digest(&script(shown), None);
    let expected = [
        "- Git status as last shown: on main, ahead 2 of origin/main; changed: src/a.rs; untracked: notes.md",
    ];
    assert_eq!(lines(&first, "- Git status"), expected);
    let next = digest(&script(r#"u"And now?" a:read(src/b.rs) t"x""#), Some(&first));
    assert_eq!(lines(&next, "- Git status"), expected);
    for later in
        ["a:edit(src/b.rs) t", "a:write(src/b.rs) t", r#"a:bash(git stash) t"""#, "a:bash(make gen) t"]
    {
        let later = digest(&script(&[shown, later].concat()), None);
        assert!(lines(&later, "- Git status").is_empty(), "{later}");
    }
    let talk = script(shown);
    let facts = Facts::default().with_messages(&talk, &ToolVocabulary::default());
    let rest = LocalDigest::new(&facts, 1).omit_visible(&|at, _| at == 2).render(8_000);
    assert!(lines(&rest, "- Git status").is_empty(), "a reader sees it: {rest}");
    let found = wb_facts::audit(&first, &facts);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_call_that_was_refused_did_nothing_and_the_words_stay_those_of_the_result() {
    let refused = "The user doesn't want to proceed with this tool use. The tool use was rejected.\nno, I did not say commit anything";
    for call in ["bash(git commit -am 'Fix the reader')", "edit(src/a.rs)", "bash(rm src/a.rs)"] {
        let talk = script(&format!(r#"u"Fix it." a:{call} t!"{refused}" a"I wait." u"Is it elsewhere?""#));
        let text = digest(&talk, None);
        for claim in ["committed", "edited src/a.rs", "deleted src/a.rs", "The user's answer"] {
            assert!(!text.contains(claim), "{call}: {text}");
        }
        assert!(
            text.contains("not run") && text.contains("no, I did not say commit anything"),
            "{call}: {text}"
        );
    }
}
