//! The escapes of XML, for texts that stand in a frame of tags.

use std::borrow::Cow;

/// Returns a text in which `&`, `<` and `>` are escaped as in XML, so that it cannot end the frame that it stands in.
pub fn escape_xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Returns what [`escape_xml`] was given.
pub(crate) fn unescape_xml(text: &str) -> Cow<'_, str> {
    if text.contains('&') {
        Cow::Owned(text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    } else {
        Cow::Borrowed(text)
    }
}
