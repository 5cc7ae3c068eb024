//! The pictures of a request that its provider refuses.

use std::collections::HashMap;

use crate::encode::EncodedRequest;
use crate::request::RequestView;
use crate::rules::{NO_PICTURE, RULES, Rule};

/// A picture that a provider refuses, and its repair.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct RefusedPicture {
    /// The bytes in base64, as sent.
    pub data: String,
    /// The media type with which the picture is accepted; `None` if no media type helps.
    pub media_type: Option<String>,
}

impl RefusedPicture {
    /// The replacement for a picture that is refused with any media type.
    pub const TEXT: &str = NO_PICTURE;
}

impl EncodedRequest {
    /// Returns the pictures that are refused for their content or their number, one entry for each
    /// rule.
    pub fn refused_pictures(&self) -> Vec<RefusedPicture> {
        let view = RequestView::new(&self.body, self.dialect);
        let pictures = view.pictures().iter();
        let data: HashMap<&str, &str> =
            pictures.filter_map(|picture| Some((picture.at.as_str(), picture.content?.data))).collect();
        let is_of_dialect = |rule: &&Rule| rule.source(self.dialect).is_some();
        let rules = RULES.iter().filter(|rule| Rule::OF_PICTURES.contains(&rule.id)).filter(is_of_dialect);
        let found = rules.flat_map(|rule| (rule.check)(&view));
        let refused = found.filter_map(|finding| {
            let data = (*data.get(finding.at.as_str())?).to_owned();
            Some(RefusedPicture { data, media_type: finding.repair_value })
        });
        refused.collect()
    }
}
