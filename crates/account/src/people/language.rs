//! Languages of mail: those of the dashboard.

probity_mail::named! {
    /// Language of the dashboard, of mail and of headings in files, by its tag (BCP 47). Letters have their texts in this order.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum PageLanguage {
        /// English, the default.
        #[default]
        En = "en",
        /// German.
        De = "de",
        /// French.
        Fr = "fr",
        /// Spanish.
        Es = "es",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_those_of_the_contract() {
        for language in PageLanguage::ALL {
            assert_eq!(PageLanguage::from_name(language.as_str()), Some(language));
            assert_eq!(serde_json::to_value(language).unwrap(), language.as_str());
        }
        for other in ["", "DE", "de-AT", "it"] {
            assert_eq!(PageLanguage::from_name(other), None, "{other:?}");
        }
    }
}
