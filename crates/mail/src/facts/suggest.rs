//! "Did you mean": the address that was probably meant, for slips in the domain.
//!
//! Two questions, in this order. Is the domain a real one (free, guard and relay lists, popular domains)? Then nothing is
//! suggested, however near it is to another: `ymail.com`, `gmx.de`, `email.com`. If not: is its name a few slips away
//! from a popular one, or is its ending one slip away from a real ending? A slip has a price ([`cost`]): doubled letters,
//! swaps and neighbouring keys are cheap, strange letters dear; a name may cost more the longer and the more popular its
//! original is. Candidates come from an index of deletions ([`bags`]), never from a comparison with every popular domain.
//!
//! A disposable domain gets no suggestion unless it is one slip away from a well-known provider, or has the letters of one in
//! another order (`gimal.com`); it is never suggested itself.
//!
//! A wrong suggestion costs trust and a missing one little, so an unknown name with a real ending must be very near to a
//! popular domain. Two slips away from it may be a firm of its own: such a suggestion is a guess ([`Suggestion::is_guess`]), which
//! holds only if the domain takes no mail. A suggestion never changes a verdict. Text that is no address at all is [`text`]'s.

mod bags;
pub(crate) mod cost;
mod ending;
mod text;

use crate::address::{Address, MAX_PATH_BYTES, without_lead};
use crate::facts::lists::text_set::{KeyHash, TextSet};
use crate::facts::lists::{ListError, Lists, Membership};
use crate::rng::stable_hash;
use bags::Bags;
use cost::{FAR, ONE_EDIT, SHORT_NAME_LETTERS_MAX, SHUFFLED, slip_of_name};
use ending::Cut;

/// What a name of this many letters may cost at most, hundredths of an edit, by the letters of the meant name.
///
/// Near a short name most names are somebody's. One of up to four letters bears a swap, a key beside or a letter too few,
/// but no strange letter; one of up to six that a single country uses bears two cheap edits.
fn budget(letters: usize, tier: u32) -> u32 {
    let full = match letters {
        0..=3 => 80,
        4 => 90,
        5..=6 => 160,
        7..=9 => 200,
        _ => 240,
    };
    match tier {
        1 => full,
        2 => full.min(if letters <= SHORT_NAME_LETTERS_MAX { 150 } else { 170 }),
        _ if letters <= 4 => 0,
        _ => 100,
    }
}

/// The address that was probably meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// The whole address.
    pub email: String,
    /// The domain is two slips or more away and can exist, so only DNS can tell whether it is a slip.
    pub is_guess: bool,
}

impl Suggestion {
    /// Returns the address, unless it is a guess about a domain that takes mail or was not looked up.
    pub fn asserted(self, takes_no_mail: bool) -> Option<String> {
        (takes_no_mail || !self.is_guess).then_some(self.email)
    }
}

/// Writes a suggested address like the given text: with U-labels, unless that has A-labels itself or they would be too long.
pub fn written_like(given: &str, suggestion: String) -> String {
    let whole = suggestion.rsplit_once('@').zip(Address::parse(&suggestion).ok());
    let written = whole.map(|((local, _), address)| format!("{local}@{}", address.domain().unicode()));
    let has_a_labels = given.to_ascii_lowercase().contains("xn--");
    written.filter(|written| !has_a_labels && written.len() <= MAX_PATH_BYTES).unwrap_or(suggestion)
}

/// A popular domain.
#[derive(Clone, Debug)]
struct Target {
    domain: String,
    name: String,
    ending: String,
    /// 1: used all over the world; 2: the large ones of a country; 3: the others.
    tier: u32,
}

/// Popular domains, indexed for slips.
#[derive(Debug)]
pub(crate) struct Suggester {
    targets: Vec<Target>,
    bags: Bags,
    popular: TextSet,
    /// Skeletons of the tier 1 and 2 domains (UTS 39), for look-alikes in other scripts.
    skeletons: Vec<(String, usize)>,
    /// Hashes of the domains without their dots, for dots that are missing or at another place.
    squeezed: Vec<(u64, usize)>,
    /// The endings of popular domains and those that are slips of them, sorted: a name before any other real ending is
    /// not searched for.
    endings: Vec<String>,
}

