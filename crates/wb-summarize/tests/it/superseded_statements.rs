//! Statements of the user that a later one replaces, in digests of digests.

use wb_testkit::script;

use crate::local::digest;

const WORK: &str = concat!(
    r#"u"Port the cart to cents." a"On it." u"The port is 8080." a"Noted." u"Never print the key AB-12." a"Noted." "#,
    r#"u"The region is us-west-2." a"Noted." u"no, us-west-1" a"Noted." u"Use 9090 instead of 8080." a"Noted." "#,
    r#"u"The key rotated. Never print the new key CD-34." a"Noted." u"go on" a"Done.""#,
);

fn has_line(digest: &str, line: &str) -> bool {
    digest.lines().any(|it| it == line)
}

#[test]
fn a_replaced_statement_is_marked_and_stays_marked() {
    let mut text = digest(&script(WORK), None);
    for round in 0..3 {
        for line in [
            "- Earlier request: The port is 8080. (updated later)",
            "- Earlier request: The region is us-west-2. (updated later)",
            "- Never print the key AB-12. (updated later)",
            "- Use 9090 instead of 8080.",
            "- Never print the new key CD-34.",
        ] {
            assert!(has_line(&text, line), "{round}: {line}\n{text}");
        }
        assert_eq!(text.matches(" (updated later)\n").count(), 3, "{round}: {text}");
        text = digest(&script(r#"u"go on" a"Done.""#), Some(&text));
    }
}

#[test]
fn a_digest_keeps_what_a_later_message_replaces() {
    let first = digest(&script(r#"u"Port it." a u"The port is 8080." a"Noted.""#), None);
    let second = digest(&script(r#"u"The port is 9090 now." a"Noted.""#), Some(&first));
    assert!(has_line(&second, "- Earlier request: The port is 8080. (updated later)"), "{second}");
}

#[test]
fn a_mere_correction_concerns_the_request_before_alone() {
    let first =
        digest(&script(r#"u"Port it." a u"The timeout is 30." a u"The port is 8080." a"Noted.""#), None);
    let second = digest(&script(r#"u"no, 9090" a"Noted.""#), Some(&first));
    assert!(has_line(&second, "- Latest request: The port is 8080. (updated later)"), "{second}");
    assert!(has_line(&second, "- Earlier request: The timeout is 30."), "{second}");
}

#[test]
fn a_rule_that_the_user_says_again_is_marked_no_more() {
    let again = r#"u"Never print the key AB-12." a"Noted." u"go on" a"Done.""#;
    let text = digest(&script(&[WORK, again].join(" ")), None);
    assert!(has_line(&text, "- Never print the key AB-12."), "{text}");
}
