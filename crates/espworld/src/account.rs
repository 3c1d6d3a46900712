//! Account behind every platform: lists, contacts, tags, fields, webhooks, and a record of all changes.
//!
//! Contacts are generated from their number and stored only once they change, so 1,000,000 of them take a few megabytes.
//! Every change passes through this module and is recorded once, regardless of the platform's dialect.

mod changes;
mod contact;
pub(crate) mod ids;
mod tokens;
mod view;

use std::collections::{BTreeMap, BTreeSet, HashMap};

pub use changes::{EspEffect, EspEffectKind};
pub(crate) use contact::{ContactMold, mixed};
pub use contact::{EspContact, EspState};
pub(crate) use tokens::EspTokens;
pub(crate) use view::{PageOrder, Selection, Slice};

/// List, group, audience or newsletter.
#[derive(Clone, Debug)]
pub struct EspList {
    /// Number from 1.
    pub number: u32,
    pub name: String,
    members: Vec<u32>,
}

/// Tag, label, or group used as a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EspTag {
    pub id: u32,
    pub name: String,
}

/// Custom field of the account or of one list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EspField {
    pub id: u32,
    pub list: Option<u32>,
    /// Name of the field in calls.
    pub key: String,
    pub name: String,
}

/// Registered webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EspHook {
    pub id: u32,
    pub list: Option<u32>,
    pub url: String,
    pub secret: Option<String>,
    pub is_active: bool,
}

/// Account.
#[derive(Debug)]
pub struct EspAccount {
    pub(crate) mold: ContactMold,
    pub(crate) lists: Vec<EspList>,
    everyone: Vec<u32>,
    changed: BTreeMap<u32, EspContact>,
    /// Deleted contacts, as they were.
    gone: BTreeMap<u32, EspContact>,
    next: u32,
    /// Numbers of addresses that were not generated.
    addresses: HashMap<String, u32>,
    /// First addresses of contacts that were not generated, including those removed since.
    added: BTreeMap<u32, String>,
    /// Numbers of generated addresses that no contact has any longer.
    left: BTreeSet<u32>,
    pub(crate) tags: Vec<EspTag>,
    pub(crate) fields: Vec<EspField>,
    pub(crate) hooks: Vec<EspHook>,
    next_id: u32,
    effects: Vec<EspEffect>,
    /// Number and time of the call being handled.
    pub(crate) call: (usize, i64),
    views: view::Views,
    hashes: HashMap<String, u32>,
}

impl EspAccount {
    pub(crate) fn new(mold: ContactMold) -> Self {
        let names = ["News", "Offers", "Product", "Events", "Partners", "Press"];
        let list = |number: u32| {
            let name =
                names.get(number as usize - 1).map_or_else(|| format!("List {number}"), |name| (*name).to_owned());
            EspList { number, name, members: Vec::new() }
        };
        let mut lists: Vec<_> = (1..=mold.lists).map(list).collect();
        for number in 0..mold.count {
            for list in mold.lists(number) {
                if let Some(list) = lists.get_mut(list as usize - 1) {
                    list.members.push(number);
                }
            }
        }
        Self {
            lists,
            everyone: (0..mold.count).collect(),
            changed: BTreeMap::new(),
            gone: BTreeMap::new(),
            next: mold.count,
            addresses: HashMap::new(),
            added: BTreeMap::new(),
            left: BTreeSet::new(),
            tags: Vec::new(),
            fields: Vec::new(),
            hooks: Vec::new(),
            next_id: 100,
            effects: Vec::new(),
            call: (0, mold.epoch),
            views: view::Views::default(),
            hashes: HashMap::new(),
            mold,
        }
    }

    /// Returns a contact; `None` if it does not exist.
    pub fn contact(&self, number: u32) -> Option<EspContact> {
        if self.gone.contains_key(&number) || number >= self.next {
            return None;
        }
        Some(self.changed.get(&number).cloned().unwrap_or_else(|| self.mold.contact(number)))
    }

    /// Returns a deleted contact, which was changed last when it was deleted.
    pub(crate) fn deleted(&self, number: u32) -> Option<EspContact> {
        self.gone.get(&number).cloned()
    }

    /// Returns the numbers and first addresses of all contacts that were added, including those removed since.
    pub fn added(&self) -> &BTreeMap<u32, String> {
        &self.added
    }

    /// Returns the contact with an address, ignoring case.
    pub fn contact_of(&self, email: &str) -> Option<EspContact> {
        let known = self.addresses.get(&email.to_lowercase()).copied();
        let made = || self.mold.number(email).filter(|number| !self.left.contains(number));
        self.contact(known.or_else(made)?)
    }

    /// Returns the numbers of all contacts.
    pub fn everyone(&self) -> &[u32] {
        &self.everyone
    }

    /// Returns the numbers of the contacts of a list.
    pub fn members(&self, list: u32) -> &[u32] {
        self.list(list).map_or(&[], |list| &list.members)
    }

    /// Returns the lists.
    pub fn lists(&self) -> &[EspList] {
        &self.lists
    }

    /// Returns a registered webhook by its ID in a path.
    pub(crate) fn hook(&self, id: &str) -> Option<&EspHook> {
        self.hooks.iter().find(|hook| hook.id.to_string() == id)
    }

    /// Returns the registered webhooks.
    pub fn hooks(&self) -> &[EspHook] {
        &self.hooks
    }

    /// Returns all effects, in order.
    pub fn effects(&self) -> &[EspEffect] {
        &self.effects
    }

    pub(crate) fn list(&self, number: u32) -> Option<&EspList> {
        self.lists.get((number as usize).checked_sub(1)?)
    }

    /// Returns the tag with a name, ignoring case.
    pub fn tag(&self, name: &str) -> Option<&EspTag> {
        self.tags.iter().find(|tag| tag.name.to_lowercase() == name.to_lowercase())
    }

    pub(crate) fn tag_by_id(&self, id: u32) -> Option<&EspTag> {
        self.tags.iter().find(|tag| tag.id == id)
    }

    /// Returns the names of a contact's tags.
    pub fn tag_names(&self, contact: &EspContact) -> Vec<String> {
        contact.tags.iter().filter_map(|id| Some(self.tag_by_id(*id)?.name.clone())).collect()
    }

    pub(crate) fn field(&self, list: Option<u32>, key: &str) -> Option<&EspField> {
        self.fields.iter().find(|field| field.list == list && field.key == key)
    }

    /// Returns the contact whose address has an MD5 hash. The first call builds the table.
    pub(crate) fn contact_of_md5(&mut self, hash: &str) -> Option<EspContact> {
        if self.hashes.is_empty() {
            let emails = self.everyone.iter().filter_map(|number| Some((*number, self.contact(*number)?.email)));
            self.hashes = emails.map(|(number, email)| (ids::md5_lower(&email), number)).collect();
        }
        let contact = self.contact(*self.hashes.get(hash)?)?;
        (ids::md5_lower(&contact.email) == hash).then_some(contact)
    }
}