impl Suggester {
    /// Reads `popular.txt`: lines `DOMAIN<TAB>TIER`.
    pub(crate) fn new(popular: &TextSet) -> Result<Self, ListError> {
        let mut targets = Vec::new();
        for (domain, tier) in popular.iter() {
            let cut = ending::cut(domain).filter(|cut| cut.real && !cut.name.contains('.'));
            let (Some(cut), Ok(tier @ 1..=3)) = (cut, tier.parse()) else {
                let what = format!("{domain}: the line is a registrable DOMAIN, a tab and a TIER of 1 to 3");
                return Err(ListError { file: "popular.txt".into(), line: 0, what });
            };
            let (name, ending) = (cut.name.to_owned(), cut.ending.to_owned());
            targets.push(Target { domain: domain.to_owned(), name, ending, tier });
        }
        let bags = Bags::new(targets.iter().map(|target| target.name.as_str()));
        let mut skeletons: Vec<_> = (0..targets.len())
            .filter(|&n| targets[n].tier <= 2)
            .map(|n| (unicode_security::skeleton(&targets[n].domain).collect(), n))
            .collect();
        skeletons.sort_unstable();
        let mut squeezed: Vec<_> =
            targets.iter().enumerate().map(|(n, t)| (stable_hash(dotless(&t.domain)), n)).collect();
        squeezed.sort_unstable();
        let mut endings: Vec<_> = targets.iter().map(|target| target.ending.clone()).collect();
        endings.extend(ending::doubtful_endings().map(str::to_owned));
        endings.sort_unstable();
        endings.dedup();
        Ok(Self { targets, bags, popular: popular.clone(), skeletons, squeezed, endings })
    }

    /// Is a domain one slip or one look-alike away from a provider that the whole world uses or from the long name of a large one,
    /// or does it have the letters of the former in another order? Such domains are registered to catch the mail of others, and
    /// lists of throw-away domains have them.
    fn is_one_slip(&self, domain: &str, meant: &str) -> bool {
        let is_sure =
            |target: &Target| target.tier == 1 || (target.tier == 2 && target.name.len() > SHORT_NAME_LETTERS_MAX);
        let Some(target) = self.targets.iter().find(|target| target.domain == meant && is_sure(target)) else {
            return false;
        };
        let limit = if target.tier == 1 { SHUFFLED } else { ONE_EDIT };
        slip_of_name(domain.as_bytes(), meant.as_bytes()) <= limit || self.look_alike(domain) == Some(meant)
    }

    /// Is a domain that can exist two slips or more away from the popular one that was meant? Another ending is one slip, and so
    /// is a look-alike of any length.
    fn is_guess(&self, domain: &str, meant: &str) -> bool {
        let (Some(typed), Some(right)) = (ending::cut(domain).filter(|cut| cut.real), ending::cut(meant)) else {
            return false;
        };
        let apart = strsim::osa_distance(typed.name, right.name) + usize::from(typed.ending != right.ending);
        apart.min(strsim::osa_distance(domain, meant)) > 1
            && domain.strip_prefix("www.") != Some(meant)
            && self.look_alike(domain) != Some(meant)
    }

    fn is_popular(&self, domain: &str) -> bool {
        self.popular.has(KeyHash::of(domain), domain)
    }

    /// The popular domain that `cut` is the cheapest slip of.
    fn nearest(&self, cut: Cut<'_>) -> Option<&Target> {
        if cut.real && !is_single_brand(cut.name) && !self.endings.iter().any(|ending| ending == cut.ending) {
            return None;
        }
        let mut best: Option<(u32, &Target)> = None;
        // A name that somebody has is no slip of another one: `telia.net` is not `telus.net`.
        let is_taken = cut.real && self.targets.iter().any(|target| target.name == cut.name);
        let mut last = u32::MAX;
        for number in self.bags.near(cut.name.as_bytes()) {
            if number == last {
                continue;
            }
            last = number;
            let Some(target) = usize::try_from(number).ok().and_then(|n| self.targets.get(n)) else {
                continue;
            };
            if is_taken && target.name != cut.name {
                continue;
            }
            let Some(price) = price(cut, target) else {
                continue;
            };
            if best.is_none_or(|(lowest, other)| is_better(cut.name, (price, target), (lowest, other))) {
                best = Some((price, target));
            }
        }
        best.map(|(_, target)| target)
    }

