//! Enumerations whose values have names: in the API, in configuration, in the database.

use std::borrow::Cow;

pub use serde;

/// Reads the name of one of the values.
pub fn read<'de, D: serde::Deserializer<'de>, T: Copy, const N: usize>(
    from: D,
    all: [T; N],
    name: fn(T) -> &'static str,
) -> Result<T, D::Error> {
    let given = <Cow<'de, str> as serde::Deserialize>::deserialize(from)?;
    let value = all.into_iter().find(|value| name(*value) == given);
    value.ok_or_else(|| serde::de::Error::custom(format_args!("must be one of {}", all.map(name).join(", "))))
}

/// Declares an enumeration with a name for each value: its list `ALL`, `as_str`, `from_name`, and the name as text and in JSON.
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$doc:meta])* $value:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        $vis enum $name { $($(#[$doc])* $value,)+ }

        impl $name {
            /// Every value, in the order of the declaration.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$value),+];

            /// Returns the value's name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$value => $text,)+ }
            }

            /// Returns the value with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.as_str() == name)
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = ();

            fn from_str(name: &str) -> ::std::result::Result<Self, ()> {
                Self::from_name(name).ok_or(())
            }
        }

        impl $crate::named::serde::Serialize for $name {
            fn serialize<S: $crate::named::serde::Serializer>(&self, to: S) -> ::std::result::Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        impl<'de> $crate::named::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::named::serde::Deserializer<'de>>(from: D) -> ::std::result::Result<Self, D::Error> {
                $crate::named::read(from, Self::ALL, Self::as_str)
            }
        }
    };
}

#[cfg(test)]
#[expect(unreachable_pub, reason = "the macro's functions are public, and the enumeration of this test is not")]
mod tests {
    named! {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Size {
            Small = "small",
            VeryLarge = "very_large",
        }
    }

    #[test]
    fn a_value_is_found_by_its_name_and_by_no_other() {
        assert_eq!(Size::ALL, [Size::Small, Size::VeryLarge]);
        for size in Size::ALL {
            assert_eq!((Size::from_name(size.as_str()), size.to_string().parse()), (Some(size), Ok(size)));
        }
        assert_eq!((Size::from_name("Small"), "large".parse::<Size>()), (None, Err(())));
        assert_eq!(format!("{:>6}", Size::Small), " small");
        assert_eq!(serde_json::to_string(&Size::ALL).unwrap(), r#"["small","very_large"]"#);
        assert_eq!(serde_json::from_str::<Size>(r#""very_large""#).unwrap(), Size::VeryLarge);
        let refused = serde_json::from_str::<Size>(r#""large""#).unwrap_err().to_string();
        assert!(refused.starts_with("must be one of small, very_large"), "{refused}");
    }
}
