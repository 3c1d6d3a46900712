//! Finds the addresses that a text names: an erased address must be in no text, with any text around it.
//!
//! A submitted row may be `Jo <jo@example.org>`, `jo@example.org;` or `mailto:jo@example.org?subject=x`. Each `@` belongs to at
//! most one address. The address is read as far as its characters allow, and again without those that may be punctuation.

/// Characters that people put before an address, although they are valid in one (RFC 5322, section 3.2.3, `atext`). If they are
/// part of another address, that one is erased as well: better one too many.
const SEPARATORS: &[char] = &['|', '/', '=', '?', '&', '`', '{', '}'];
/// Quotes and bullets, with which addresses rarely begin.
const AROUND: &[char] = &['\'', '.', '*', '#', '-'];

/// Whether a text is an address that `is_erased` accepts, or contains one.
pub(super) fn names(text: &str, is_erased: &dyn Fn(&str) -> bool) -> bool {
    let whole = text.trim();
    if is_erased(whole) {
        return true;
    }
    // Almost all rows of lists are an address and nothing else.
    let plain = |c: char| c.is_ascii_alphanumeric() || "@._-+".contains(c);
    let punctuated = whole.starts_with(AROUND) || whole.ends_with(['.', '-']);
    if !punctuated && whole.chars().all(plain) && whole.matches('@').count() < 2 {
        return false;
    }
    whole.match_indices('@').any(|(at, _)| {
        let domain = domain(&whole[at + 1..]);
        locals(&whole[..at]).into_iter().any(|local| is_erased(&format!("{local}@{domain}")))
    })
}

/// Returns the possible local parts of an address that ends here.
fn locals(before: &str) -> Vec<&str> {
    if let Some(inner) = before.strip_suffix('"') {
        // Quoted local part (RFC 5321, section 4.1.2). An escaped quote is not its beginning.
        let quotes = inner.rmatch_indices('"').map(|(at, _)| at);
        let begins = quotes.filter(|at| !inner[..*at].ends_with('\\'));
        return begins.map(|at| &before[at..]).take(1).collect();
    }
    let longest = &before[before.rfind(|c| !may_be_local(c)).map_or(0, |at| at + width(before, at))..];
    let last = &longest[longest.rfind(SEPARATORS).map_or(0, |at| at + 1)..];
    let mut all = vec![longest, last, longest.trim_start_matches(AROUND), last.trim_start_matches(AROUND)];
    all.sort_unstable();
    all.dedup();
    all.retain(|local| !local.is_empty());
    all
}

/// Returns the longest beginning of a text that may be a domain, without the end of a sentence.
fn domain(behind: &str) -> &str {
    if behind.starts_with('[') {
        return behind.find(']').map_or(behind, |end| &behind[..=end]);
    }
    behind[..behind.find(|c| !may_be_domain(c)).unwrap_or(behind.len())].trim_end_matches(['.', '-'])
}

fn width(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(0, char::len_utf8)
}

fn may_be_local(c: char) -> bool {
    "!#$%&'*+-/=?^_`{|}~.".contains(c) || may_be_word(c)
}

/// Whether a character may be in a label or a dot between labels (RFC 3490, section 3.1).
fn may_be_domain(c: char) -> bool {
    "-._\u{3002}\u{ff0e}\u{ff61}".contains(c) || may_be_word(c)
}

/// Whether a character is a letter or digit. Beyond ASCII, all are except spaces, controls and common punctuation.
fn may_be_word(c: char) -> bool {
    let punctuation = matches!(c, '\u{a0}'..='\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{3020}' | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}');
    let joins = matches!(c, '\u{200c}' | '\u{200d}' | 'ª' | 'µ' | 'º');
    if c.is_ascii() { c.is_ascii_alphanumeric() } else { !c.is_control() && (joins || !punctuation) }
}

#[cfg(test)]
mod tests {
    use crate::privacy::erasures::names::names;
    use crate::privacy::mailbox::normal_form;

    fn has(text: &str, email: &str) -> bool {
        let wanted = normal_form(email).0;
        names(text, &|found| normal_form(found).0 == wanted)
    }

    #[test]
    fn an_address_is_found_in_whatever_stands_around_it() {
        for text in [
            "jo@example.org",
            " JO@Example.ORG ",
            "jo@example.org;",
            "jo@example.org.",
            "Jo <jo@example.org>",
            "\"Jo, X\" <jo@example.org>, ann@example.org",
            "mailto:jo@example.org",
            "mailto:jo@example.org?subject=x@y",
            "https://example.com/?to=jo@example.org&x=1",
            "jo@example.org|x",
            "x|jo@example.org",
            "'jo@example.org'",
            "`jo@example.org`",
            "[\"jo@example.org\"]",
            "ann@example.org/jo@example.org",
            "“jo@example.org”",
            "Jo\u{a0}jo@example.org\u{a0}",
            "(jo@example.org)",
            "\"jo\"@example.org",
            "Jo <\"jo\"@example.org>",
            "-jo@example.org-",
        ] {
            assert!(has(text, "jo@example.org"), "{text}");
        }
    }

    #[test]
    fn another_address_is_not_taken_for_it() {
        for text in [
            "",
            "jo",
            "@example.org",
            "jo@",
            "ajo@example.org",
            "a.jo@example.org",
            "a+jo@example.org",
            "ä.jo@example.org",
            "jo@example.org.uk",
            "jo@example.orgs",
            "jo@example.orgä",
            "jo@sub.example.org",
            "jo @example.org",
            "o'jo@example.org",
        ] {
            assert!(!has(text, "jo@example.org"), "{text}");
        }
    }

    #[test]
    fn names_of_all_sorts_are_read_whole() {
        for (text, email) in [
            ("Name: o'brien@example.org,", "o'brien@example.org"),
            ("<jürgen@bücher.de>", "jürgen@bücher.de"),
            ("<jürgen@bücher.de>", "jürgen@xn--bcher-kva.de"),
            ("to a/b=c@example.org now", "a/b=c@example.org"),
            ("<用户@例え.テスト>", "用户@例え.テスト"),
            ("no address", "no address"),
            ("Jo <\"jo b\"@example.org>", "\"jo b\"@example.org"),
        ] {
            assert!(has(text, email), "{text}");
        }
    }
}
