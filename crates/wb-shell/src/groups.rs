//! Which simple commands of a script surely ran, if the script as a whole ended well.
//!
//! What stands behind `||` or a test, in an `if`, a `case`, a `while` or a function may not have run. In doubt it did not.

use super::kind::{is_question, name, program};
use super::lexer::{Joint, Step};

/// Commands that hold others, and what ends them.
struct Group {
    end: End,
    /// Whether all in it surely runs.
    is_sure: bool,
    /// Whether the chain that the group stands in may have been left before it.
    was_unsure: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Fi,
    Esac,
    Done,
    Brace,
    Bracket,
}

/// Visits the steps, each with whether it surely ran.
pub(crate) fn with_sureness<'s, 'a>(steps: &'s [Step<'a>]) -> impl Iterator<Item = (&'s Step<'a>, bool)> {
    let mut reader = Reader::default();
    steps.iter().map(move |step| {
        reader.take(step);
        let is_sure = reader.is_sure();
        reader.leave(step);
        (step, is_sure)
    })
}

#[derive(Default)]
struct Reader {
    groups: Vec<Group>,
    /// How many of the groups may not run, and how many are brackets.
    n_unsure: usize,
    n_brackets: usize,
    /// The chain may have been left.
    is_unsure: bool,
    /// The next braces hold a function.
    is_function: bool,
    /// The script may have ended.
    is_over: bool,
}

impl Reader {
    fn is_sure(&self) -> bool {
        self.n_unsure == 0 && !self.is_unsure && !self.is_over
    }

    fn take(&mut self, step: &Step<'_>) {
        while self.n_brackets > step.depth {
            self.close_bracket();
        }
        match step.before {
            Joint::Next => self.is_unsure = false,
            Joint::Or => self.is_unsure = true,
            Joint::And | Joint::Pipe => {}
        }
        while self.n_brackets < step.depth {
            let is_sure = !std::mem::take(&mut self.is_function);
            self.open(End::Bracket, is_sure);
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
                    let is_sure = !std::mem::take(&mut self.is_function);
                    self.open(End::Brace, is_sure);
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

    fn open(&mut self, end: End, is_sure: bool) {
        self.n_unsure += usize::from(!is_sure || self.is_unsure);
        self.n_brackets += usize::from(end == End::Bracket);
        let is_sure = is_sure && !self.is_unsure;
        self.groups.push(Group { end, is_sure, was_unsure: self.is_unsure });
        self.is_unsure = false;
    }

    /// Closes the last group that ends so, if it was opened inside of the same brackets.
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
        self.n_unsure -= usize::from(!group.is_sure);
        self.n_brackets -= usize::from(group.end == End::Bracket);
        self.is_unsure = group.was_unsure;
        Some(group.end)
    }

    /// Notes what a step does to those behind it.
    fn leave(&mut self, step: &Step<'_>) {
        let words = program(&step.words);
        let argument = words.get(1).map_or("", |word| word.raw);
        self.is_over |= match name(words) {
            // What fails ends the script badly, so that nothing of it is told.
            "exit" => argument == "0" || argument.is_empty() && step.before != Joint::Or,
            "return" => self.groups.is_empty(),
            "break" | "continue" => {
                self.leave_loop();
                false
            }
            _ => false,
        };
        self.is_unsure |= is_question(words);
    }

    /// Notes that the rest of the loop may not run.
    fn leave_loop(&mut self) {
        if let Some(group) = self.groups.iter_mut().rfind(|group| group.end == End::Done) {
            self.n_unsure += usize::from(group.is_sure);
            group.is_sure = false;
        }
    }
}

/// Returns whether a loop goes over words that stand in the script.
fn has_fixed_list(step: &Step<'_>, at: usize) -> bool {
    let list = step.words.get(at + 3..).unwrap_or_default();
    list.iter().any(|word| word.is_fixed && !word.text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::with_sureness;
    use crate::lexer::steps;

    /// Compares the last words of the steps that surely ran.
    fn check(command: &str, expected: &str) {
        let steps = steps(command);
        let sure = with_sureness(&steps).filter(|(_, is_sure)| *is_sure);
        let last = sure.filter_map(|(step, _)| step.words.last()).map(|word| word.raw);
        let last: Vec<_> = last.filter(|word| !["fi", "}", "done", "esac"].contains(word)).collect();
        assert_eq!(last.join(" "), expected, "{command}");
    }

    #[test]
    fn what_stands_behind_a_condition_is_not_sure() {
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
    fn groups_in_groups_end_where_they_do() {
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
    fn a_function_is_not_run_where_it_stands() {
        check("f() { a; b; }; c", "c");
        check("f ()\n{\na\n}\nc", "f c");
        check("function f { a; b; }; c", "c");
        check("f() (a; b); c", "f c");
        check("x=(); { a; b; }", "x= a b");
    }

    #[test]
    fn what_stands_behind_an_exit_is_not_sure() {
        check("a; exit 0; b", "a 0");
        check("[ x ] && exit; b", "]");
        check("a || exit 1; b", "a b");
        check("if a; then exit 1; fi; b", "b");
    }
}
