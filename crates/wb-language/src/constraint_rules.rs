//! Detects by its words whether a sentence forbids, requires, prefers or corrects something.
//!
//! Statements, questions and reports are detected first and hidden from the rules.

use std::sync::LazyLock;

use crate::UTTERANCE_BYTES;
use crate::constraint_words::{
    ASKS, CORRECTS, DECLINES, FORBIDS, FORBIDS_IF_ASKED, FORBIDS_INSIDE, MASKS, ONE_STEP, ONE_STEP_INSIDE,
    POLITE, PREFERS, PREFERS_IF_ASKED, QUESTION_ENDS, QUESTIONS, REPORTS, REQUIRES, REQUIRES_IF_SOUND,
    REQUIRES_INSIDE, REVERTS, STRICT_BANS,
};
use crate::word_patterns::{Grammar, Group, Words};

/// The effect of a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Forbids something: "never push".
    Forbids,
    /// Requires something: "it must work offline".
    Requires,
    /// Prefers one thing: "I'd rather have one file".
    Prefers,
    /// Corrects earlier work: "no, revert that".
    Corrects,
}

impl Kind {
    /// Returns the name by which the score of a rule knows it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Forbids => "/forbids",
            Self::Requires => "/requires",
            Self::Prefers => "/prefers",
            Self::Corrects => "/corrects",
        }
    }
}

/// The compiled patterns.
struct Rules {
    grammar: Grammar,
    questions: Group,
    polite: Group,
    declines: Group,
    masks: Group,
    asks: Group,
    reports: Group,
    reverts: Group,
    corrects: Group,
    reminds: Group,
    one_step: Group,
    strict_bans: Group,
    /// The patterns for any sentence, and those for a sentence that asks for something.
    forbids: [Group; 2],
    requires: Group,
    requires_if_sound: Group,
    prefers: [Group; 2],
    /// All patterns that make a sentence a constraint.
    any: Group,
}

static RULES: LazyLock<Rules> = LazyLock::new(Rules::new);

impl Rules {
    fn new() -> Self {
        let mut grammar = Grammar::new();
        let mut add = |patterns: &[&str]| grammar.add(patterns);
        let forbids = [add(FORBIDS), add(FORBIDS_IF_ASKED)];
        let prefers = [add(PREFERS), add(PREFERS_IF_ASKED)];
        let (requires, requires_if_sound) = (add(REQUIRES), add(REQUIRES_IF_SOUND));
        let (reverts, corrects) = (add(REVERTS), add(CORRECTS));
        let reminds = add(&["don't|dont|not forget"]);
        let (one_step, strict_bans) = (add(ONE_STEP), add(STRICT_BANS));
        let others = [reverts, corrects, reminds, requires, requires_if_sound];
        let any = forbids.into_iter().chain(prefers).fold(others[0], Group::and);
        let any = others.into_iter().fold(any, Group::and);
        let (questions, polite, declines) = (add(QUESTIONS), add(POLITE), add(DECLINES));
        let (masks, asks, reports) = (add(MASKS), add(ASKS), add(REPORTS));
        Self {
            grammar,
            questions,
            polite,
            declines,
            masks,
            asks,
            reports,
            reverts,
            corrects,
            reminds,
            one_step,
            strict_bans,
            forbids,
            requires,
            requires_if_sound,
            prefers,
            any,
        }
    }
}

/// Returns the effect of a sentence, if it is a constraint.
pub(crate) fn kind(sentence: &str) -> Option<Kind> {
    if sentence.len() > UTTERANCE_BYTES {
        return None;
    }
    let rules = &*RULES;
    let mut words = Words::new(&rules.grammar, sentence);
    let inside = inside(sentence);
    if inside.is_none() && !words.may_have(rules.any) {
        return None;
    }
    let is_question = is_question(sentence);
    if words.has(rules.questions) || is_question && !words.has(rules.polite) {
        return None;
    }
    let is_one_step = words.has(rules.one_step) && !words.has(rules.strict_bans)
        || ONE_STEP_INSIDE.iter().any(|part| sentence.contains(part));
    words.mask(rules.declines);
    if words.has(rules.reverts) || !is_question && words.has(rules.corrects) {
        return Some(Kind::Corrects);
    }
    if inside.is_none() && rules.kind(&words, true, false).is_none() {
        return None;
    }
    words.mask(rules.masks);
    let is_asked = is_question || words.has(rules.asks);
    let known = rules.kind(&words, is_asked, is_question).or(inside.filter(|_| !is_question));
    known.filter(|_| !is_one_step)
}

