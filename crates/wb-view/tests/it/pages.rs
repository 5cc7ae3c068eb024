//! The page: what is on it, and that nothing on it can run.

use wb_message::Message;
use wb_view::{FoldedMessage, html, verdict};

use crate::sample::{DIGEST, context, details, messages};

/// Texts that try to be more than text.
const PAYLOADS: [&str; 40] = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "</pre><img src=x onerror=alert(1)>",
    "</details><svg onload=alert(1)>",
    "\"><script>alert(1)</script>",
    "'><script>alert(1)</script>",
    "\" onmouseover=\"alert(1)",
    "' onmouseover='alert(1)",
    "\" autofocus onfocus=alert(1) x=\"",
    "\"><img src=x onerror=alert(1)>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x>",
    "<math><mtext></p><img src onerror=alert(1)>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<object data=javascript:alert(1)>",
    "<embed src=javascript:alert(1)>",
    "<a href=javascript:alert(1)>x</a>",
    "javascript:alert(1)",
    "<form action=javascript:alert(1)><input type=submit>",
    "<base href=https://example.invalid/>",
    "<meta http-equiv=refresh content=0;url=https://example.invalid>",
    "<link rel=stylesheet href=https://example.invalid/x.css>",
    "<style>@import 'https://example.invalid/x.css';</style>",
    "<body onload=alert(1)>",
    "<input onfocus=alert(1) autofocus>",
    "<video><source onerror=alert(1)></video>",
    "<details open ontoggle=alert(1)>",
    "<!--<script>alert(1)</script>-->",
    "--><script>alert(1)</script>",
    "<![CDATA[<script>alert(1)</script>]]>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)",
    "<scr\0ipt>alert(1)</scr\0ipt>",
    "\u{202e}<script>alert(1)</script>\u{2066}",
    "\u{1b}]8;;javascript:alert(1)\u{7}x\u{1b}]8;;\u{7}<script>",
];

/// Renders a page on which a text is everywhere.
fn page_with(text: &str) -> String {
    let mut messages = messages();
    messages[0] = Message::user(text);
    messages[2] = Message::tool_result("c0", text, text);
    messages[18] = Message::assistant(text);
    let mut context = context(&messages);
    for place in [&mut context.file, &mut context.format] {
        place.push_str(text);
    }
    context.model = Some(text.to_owned());
    context.notes = vec![text.to_owned()];
    context.items.iter_mut().for_each(|item| text.clone_into(&mut item.label));
    let digest = format!("# Objective\n- {}\n  {}", text.replace('\n', " "), text.replace('\n', " "));
    let mut details = details(messages, &digest);
    for operation in &mut details.operations {
        (operation.what, operation.at) = (format!("compact {text}"), text.to_owned());
    }
    text.clone_into(&mut details.preview.added[0].label);
    details.digest.iter_mut().for_each(|line| line.source = Some(0));
    details.folded.insert(99, FoldedMessage { label: text.to_owned(), text: text.to_owned() });
    details.shows_credentials = true;
    html::page(&context, &details)
}

/// Returns the tags of a page with the names of their attributes, as a browser finds them.
fn tags(page: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut rest = page;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        let (mut tag, mut quote, mut end) = (String::new(), false, rest.len());
        for (at, c) in rest.char_indices() {
            match c {
                '"' => quote = !quote,
                '>' if !quote => {
                    end = at;
                    break;
                }
                c if !quote => tag.push(c),
                _ => {}
            }
        }
        all.push(tag);
        rest = &rest[end..];
    }
    all
}

#[test]
fn nothing_in_a_session_becomes_markup() {
    let plain = tags(&page_with("some harmless words"));
    assert!(plain.len() > 200, "{}", plain.len());
    for payload in PAYLOADS {
        let page = page_with(payload);
        assert!(
            page.contains("alert(1)") || page.contains("example.invalid") || page.contains("script"),
            "{payload}"
        );
        assert_eq!(tags(&page), plain, "{payload}");
        for outside in ["<script", "<iframe", "\u{202e}", "\u{1b}", "\0"] {
            assert!(!page.contains(outside), "{payload}: {outside}");
        }
    }
}

#[test]
fn a_page_loads_nothing_and_forbids_scripts() {
    let page = html::page(&context(&messages()), &details(messages(), DIGEST));
    assert!(page.contains("default-src 'none'; style-src 'unsafe-inline'"), "{page}");
    for outside in ["http:", "https:", "url(", "<link", "src=", "javascript:"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn every_link_has_its_target() {
    let page = html::page(&context(&messages()), &details(messages(), DIGEST));
    let links: Vec<&str> = page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert!(links.len() > 20, "{}", links.len());
    for link in links {
        assert!(page.contains(&format!("id=\"{link}\"")), "{link}");
    }
}

#[test]
fn the_verdict_is_on_top_and_numbers_are_grouped() {
    let (context, details) = (context(&messages()), details(messages(), DIGEST));
    let said = verdict(&context, &details);
    insta::assert_snapshot!(said.join("\n"));
    let page = html::page(&context, &details);
    assert!(page.find("class=\"verdict\"").unwrap() < page.find("<h2").unwrap());
    assert!(page.contains("1,900 tokens") && page.contains("9,000"));
}

#[test]
fn credentials_are_marked() {
    let mut messages = messages();
    messages[18] = Message::assistant("export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY1");
    let page = html::page(&context(&messages), &details(messages.clone(), DIGEST));
    assert!(!page.contains("wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY1"), "a credential is on the page");
}

#[test]
fn a_session_without_messages_has_a_page() {
    let page = html::page(&wb_view::Context::default(), &wb_view::Details::default());
    assert!(page.ends_with("</html>\n") && !page.contains("NaN"));
}