    /// A look-alike of a popular domain in other letters: `xn--gmal-nza.com`, `grnail.com`, `gmai1.com`.
    fn look_alike(&self, domain: &str) -> Option<&str> {
        let looks_odd = domain.contains("xn--") || domain.bytes().any(|b| b.is_ascii_digit()) || domain.contains("rn");
        if !looks_odd && !domain.contains("vv") {
            return None;
        }
        let shown = if domain.contains("xn--") { idna::domain_to_unicode(domain).0 } else { domain.to_owned() };
        let bare = without_marks(&shown);
        self.by_skeleton(&shown).or_else(|| self.by_skeleton(&bare)).filter(|found| *found != domain)
    }

    /// The popular domain with the same letters and other dots: `webde`, `wanadoof.r`, `gmail.c.om`.
    fn moved_dots(&self, domain: &str, real: bool) -> Option<&str> {
        let typed = stable_hash(dotless(domain));
        let at = self.squeezed.binary_search_by_key(&typed, |(hash, _)| *hash).ok()?;
        let target = &self.targets[self.squeezed[at].1];
        // With a real ending the domain may be somebody's: only the most popular ones are then more likely.
        let same_letters = dotless(domain).eq(dotless(&target.domain));
        (same_letters && target.domain != domain && (!real || target.tier == 1)).then_some(target.domain.as_str())
    }

    fn by_skeleton(&self, shown: &str) -> Option<&str> {
        // UTS 39 keeps o and 0 apart (0 looks like O, and O is folded to o by mail), so zeros are folded here.
        let typed: String = unicode_security::skeleton(&shown.to_lowercase().replace('0', "o")).collect();
        let at = self.skeletons.binary_search_by(|(skeleton, _)| skeleton.as_str().cmp(&typed)).ok()?;
        Some(&self.targets[self.skeletons[at].1].domain)
    }
}

fn dotless(domain: &str) -> impl Iterator<Item = u8> {
    domain.bytes().filter(|b| *b != b'.')
}

/// Letters without their accents: `gmaïl` is `gmail`.
fn without_marks(text: &str) -> String {
    use unicode_normalization::UnicodeNormalization;
    text.nfd().filter(|c| !unicode_normalization::char::is_combining_mark(*c)).collect()
}

/// Price of reading a cut domain as a target, if it is within the budget.
fn price(cut: Cut<'_>, target: &Target) -> Option<u32> {
    let budget = budget(target.name.len(), target.tier);
    // A right name bears a wrong ending better than a wrong name does.
    let limit = if cut.name == target.name { budget.max(160) } else { budget };
    let mut ending = ending::price(cut.ending, cut.real, &target.ending);
    if ending == FAR && cut.name == target.name && target.tier == 1 && is_single_brand(&target.name) {
        // Nobody but the owner has mail under this name, so any other ending is a slip.
        ending = 100;
    }
    let is_taken = cut.real && ending::is_other_kind(cut.ending, &target.ending) && !has_worldwide_com(target);
    if ending > limit || is_taken {
        return None;
    }
    let slip = slip_of_name(cut.name.as_bytes(), target.name.as_bytes());
    // Of two slips in a short name of one country, none is in the first letter: `haber.com` is not `naver.com`.
    let is_short = target.tier == 2 && target.name.len() <= SHORT_NAME_LETTERS_MAX;
    let is_other = is_short && slip > ONE_EDIT && cut.name.as_bytes().first() != target.name.as_bytes().first();
    let total = slip.saturating_add(ending);
    (total <= limit && !is_other).then_some(total)
}

/// Whether `.com`, `.net` or `.org` in place of the target's ending is a slip. Both names of a firm exist as a rule (`telia.net`,
/// `cox.com`), so it is one only for a provider that the whole world uses, and where `.com` stands for the `.net` of a large
/// provider with a long name (`sbcglobal.com`).
fn has_worldwide_com(target: &Target) -> bool {
    target.tier == 1 || (target.tier == 2 && target.ending == "net" && target.name.len() > SHORT_NAME_LETTERS_MAX)
}

/// Names that are an address only under the endings that the lists have.
fn is_single_brand(name: &str) -> bool {
    ["gmail", "googlemail", "icloud"].contains(&name)
}

/// The cheaper, then the more popular, then the one with the more similar beginning.
fn is_better(typed: &str, one: (u32, &Target), other: (u32, &Target)) -> bool {
    let rank = |(price, target): (u32, &Target)| (price, target.tier);
    rank(one) < rank(other)
        || rank(one) == rank(other)
            && strsim::jaro_winkler(typed, &one.1.name) > strsim::jaro_winkler(typed, &other.1.name)
}

