//! Changes of an account, each recorded with the call that caused it.

use serde_json::Value;

use super::{EspAccount, EspContact, EspField, EspHook, EspState, EspTag, ids};

/// Kind of an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EspEffectKind {
    /// Contact added.
    Added,
    /// Contact added to a list.
    Joined,
    /// State of a contact changed, in a list or in the account.
    Moved(EspState),
    /// Contact removed from a list.
    Left,
    Deleted,
    /// Contact tagged with this name.
    Tagged(String),
    Untagged(String),
    /// Value written to a contact's field of this name.
    Written(String, String),
    /// Address of a contact changed to this one.
    Readdressed(String),
    MadeTag(String),
    MadeField(String),
    MadeHook(String),
    RemovedHook(u32),
}

/// Effect of a call, or of the world itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EspEffect {
    pub kind: EspEffectKind,
    pub contact: Option<u32>,
    /// Affected list; `None` for the whole account.
    pub list: Option<u32>,
    /// Number of the call, from 1; 0 for the world itself.
    pub call: usize,
    pub at: i64,
}

impl EspAccount {
    fn record(&mut self, kind: EspEffectKind, contact: Option<u32>, list: Option<u32>) {
        let (call, at) = self.call;
        self.effects.push(EspEffect { kind, contact, list, call, at });
        self.views.clear();
    }

    /// Stores a changed contact.
    fn keep(&mut self, mut contact: EspContact) {
        contact.updated = self.call.1;
        self.changed.insert(contact.number, contact);
        self.views.clear();
    }

    /// Adds a contact to lists and returns its number.
    pub fn add(&mut self, email: &str, state: EspState, lists: &[u32]) -> u32 {
        let number = self.next;
        self.next += 1;
        let at = self.call.1;
        let contact = EspContact {
            number,
            email: email.to_owned(),
            state,
            lists: lists.iter().map(|list| (*list, state)).collect(),
            tags: std::collections::BTreeSet::new(),
            fields: std::collections::BTreeMap::new(),
            created: at,
            updated: at,
        };
        self.addresses.insert(email.to_lowercase(), number);
        self.added.insert(number, email.to_owned());
        self.note_hash(&contact);
        self.everyone.push(number);
        for list in lists {
            self.lists[*list as usize - 1].members.push(number);
        }
        self.keep(contact);
        self.record(EspEffectKind::Added, Some(number), None);
        number
    }

    /// Removes a contact. Returns false if it does not exist.
    pub fn remove(&mut self, number: u32) -> bool {
        self.delete(number)
    }

    /// Changes the address of a contact, as the contact does. Returns false if another contact has the address.
    pub fn correct(&mut self, number: u32, email: &str) -> bool {
        self.readdress(number, email)
    }

    /// Unsubscribes a contact from everything, as the contact does.
    pub fn opt_out(&mut self, number: u32) -> bool {
        self.set_state(number, None, EspState::Unsubscribed);
        self.contact(number).is_some()
    }

    /// Moves the newest member of a list to another position, for platforms that sort members by name.
    pub(crate) fn scatter(&mut self, list: u32, by: u64) {
        let Some(list) = self.lists.get_mut(list as usize - 1) else { return };
        let length = list.members.len() as u64;
        if let (Some(newest), Ok(place)) = (list.members.pop(), usize::try_from(by % length.max(1))) {
            list.members.insert(place, newest);
        }
        self.views.clear();
    }

    /// Sets a state, in a list or in the account. A contact outside the list is not changed.
    pub(crate) fn set_state(&mut self, number: u32, list: Option<u32>, state: EspState) {
        let Some(mut contact) = self.contact(number) else { return };
        let before = contact.clone();
        if let Some(list) = list {
            let Some(known) = contact.lists.get_mut(&list) else { return };
            *known = state;
        } else {
            contact.state = state;
            contact.lists.values_mut().for_each(|known| *known = state);
        }
        if contact != before {
            self.keep(contact);
            self.record(EspEffectKind::Moved(state), Some(number), list);
        }
    }

    /// Adds a contact to a list.
    pub(crate) fn join(&mut self, number: u32, list: u32, state: EspState) {
        let Some(mut contact) = self.contact(number) else { return };
        if contact.lists.contains_key(&list) || self.list(list).is_none() {
            return;
        }
        contact.lists.insert(list, state);
        self.keep(contact);
        let members = &mut self.lists[list as usize - 1].members;
        let place = members.partition_point(|known| *known < number);
        members.insert(place, number);
        self.record(EspEffectKind::Joined, Some(number), Some(list));
    }

    /// Removes a contact from a list. Returns false if it was not a member.
    pub(crate) fn leave(&mut self, number: u32, list: u32) -> bool {
        let Some(mut contact) = self.contact(number) else { return false };
        if contact.lists.remove(&list).is_none() {
            return false;
        }
        self.keep(contact);
        self.lists[list as usize - 1].members.retain(|known| *known != number);
        self.record(EspEffectKind::Left, Some(number), Some(list));
        true
    }

    /// Deletes a contact.
    pub(crate) fn delete(&mut self, number: u32) -> bool {
        let Some(mut contact) = self.contact(number) else { return false };
        for list in contact.lists.keys() {
            self.lists[*list as usize - 1].members.retain(|known| *known != number);
        }
        self.everyone.retain(|known| *known != number);
        self.addresses.remove(&contact.email.to_lowercase());
        self.changed.remove(&number);
        contact.updated = self.call.1;
        self.gone.insert(number, contact);
        self.left.insert(number);
        self.record(EspEffectKind::Deleted, Some(number), None);
        true
    }

