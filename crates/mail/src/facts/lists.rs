//! What lists say of an address: role, disposable, free, relay, mail provider, parked.
//!
//! Every list is a text file of sorted lines (see `docs/data.md` for sources and licences), embedded in the program and
//! replaceable at run time by files of the same names: [`Lists::with_files`] takes their contents, because this crate does
//! no I/O. `NAME.txt` replaces an embedded list, `NAME.add.txt` adds lines, `NAME.remove.txt` takes lines away. A file
//! that cannot be read or is not known refuses the whole change with a [`ListError`], so that a slip of the pen never
//! turns a list off silently.
//!
//! Domains are lower-case A-labels. A domain on the guard list (real providers and large sites) is never disposable,
//! whatever the other lists say: public lists name real ones now and then.

mod files;
mod role;
pub(crate) mod text_set;
mod words;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::facts::gibberish::Model;
use crate::facts::suggest::Suggester;
use files::{ListTexts, set};
use text_set::{KeyHash, TextSet, suffixes};
use words::NameWords;

pub use files::FILES;

/// A list file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}: {what}")]
pub struct ListError {
    /// The file's name.
    pub file: String,
    /// The line, counted from 1; 0 when the whole file is meant.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

/// Who runs an exchanger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// A stable short name, such as `google` or `microsoft365`; policies are keyed on it.
    pub id: String,
    /// The name for people.
    pub name: String,
}

/// All lists and models about addresses.
#[derive(Debug)]
pub struct Lists {
    role: TextSet,
    role_parts: TextSet,
    disposable: TextSet,
    disposable_words: NameWords,
    disposable_exchangers: TextSet,
    parked_exchangers: TextSet,
    guard: TextSet,
    free: TextSet,
    relay: TextSet,
    no_catch_all: TextSet,
    mailboxes: TextSet,
    provider_suffixes: TextSet,
    providers: BTreeMap<String, Provider>,
    pub(crate) suggester: Suggester,
    pub(crate) model: Model,
}