impl Lists {
    /// The whole address that was probably meant, for a parsed address (decoded local part, A-label domain).
    ///
    /// Never the same address; `None` for a domain that is real, or that is like no other, unless a mark is before the local part.
    pub fn suggest(&self, local: &str, domain: &str) -> Option<Suggestion> {
        self.suggest_knowing(local, domain, self.membership(domain))
    }

    /// As [`Lists::suggest`], for a domain whose lists are known.
    pub(crate) fn suggest_knowing(&self, local: &str, domain: &str, lists: Membership) -> Option<Suggestion> {
        let bare = without_lead(local);
        // Nobody has a mailbox of their own at a throw-away domain.
        let is_guess = |meant: &str| !self.throw_away(domain, lists) && self.suggester.is_guess(domain, meant);
        match self.domain_knowing(domain, lists) {
            Some(meant) if bare == local || !is_guess(&meant) => {
                Some(Suggestion { email: format!("{}@{meant}", written_local(bare)), is_guess: is_guess(&meant) })
            }
            // The mark alone is taken away, whatever the domain is.
            _ if bare != local => {
                Some(Suggestion { email: format!("{}@{domain}", written_local(bare)), is_guess: false })
            }
            _ => None,
        }
    }

    /// The domain that was probably meant, if it is not this one.
    pub(crate) fn suggest_domain(&self, domain: &str) -> Option<String> {
        self.domain_knowing(domain, self.membership(domain))
    }

    fn domain_knowing(&self, domain: &str, lists: Membership) -> Option<String> {
        if let Some(rest) = domain.strip_prefix("www.").filter(|rest| self.suggester.is_popular(rest)) {
            return Some(rest.to_owned());
        }
        if lists.is_real() {
            return None;
        }
        let meant = self.suggest_for_unknown(domain).filter(|meant| !self.disposable(meant))?;
        (!self.throw_away(domain, lists) || self.suggester.is_one_slip(domain, &meant)).then_some(meant)
    }

    /// The domain that was probably meant by one that no list of real domains has.
    fn suggest_for_unknown(&self, domain: &str) -> Option<String> {
        let suggester = &self.suggester;
        if suggester.is_popular(domain) {
            return None;
        }
        let cut = ending::cut(domain);
        if let Some(found) = suggester.moved_dots(domain, cut.is_some_and(|cut| cut.real)) {
            return Some(found.to_owned());
        }
        if !domain.contains('.') {
            return self.without_dot(domain);
        }
        if let Some(found) = self.by_name(domain, cut?) {
            return Some(found);
        }
        let fixed = ending::corrected_ending(domain, cut?)?;
        let nearer = ending::cut(&fixed).and_then(|cut| self.by_name(&fixed, cut));
        Some(nearer.unwrap_or(fixed))
    }

    fn by_name(&self, domain: &str, cut: Cut<'_>) -> Option<String> {
        let suggester = &self.suggester;
        if suggester.is_popular(domain) {
            return None;
        }
        if let Some(found) = suggester.look_alike(domain) {
            return Some(found.to_owned());
        }
        if cut.name.contains('.') {
            return None;
        }
        if let Some(found) = suggester.nearest(cut) {
            return Some(found.domain.clone());
        }
        // Digits behind the name: `gmail123.com`.
        let bare = cut.name.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = cut.name.len() - bare.len();
        // A number behind a short name makes another one: `live800.com`, `sky88.com`.
        if digits == 0 || (digits > 1 && bare.len() <= 4) {
            return None;
        }
        Some(format!("{bare}.{}", cut.ending)).filter(|joined| suggester.is_popular(joined))
    }

    /// `exampleorg`, `gmailcom` and `gmail`.
    fn without_dot(&self, domain: &str) -> Option<String> {
        if let Some(fixed) = ending::missing_dot(domain) {
            let nearer = ending::cut(&fixed).and_then(|cut| self.by_name(&fixed, cut));
            return Some(nearer.unwrap_or(fixed));
        }
        let target = self.suggester.targets.iter().filter(|t| t.tier == 1 && t.name == domain && t.name.len() > 3);
        target.min_by_key(|t| (t.ending != "com", t.domain.as_str())).map(|t| t.domain.clone())
    }
}

/// A local part as it is written in an address: quoted where it must be (RFC 5321 §4.1.2).
fn written_local(local: &str) -> String {
    let is_atext = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || !c.is_ascii();
    if local.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_atext)) {
        return local.to_owned();
    }
    let mut quoted = String::with_capacity(local.len() + 2);
    quoted.push('"');
    for c in local.chars() {
        if matches!(c, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests;
