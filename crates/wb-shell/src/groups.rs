//! The simple commands that certainly ran if the script as a whole succeeded.
//!
//! Commands after `||` or a test, in an `if`, a `case`, a `while` or a function may not have run.

use super::kind::{is_question, name, program};
use super::lexer::{Joint, Step};

/// A compound command.
struct Group {
    end: End,
    /// All commands in it run.
    is_certain: bool,
    /// The chain around it may have been left before it.
    was_uncertain: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Fi,
    Esac,
    Done,
    Brace,
    Bracket,
}

/// Pairs each step with whether it certainly ran.
pub(crate) fn with_certainty<'s, 'a>(steps: &'s [Step<'a>]) -> impl Iterator<Item = (&'s Step<'a>, bool)> {
    let mut tracker = CertaintyTracker::default();
    steps.iter().map(move |step| {
        tracker.enter(step);
        let is_certain = tracker.is_certain();
        tracker.leave(step);
        (step, is_certain)
    })
}

#[derive(Default)]
struct CertaintyTracker {
    groups: Vec<Group>,
    /// The number of groups that may not run.
    n_uncertain: usize,
    n_brackets: usize,
    /// The chain may have been left.
    is_uncertain: bool,
    /// The next braces contain a function.
    is_function: bool,
    /// The script may have ended.
    is_over: bool,
}

impl CertaintyTracker {
    fn is_certain(&self) -> bool {
        self.n_uncertain == 0 && !self.is_uncertain && !self.is_over
    }

    fn enter(&mut self, step: &Step<'_>) {
        while self.n_brackets > step.depth {
            self.close_bracket();
        }
        match step.before {
            Joint::Next => self.is_uncertain = false,
            Joint::Or => self.is_uncertain = true,
            Joint::And | Joint::Pipe => {}
        }
        while self.n_brackets < step.depth {
            let is_certain = !std::mem::take(&mut self.is_function);
            self.open(End::Bracket, is_certain);
        }
        self.keywords(step);
    }

    /// Opens and closes groups by the words that a step begins with.
    fn keywords(&mut self, step: &Step<'_>) {
        for (at, word) in step.words.iter().enumerate() {
            match word.raw {
                "if" => self.open(End::Fi, false),
                "case" => return self.open(End::Esac, false),
                "while" | "until" => self.open(End::Done, false),
                "for" | "select" => return self.open(End::Done, has_fixed_list(step, at)),
                "{" => {
                    let is_certain = !std::mem::take(&mut self.is_function);
                    self.open(End::Brace, is_certain);
                }
                "fi" => self.close(End::Fi),
                "esac" => self.close(End::Esac),
                "done" => self.close(End::Done),
                "}" => self.close(End::Brace),
                "function" => self.is_function = true,
                "then" | "else" | "elif" | "do" | "!" | "time" => {}
                _ if at > 0 && step.words[at - 1].raw == "function" => {}
                _ => return,
            }
        }
    }

    fn open(&mut self, end: End, is_certain: bool) {
        self.n_uncertain += usize::from(!is_certain || self.is_uncertain);
        self.n_brackets += usize::from(end == End::Bracket);
        let is_certain = is_certain && !self.is_uncertain;
        self.groups.push(Group { end, is_certain, was_uncertain: self.is_uncertain });
        self.is_uncertain = false;
    }

    /// Closes the last group with this end, if it was opened inside the same brackets.
    fn close(&mut self, end: End) {
        let inner = self.groups.iter().rev().take_while(|group| group.end != End::Bracket);
        if inner.into_iter().any(|group| group.end == end) {
            while self.pop().is_some_and(|popped| popped != end) {}
        }
    }

    fn close_bracket(&mut self) {
        while self.pop().is_some_and(|popped| popped != End::Bracket) {}
    }

    fn pop(&mut self) -> Option<End> {
        let group = self.groups.pop()?;
        self.n_uncertain -= usize::from(!group.is_certain);
        self.n_brackets -= usize::from(group.end == End::Bracket);
        self.is_uncertain = group.was_uncertain;
        Some(group.end)
    }

    /// Records the influence of a step on those after it.
    fn leave(&mut self, step: &Step<'_>) {
        let words = program(&step.words);
        let argument = words.get(1).map_or("", |word| word.raw);
        self.is_over |= match name(words) {
            // A failing exit makes the script fail, and then nothing of it counts.
            "exit" => argument == "0" || argument.is_empty() && step.before != Joint::Or,
            "return" => self.groups.is_empty(),
            "break" | "continue" => {
                self.leave_loop();
                false
            }
            _ => false,
        };
        self.is_uncertain |= is_question(words);
    }

    /// Marks the rest of the loop as uncertain.
    fn leave_loop(&mut self) {
        if let Some(group) = self.groups.iter_mut().rfind(|group| group.end == End::Done) {
            self.n_uncertain += usize::from(group.is_certain);
            group.is_certain = false;
        }
    }
}

/// Returns whether a loop iterates over words in the script itself.
fn has_fixed_list(step: &Step<'_>, at: usize) -> bool {
    let list = step.words.get(at + 3..).unwrap_or_default();
    list.iter().any(|word| word.is_fixed && !word.text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::with_certainty;
    use crate::lexer::steps;

    /// Compares the last words of the steps that certainly ran.
    fn check(command: &str, expected: &str) {
        let steps = steps(command);
        let certain = with_certainty(&steps).filter(|(_, is_certain)| *is_certain);
        let last = certain.filter_map(|(step, _)| step.words.last()).map(|word| word.raw);
        let last: Vec<_> = last.filter(|word| !["fi", "}", "done", "esac"].contains(word)).collect();
        assert_eq!(last.join(" "), expected, "{command}");
    }

    #[test]
    fn steps_after_a_condition_are_uncertain() {
        check("a || { b; c && d; }; e", "a e");
        check("a || (b; c); e", "a e");
        check("a && { b; c; } && d", "a b c d");
        check("(a; b) && c", "a b c");
        check("[ x ] && { b; c; }; d", "] d");
        check("[[ x > y ]] && b; (( 1 > 0 )) && c", "]] (( 1 > 0 ))");
        check("grep -q x f && b; grep x f && c", "f f c");
        check("cmp a b && c; command -v d && e; git diff --quiet && f", "b d --quiet");
    }

    #[test]
    fn nested_groups_end_at_their_own_keyword() {
        check("if a; then if b; then c; fi; d; fi; e", "e");
        check("if a; then b; else if c; then d; fi; e; fi\nf", "f");
        check("case $x in a) b;; (c) if d; then e; fi;; esac; f", "f");
        check("(cd a; case x in b) c;; esac; d); e", "a d e");
        check("while a; do b; done; c; until a; do b; done && d", "c d");
        check("for f in a b; do c; done; for f in *; do d; done; e", "b c e");
        check("for f in a; do [ x ] && continue; b; done; c", "a ] c");
        check("fi; done; }; esac; a", "a");
    }

    #[test]
    fn a_function_does_not_run_where_it_is_defined() {
        check("f() { a; b; }; c", "c");
        check("f ()\n{\na\n}\nc", "f c");
        check("function f { a; b; }; c", "c");
        check("f() (a; b); c", "f c");
        check("x=(); { a; b; }", "x= a b");
    }

    #[test]
    fn steps_after_an_exit_are_uncertain() {
        check("a; exit 0; b", "a 0");
        check("[ x ] && exit; b", "]");
        check("a || exit 1; b", "a b");
        check("if a; then exit 1; fi; b", "b");
    }
}