fn is_question(sentence: &str) -> bool {
    let sentence = sentence.trim_end_matches([')', '"', ' ']);
    QUESTION_ENDS.iter().any(|end| sentence.ends_with(end))
}

impl Rules {
    fn kind(&self, words: &Words<'_>, is_asked: bool, is_question: bool) -> Option<Kind> {
        let has = |[always, if_asked]: [Group; 2]| words.has(always) || is_asked && words.has(if_asked);
        if words.has(self.reminds) {
            return Some(Kind::Requires);
        }
        if has(self.forbids) {
            return Some(Kind::Forbids);
        }
        let is_sound = || !is_question && words.has(self.requires_if_sound) && !words.has(self.reports);
        if words.has(self.requires) || is_sound() {
            return Some(Kind::Requires);
        }
        has(self.prefers).then_some(Kind::Prefers)
    }
}

/// Returns the kind of a sentence in a language without blanks.
fn inside(sentence: &str) -> Option<Kind> {
    if sentence.is_ascii() {
        return None;
    }
    let has = |parts: &[&str]| parts.iter().any(|part| sentence.contains(part));
    if has(FORBIDS_INSIDE) {
        return Some(Kind::Forbids);
    }
    has(REQUIRES_INSIDE).then_some(Kind::Requires)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expected: Option<Kind>, sentences: &[&str]) {
        for sentence in sentences {
            assert_eq!(kind(sentence), expected, "{sentence:?}");
        }
    }

    #[test]
    fn sentences_forbid() {
        check(
            Some(Kind::Forbids),
            &[
                "Absolutely never assume that the clock is in UTC.",
                "So — let's not do that this time.",
                "Never force-push to this release branch.",
                "Stop asking me for confirmation",
                "stop using any",
                "Don't you dare touch main",
                "please never use git stash here",
                "You can change everything except the config",
                "Do all of this in one commit, no merge commits",
                "We can't use unsafe code",
                "we cannot break the public API",
                "Under no circumstances may you delete data",
                "the solution shouldn't depend on the network",
                "please don't over-engineer this",
                "do it without a new dependency",
                "Write comments in English only",
                "Only use ASCII characters",
                "don't change any tests unless I say so",
                "the function should never panic",
                "just the facts, no prose",
                "do NOT add emojis",
                "whatever you do, don't push",
                "I do not want a framework",
                "we don't want to support IE anymore",
                "no more mocks",
                "Don't touch the public API.",
                "fix it without touching the API",
                "please do not commit anything yet",
                "never push to main",
                "no new dependencies",
                "No emojis in the output please.",
                "stop adding comments everywhere",
                "only change the parser, nothing else",
                "use only the standard library",
                "Leave the tests alone.",
                "you must not rename exported functions",
                "I don't want you to run the server",
                "can you fix it without changing the tests?",
                "Fix the crash, but don't change the config format.",
                "We must never store the key in plain text.",
                "avoid global state",
                "It must not block.",
                "Write it in plain C, no C++.",
                "there should be no network access in tests",
                "Do this without installing anything.",
                "just don't break the build",
                "No need to update the docs.",
                "Please keep your hands off the migrations",
                "nothing in src/legacy may be changed",
                "Tests may not use the network.",
                "Bitte nicht die API ändern.",
                "Ändere nichts ohne zu fragen",
                "ne touche pas à la base",
                "No toques la API",
                "不要修改测试文件",
                "テストは変更しないでください",
            ],
        );
    }

    #[test]
    fn sentences_require() {
        check(
            Some(Kind::Requires),
            &[
                "Before you answer, restate my question in one sentence.",
                "Before you commit, run the linter.",
                "Whenever a test fails, show me the output first.",
                "When you finish a step, update the plan.",
                "End every reply with the word done.",
                "If the build breaks, stop and tell me.",
                "For the rest of this session use metric units.",
                "From now on, answer in two sentences.",
                "As always, write a line in the changelog.",
                "Run the tests before you push.",
                "Ab jetzt antworte auf Deutsch.",
                "Bevor du etwas löschst, frag mich.",
                "À partir de maintenant, réponds en français.",
                "Avant de supprimer un fichier, demande-moi.",
                "A partir de ahora responde en español.",
                "Antes de borrar algo, pregúntame.",
                "从现在开始用中文回答。",
                "提交之前先运行测试。",
                "これからは日本語で答えてください。",
                "The page must load within a second",
                "Everything has to be backwards compatible",
                "I'd like you to always run the tests first",
                "the config file must stay where it is",
                "All public functions should have docs",
                "Names should be short",
                "limit yourself to the src folder",
                "It's important that old files can still be read",
                "make it work offline as well, and ensure there are no warnings",
                "ask before you delete anything",
                "This has to work on Python 3.8",
                "answer in German",
                "make sure it works on Windows",
                "Please make sure that all the tests pass.",
                "it has to compile with 1.70",
                "All errors must be typed.",
                "always run the linter before you commit",
                "The output should be valid JSON.",
                "Every function needs a doc comment.",
                "It needs to stay under 5 ms.",
                "ensure backwards compatibility",
                "Remember to update the changelog with each change",
                "Each file must have a licence header",
                "functions should be under 30 lines",
                "The API has to stay the same.",
                "don't forget to run the formatter",
                "you should always ask before deleting files",
                "commit messages must be in English",
                "Die Tests müssen immer laufen.",
                "Il faut que ça marche hors ligne.",
                "Siempre ejecuta las pruebas",
                "Use Node version 22.4",
                "so I think we should wait a release with the old names",
                "必须兼容旧版本",
            ],
        );
    }

    #[test]
    fn sentences_prefer() {
        check(
            Some(Kind::Prefers),
            &[
                "I want all strings to be translated",
                "Use spaces not tabs",
                "use snake_case rather than camelCase",
                "keep the diff small",
                "I prefer the first approach",
                "Be concise.",
                "prefer composition over inheritance",
                "I'd rather have one big file.",
                "use pnpm instead of npm",
                "please use tabs, not spaces",
                "keep it simple",
                "keep functions small",
                "I'd like it to be configurable",
                "I prefer short names",
                "Use thiserror rather than anyhow.",
                "let's keep the old names",
                "as few dependencies as possible",
                "we want the errors to be readable",
                "I think we want to use a queue for that",
                "i think the reader and the writer need to be one crate?",
                "I kind of feel like we want either Go or Zig",
                "I actually wanted those files below lib",
                "I'd like to take a test-first approach here",
            ],
        );
    }

    #[test]
    fn sentences_correct() {
        check(
            Some(Kind::Corrects),
            &[
                "No, I meant the other function",
                "That's not what I meant",
                "you misunderstood, I want the raw value",
                "undo that please",
                "I said no mocks",
                "no, that's wrong",
                "No, use the other file.",
                "revert that",
                "that's not what I asked for",
                "I said port 8080, not 8081",
                "you should have asked first",
                "not foo but bar",
                "undo your last change",
                "that is wrong, the flag is called --all",
                "you forgot the tests",
                "the id is actually 4711",
                "we no longer use the old runner",
                "I don't think we need a second table",
                "you removed the cache, but that's actually useful",
            ],
        );
    }

    #[test]
    fn words_of_rules_alone_are_not_a_rule() {
        check(
            None,
            &[
                "The form only submits when I press enter twice",
                "users must log in twice right now",
                "it must be the cache",
                "I must have missed that",
                "When I click save, check fails.",
                "If it's easy, add a test.",
                "Before the release we fixed three bugs.",
                "Start the server and look at the log.",
                "Open every file in src and list the tasks.",
                "The port is 8080.",
                "you must be kidding",
                "When I click save, nothing happens and I never see an error",
                "The tests are only failing on CI",
                "the sidebar doesn't close on mobile",
                "Why must it be a string?",
                "it needs a restart each time, which is annoying",
                "we always get a 404 here",
                "after the update the app needs 10 seconds to start",
                "the docs don't mention this",
                "I don't see any difference",
                "can you find out why the job never finishes?",
                "There are no tests for this",
                "No luck, same error",
                "no tests were run",
                "still no output",
                "the output has no header",
                "Make the header bigger",
                "only the first row is shown",
                "what must I do to enable it?",
                "Should be fixed now",
                "I should have told you earlier",
                "you should see it in the log",
                "you should be able to reproduce it with npm start",
                "It should be easy to add",
                "you don't have access to that",
                "I have no idea what this does",
                "add a flag to skip the tests",
                "add an option so that users don't need to log in",
                "write a test that checks that the list must not be empty",
                "Let's not worry about that now",
                "let me know if you need anything else",
                "it complains that the file must be UTF-8",
                "without that it won't start",
                "the old code never handled that",
                "I want to understand what happens",
                "the button should be disabled but I can still click it",
                "This never worked",
                "do you always do that?",
                "remember the bug from yesterday?",
                "I forgot to push",
                "stop",
                "wait",
                "Never heard of it",
                "Always the same error",
                "keep getting the same error",
                "I think the parser is slow",
                "I think that is all we have",
                "keep me posted",
                "Nothing should have changed there",
                "at least it compiles now",
                "Instead of the list I get an empty page",
                "it shows the date instead of the time",
            ],
        );
    }

    #[test]
    fn reports_questions_and_steps_are_not_rules() {
        check(
            None,
            &[
                "the button does not work",
                "it should show 3 but shows 2",
                "should we use a queue?",
                "why does it not compile?",
                "Fix the test",
                "The function returns null when the list is empty.",
                "I don't know why it fails",
                "it never stops",
                "It only happens on Windows.",
                "when I run it without arguments it crashes",
                "there must be a bug in the parser",
                "I need to understand how this works",
                "we don't have a server here",
                "what should I do next?",
                "The test fails with no output.",
                "I can't find the file",
                "Does it have to be async?",
                "now add a test for it",
                "the cache is always empty",
                "it doesn't seem to work",
                "I think it should be fine now",
                "does not compile",
                "No, thanks",
                "No errors were found",
                "looks good, don't worry about it",
                "Not sure",
                "explain how the cache must be invalidated",
                "I have to go now",
                "The docs say it must be called twice.",
                "I would like to add a dark mode",
                "I only see two rows",
                "Tell me what needs to be done",
                "It used to work without a token",
                "the user cannot log in",
                "you can ignore that",
                "This is only a draft.",
                "run it again",
                "can you check whether it needs to be updated?",
                "I never got an answer",
                "it says \"you must be logged in\"",
                "Only two of the five tests pass.",
                "That must be it",
                "expected 3 but got 2",
                "The list should be sorted but it is not",
                "The page should load in a second but takes ten.",
                "I was not able to reproduce it",
                "There is no way to cancel",
                "no output at all",
                "not working",
                "still doesn't work",
                "It should work but doesn't",
                "after logging in I should see my name, instead I see an error",
                "users should be able to log in but they get a 500",
                "do you need to restart it?",
                "I should mention that it is slow",
                "the app must have crashed",
                "Not all the tests ran",
                "nothing happens when I click it",
                "let's start with the parser",
                "Always mention the ticket in this commit",
                "keep going",
                "I want to build a todo app",
                "I want you to review this",
                "without the flag it hangs",
                "no idea",
                "It says I need to install node first",
                "we never finished the import",
                "Das geht nicht.",
                "ça ne marche pas",
                "no funciona",
                "为什么不能编译？",
                "现在不能编译",
            ],
        );
    }
}