impl Lists {
    /// The lists that come with the program, indexed at the first call.
    pub fn embedded() -> &'static Arc<Self> {
        static EMBEDDED: OnceLock<Arc<Lists>> = OnceLock::new();
        EMBEDDED.get_or_init(|| {
            Arc::new(Self::with_files(&BTreeMap::new()).expect("the embedded lists are checked by a test"))
        })
    }

    /// The embedded lists with some replaced, extended or shortened: names of files and their contents.
    pub fn with_files(changes: &BTreeMap<String, String>) -> Result<Self, ListError> {
        let source = ListTexts::new(changes)?;
        let provider_suffixes = set(&source, "providers")?;
        let (free, popular) = (set(&source, "free")?, set(&source, "popular")?);
        let model = Model::parse(&source.text("gibberish")).map_err(|error| ListError {
            file: "gibberish.txt".into(),
            line: error.line,
            what: error.what.into(),
        })?;
        Ok(Self {
            role: set(&source, "role")?,
            role_parts: set(&source, "role_parts")?,
            disposable: set(&source, "disposable")?,
            disposable_words: NameWords::new(&set(&source, "disposable_words")?, [&free, &popular])?,
            disposable_exchangers: set(&source, "disposable_exchangers")?,
            parked_exchangers: set(&source, "parked_exchangers")?,
            guard: set(&source, "guard")?,
            free,
            relay: set(&source, "relay")?,
            no_catch_all: set(&source, "no_catch_all")?,
            mailboxes: set(&source, "mailboxes")?,
            providers: providers(&provider_suffixes)?,
            provider_suffixes,
            suggester: Suggester::new(&popular)?,
            model,
        })
    }

    /// Is the local part (or the part before `+`) that of a function and not of a person?
    pub fn role(&self, local: &str) -> bool {
        role::is_role(&self.role, &self.role_parts, local)
    }

    /// Is the domain, or a domain above it, a throw-away one, by the list or by what its name says? Never for a guarded
    /// domain, and never by its name for a relay.
    pub fn disposable(&self, domain: &str) -> bool {
        let lists = self.membership(domain);
        self.throw_away(domain, lists)
    }

    /// The same, for a domain whose lists are known. Its name is read only where no list has it.
    pub(crate) fn throw_away(&self, domain: &str, lists: Membership) -> bool {
        !lists.guarded && (lists.throw_away || (!lists.relay && self.disposable_words.tell(domain)))
    }

    /// Does this exchanger serve throw-away domains?
    ///
    /// Those on the exchanger list do, and those inside a listed throw-away domain. The second is only a guess, because
    /// public lists name mail hosters now and then: it is not made for a guarded host, for that of a known mail
    /// provider, or for a relay's.
    pub fn disposable_exchanger(&self, mx_host: &str) -> bool {
        self.disposable_exchangers.suffix_value(mx_host).is_some()
            || (self.disposable(mx_host) && self.provider(mx_host).is_none() && !self.relay(mx_host))
    }

    /// Does this exchanger take the mail of parked and for-sale domains?
    pub fn parked_exchanger(&self, mx_host: &str) -> bool {
        self.parked_exchangers.suffix_value(mx_host).is_some()
    }

    /// Is the domain, or the one above it, that of a real provider or a large site?
    pub fn guarded(&self, domain: &str) -> bool {
        self.listed(&self.guard, domain) || self.listed(&self.free, domain)
    }

    /// Does everybody get an address here (consumer mail)?
    pub fn free(&self, domain: &str) -> bool {
        self.free.has(KeyHash::of(domain), domain)
    }

    /// Does the domain forward to a mailbox that its owner hides (masking and alias services)?
    pub fn relay(&self, domain: &str) -> bool {
        self.listed(&self.relay, domain)
    }

    /// Is it known that this domain refuses unknown recipients?
    pub fn known_not_catch_all(&self, domain: &str) -> bool {
        self.no_catch_all.contains(domain)
    }

    /// Who runs this exchanger, by the longest known suffix of its name.
    pub fn provider(&self, mx_host: &str) -> Option<&Provider> {
        let value = self.provider_suffixes.suffix_value(mx_host)?;
        let (id, _) = value.split_once('\t')?;
        self.providers.get(id)
    }

    /// The end of the names of a domain's exchangers, where it is a domain of a large mailbox provider: what can be said of who
    /// takes its mail without asking anybody. A hint; the domain's own DNS decides.
    pub fn exchanger_of(&self, domain: &str) -> Option<&str> {
        self.mailboxes.get(KeyHash::of(domain), domain)
    }

    /// All mail providers, by id.
    pub fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.providers.values()
    }

    /// How many lines each list has, for the log and the doctor.
    pub fn counts(&self) -> [(&'static str, usize); 12] {
        [
            ("role", self.role.len()),
            ("role_parts", self.role_parts.len()),
            ("disposable", self.disposable.len()),
            ("disposable_words", self.disposable_words.len()),
            ("disposable_exchangers", self.disposable_exchangers.len()),
            ("parked_exchangers", self.parked_exchangers.len()),
            ("guard", self.guard.len()),
            ("free", self.free.len()),
            ("relay", self.relay.len()),
            ("no_catch_all", self.no_catch_all.len()),
            ("mailboxes", self.mailboxes.len()),
            ("providers", self.provider_suffixes.len()),
        ]
    }

    /// Is the domain or one of its parents (at least two labels) in the set?
    ///
    /// The walk needs no public suffix list: the lists hold none of its suffixes (the refresh command removes them), so
    /// that nothing above a registrable domain can match.
    #[expect(clippy::unused_self, reason = "reads as a question to the lists")]
    fn listed(&self, set: &TextSet, domain: &str) -> bool {
        suffixes(domain).take_while(|name| name.contains('.')).any(|name| set.contains(name))
    }

    /// What the lists of domains say of a domain and of those above it, in one walk with one hash for each name.
    pub(crate) fn membership(&self, domain: &str) -> Membership {
        let mut found = Membership::default();
        for (depth, name) in suffixes(domain).take_while(|name| name.contains('.')).enumerate() {
            let hash = KeyHash::of(name);
            let free = self.free.has(hash, name);
            found.free |= free && depth == 0;
            found.guarded |= free || self.guard.has(hash, name);
            found.relay |= self.relay.has(hash, name);
            found.throw_away |= !found.guarded && self.disposable.has(hash, name);
        }
        found
    }
}

/// Which lists have a domain.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one flag for each list")]
pub(crate) struct Membership {
    /// The very domain is a consumer mail provider's.
    pub(crate) free: bool,
    /// It or one above it is on the guard or free list.
    pub(crate) guarded: bool,
    /// It or one above it is a relay's.
    pub(crate) relay: bool,
    /// It or one above it is on the disposable list, whatever the guard list says.
    throw_away: bool,
}

impl Membership {
    pub(crate) fn is_real(self) -> bool {
        self.guarded || self.relay
    }
}

fn providers(suffixes: &TextSet) -> Result<BTreeMap<String, Provider>, ListError> {
    let mut found = BTreeMap::new();
    for (suffix, value) in suffixes.iter() {
        let Some((id, name)) = value.split_once('\t') else {
            return Err(ListError {
                file: "providers.txt".into(),
                line: 0,
                what: format!("{suffix}: the line is SUFFIX, ID and NAME, divided by tabs"),
            });
        };
        found.insert(id.to_owned(), Provider { id: id.to_owned(), name: name.to_owned() });
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
