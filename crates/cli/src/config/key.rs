//! Keys: their properties for the configuration's reader, its printed form, its documentation and its messages.
//!
//! The macros create a serde struct and the table of its keys from one declaration, so that the two cannot differ.

use toml::{Table, Value};

use super::value::{KeyValue, Secrecy, ValueForm};
use super::{names, secret};

/// Key of the configuration.
#[derive(Debug)]
pub(crate) struct ConfigKey {
    /// Name with its section, as in `probe.port`; without a section for a key of a repeated table.
    pub name: &'static str,
    /// Name in its section.
    pub field: &'static str,
    /// Default, or example for a key of a repeated table, as TOML.
    pub value: &'static str,
    /// Effect of a missing key of a repeated table, in words.
    pub otherwise: &'static str,
    /// Comment in Markdown, by line.
    pub comment: &'static [&'static str],
    pub form: ValueForm,
    pub check: fn(&Value) -> Result<(), String>,
    secrecy: Secrecy,
}

impl ConfigKey {
    pub(crate) const fn of<T: KeyValue>(
        [name, field]: [&'static str; 2],
        [value, otherwise]: [&'static str; 2],
        comment: &'static [&'static str],
    ) -> Self {
        let check = |value: &Value| T::read(value).map(|_| ());
        Self { name, field, value, otherwise, comment, form: T::FORM, check, secrecy: T::SECRECY }
    }

    /// Formats the error of a value, without the file's name.
    pub(crate) fn complaint(&self, value: &Value) -> Option<String> {
        (self.check)(value).err().map(|what| format!("`{}`: {what}", self.name))
    }

    /// Returns a value as it may be shown.
    pub(crate) fn shown(&self, value: &Value) -> Value {
        match (self.secrecy, value.as_str()) {
            (Secrecy::Secret, Some(text)) if !text.is_empty() => Value::String(secret::HIDDEN.to_owned()),
            (Secrecy::Password, Some(text)) => Value::String(secret::without_password(text)),
            _ => value.clone(),
        }
    }

    /// Returns the default, or the example of a key of a repeated table.
    pub(crate) fn sample(&self) -> Value {
        let table = format!("sample = {}", self.value).parse::<Table>();
        table.ok().and_then(|mut table| table.remove("sample")).expect("a declaration has valid TOML")
    }
}

/// A section and its keys.
#[derive(Debug)]
pub(crate) struct ConfigSection {
    pub name: &'static str,
    /// Description of the section, by line.
    pub about: &'static [&'static str],
    pub keys: &'static [ConfigKey],
}

/// Declares the sections: a struct for each, `Sections` with all of them, and their keys.
macro_rules! sections {
    ($(
        $(#[doc = $about:literal])+
        [$section:literal] $member:ident: $Section:ident {
            $($(#[doc = $doc:literal])+ $field:ident: $Type:ty = $default:tt;)+
        }
    )+) => {
        $(
            $(#[doc = $about])+
            #[derive(Clone, Debug, serde::Deserialize)]
            #[serde(deny_unknown_fields)]
            pub(crate) struct $Section {
                $(
                    $(#[doc = $doc])+
                    #[serde(deserialize_with = "crate::config::value::deserialize")]
                    pub $field: $Type,
                )+
            }
        )+

        /// Values of all keys.
        #[derive(Clone, Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct Sections {
            $($(#[doc = $about])+ #[serde(rename = $section)] pub $member: $Section,)+
        }

        /// Every section with its keys, in the order in which they are printed.
        pub(crate) const SECTIONS: &[$crate::config::key::ConfigSection] = &[$($crate::config::key::ConfigSection {
            name: $section,
            about: &[$($about),+],
            keys: &[$($crate::config::key::ConfigKey::of::<$Type>(
                [concat!($section, ".", stringify!($field)), stringify!($field)],
                [stringify!($default), ""],
                &[$($doc),+],
            ),)+],
        },)+];
    };
}

/// Declares a table that may be repeated: all its keys may be missing; each has an example, and words for the effect of its
/// absence.
macro_rules! repeated_table {
    (
        $(#[doc = $about:literal])+
        $Table:ident {
            $($(#[doc = $doc:literal])+ $field:ident: $Type:ty = $example:tt, $otherwise:literal;)+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(super) struct $Table {
            $(
                $(#[doc = $doc])+
                #[serde(default, deserialize_with = "crate::config::value::deserialize_some")]
                pub $field: Option<$Type>,
            )+
        }

        impl $Table {
            pub(super) const KEYS: &[$crate::config::key::ConfigKey] = &[$($crate::config::key::ConfigKey::of::<$Type>(
                [stringify!($field), stringify!($field)],
                [stringify!($example), $otherwise],
                &[$($doc),+],
            ),)+];

            /// Reads a table, whose keys have this prefix in messages.
            pub(super) fn read(table: &toml::Table, prefix: &str) -> Result<Self, String> {
                $crate::config::key::check_table(Self::KEYS, table, prefix)?;
                Ok(table.clone().try_into().expect("every value was checked"))
            }
        }
    };
}

/// Refuses a repeated table with an unknown key or a wrong value.
pub(super) fn check_table(keys: &[ConfigKey], table: &Table, prefix: &str) -> Result<(), String> {
    for (name, value) in table {
        let known = keys.iter().find(|key| key.field == name).ok_or_else(|| {
            let meant = names::meant(name, keys.iter().map(|key| key.field));
            format!("there is no such key; did you mean `{meant}`?")
        });
        known.and_then(|key| (key.check)(value)).map_err(|what| format!("`{prefix}{name}`: {what}"))?;
    }
    Ok(())
}

pub(super) use {repeated_table, sections};
