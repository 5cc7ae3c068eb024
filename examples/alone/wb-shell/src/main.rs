use wb_shell::outcome::{Outcome, Reported, judge};
use wb_shell::{Command, FileEffect};

fn main() {
    let effects = Command::parse("cd src && rm old.rs || touch never.rs").effects();
    assert_eq!(effects.files, [FileEffect::Deleted("src/old.rs".into())]);
    let output = "test result: FAILED. 3 passed; 1 failed";
    assert_eq!(judge(Some("cargo test | tail"), output, Reported::Exit(0)).outcome, Outcome::Failed);
}
