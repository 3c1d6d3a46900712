//! Placeholders for secrets wherever the configuration is shown.

/// Printed instead of a secret. Rejected as a value, so that a printed configuration used as a file does not set a publicly known
/// password.
pub(crate) const HIDDEN: &str = "(set)";

/// Removes the passwords of a URL: before the host and among the parameters.
pub(crate) fn without_password(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        // If the text is not a URL, any part of it may be a password.
        return if url.is_empty() { String::new() } else { HIDDEN.to_owned() };
    };
    // Splits at the last `@`, so that an unescaped `@` in the password reveals nothing.
    let (login, place) = rest.rsplit_once('@').map_or((None, rest), |(login, place)| (Some(login), place));
    let login = match login.map(|login| login.split_once(':')) {
        None => String::new(),
        Some(None) => format!("{}@", login.unwrap_or_default()),
        Some(Some((user, _))) => format!("{user}:{HIDDEN}@"),
    };
    let (path, parameters) = place.split_once('?').map_or((place, None), |(path, query)| (path, Some(query)));
    let hidden = |parameter: &str| match parameter.split_once('=') {
        Some((name, _)) if name.to_ascii_lowercase().contains("password") => format!("{name}={HIDDEN}"),
        _ => parameter.to_owned(),
    };
    let parameters = parameters.map(|query| query.split('&').map(hidden).collect::<Vec<_>>().join("&"));
    format!("{scheme}://{login}{path}{}", parameters.map_or_else(String::new, |query| format!("?{query}")))
}

#[cfg(test)]
mod tests {
    use super::without_password;

    #[test]
    fn passwords_disappear_from_urls() {
        let table = [
            ("", ""),
            ("sqlite:///var/lib/probity/probity.db", "sqlite:///var/lib/probity/probity.db"),
            ("postgres://host/name", "postgres://host/name"),
            ("postgres://user@host/name", "postgres://user@host/name"),
            (
                "postgres://user:hunter2@host:5432/name?sslmode=require",
                "postgres://user:(set)@host:5432/name?sslmode=require",
            ),
            ("postgres://user:hun@ter2@host/name", "postgres://user:(set)@host/name"),
            ("postgres://user:hunter2/?@host/name", "postgres://user:(set)@host/name"),
            ("postgres://host/name?user=u&password=hunter2", "postgres://host/name?user=u&password=(set)"),
            ("postgres://host/name?Password=hunter2&x=1", "postgres://host/name?Password=(set)&x=1"),
            ("user:hunter2@host", "(set)"),
        ];
        for (url, shown) in table {
            assert_eq!(without_password(url), shown, "{url}");
        }
    }
}
