//! XML escapes for texts inside a frame of tags.

use std::borrow::Cow;

/// Escapes `&`, `<` and `>`, so that a text cannot close the tags around it.
pub fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Undoes [`escape_xml`].
pub(crate) fn unescape_xml(text: &str) -> Cow<'_, str> {
    if text.contains('&') {
        Cow::Owned(text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    } else {
        Cow::Borrowed(text)
    }
}