    /// Restores a deleted contact, which is in no list. Returns false if it is not deleted.
    pub(crate) fn restore(&mut self, number: u32) -> bool {
        let Some(mut contact) = self.gone.remove(&number) else { return false };
        contact.lists.clear();
        let place = self.everyone.partition_point(|known| *known < number);
        self.everyone.insert(place, number);
        self.addresses.insert(contact.email.to_lowercase(), number);
        self.keep(contact);
        self.record(EspEffectKind::Added, Some(number), None);
        true
    }

    /// Creates a tag, even if one with the same name exists: duplicates are up to the platform.
    pub(crate) fn make_tag(&mut self, name: &str) -> EspTag {
        let tag = EspTag { id: self.new_id(), name: name.to_owned() };
        self.tags.push(tag.clone());
        self.record(EspEffectKind::MadeTag(name.to_owned()), None, None);
        tag
    }

    /// Returns the ID of the tag with a name, created if there is none.
    pub(crate) fn tag_named(&mut self, name: &str) -> u32 {
        let known = self.tag(name).map(|tag| tag.id);
        known.unwrap_or_else(|| self.make_tag(name).id)
    }

    /// Tags a contact.
    pub(crate) fn tag_contact(&mut self, number: u32, tag: u32) -> bool {
        let (Some(mut contact), Some(name)) = (self.contact(number), self.tag_by_id(tag).map(|tag| tag.name.clone()))
        else {
            return false;
        };
        if contact.tags.insert(tag) {
            self.keep(contact);
            self.record(EspEffectKind::Tagged(name), Some(number), None);
        }
        true
    }

    /// Replaces the tags of a contact.
    pub(crate) fn retag(&mut self, number: u32, tags: &[u32]) {
        let Some(contact) = self.contact(number) else { return };
        for tag in contact.tags.iter().filter(|tag| !tags.contains(tag)) {
            let Some(mut contact) = self.contact(number) else { return };
            contact.tags.remove(tag);
            self.keep(contact);
            let name = self.tag_by_id(*tag).map(|tag| tag.name.clone()).unwrap_or_default();
            self.record(EspEffectKind::Untagged(name), Some(number), None);
        }
        for tag in tags {
            self.tag_contact(number, *tag);
        }
    }

    /// Creates a custom field.
    pub(crate) fn make_field(&mut self, list: Option<u32>, key: &str, name: &str) -> EspField {
        let field = EspField { id: self.new_id(), list, key: key.to_owned(), name: name.to_owned() };
        self.fields.push(field.clone());
        self.record(EspEffectKind::MadeField(name.to_owned()), None, list);
        field
    }

    /// Deletes all tags and custom fields with their values, as a customer does.
    pub fn delete_tags_and_fields(&mut self) {
        let fields = std::mem::take(&mut self.fields);
        self.tags.clear();
        for contact in self.changed.values_mut() {
            contact.tags.clear();
            contact.fields.retain(|key, _| !fields.iter().any(|field| field.key == *key));
        }
        self.views.clear();
    }

    /// Writes a value to a contact's field.
    pub(crate) fn write(&mut self, number: u32, key: &str, value: &Value) {
        let Some(mut contact) = self.contact(number) else { return };
        if contact.fields.get(key) != Some(value) {
            contact.fields.insert(key.to_owned(), value.clone());
            self.keep(contact);
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            self.record(EspEffectKind::Written(key.to_owned(), shown), Some(number), None);
        }
    }

    /// Changes an address. Returns false if another contact has it.
    pub(crate) fn readdress(&mut self, number: u32, email: &str) -> bool {
        let Some(mut contact) = self.contact(number) else { return false };
        if let Some(other) = self.contact_of(email)
            && other.number != number
        {
            return false;
        }
        if contact.email == email {
            return true;
        }
        self.addresses.remove(&contact.email.to_lowercase());
        if number < self.mold.count {
            self.left.insert(number);
        }
        self.addresses.insert(email.to_lowercase(), number);
        email.clone_into(&mut contact.email);
        self.note_hash(&contact);
        self.keep(contact);
        self.record(EspEffectKind::Readdressed(email.to_owned()), Some(number), None);
        true
    }

    /// Registers a webhook.
    pub(crate) fn make_hook(
        &mut self,
        list: Option<u32>,
        url: &str,
        secret: Option<String>,
        is_active: bool,
    ) -> EspHook {
        let hook = EspHook { id: self.new_id(), list, url: url.to_owned(), secret, is_active };
        self.hooks.push(hook.clone());
        self.record(EspEffectKind::MadeHook(url.to_owned()), None, list);
        hook
    }

    /// Removes a webhook.
    pub fn remove_hook(&mut self, id: u32) -> bool {
        let before = self.hooks.len();
        self.hooks.retain(|hook| hook.id != id);
        if self.hooks.len() == before {
            return false;
        }
        self.record(EspEffectKind::RemovedHook(id), None, None);
        true
    }

    fn new_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id
    }

    fn note_hash(&mut self, contact: &EspContact) {
        if !self.hashes.is_empty() {
            self.hashes.insert(ids::md5_lower(&contact.email), contact.number);
        }
    }
}
