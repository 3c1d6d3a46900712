//! Tags of contacts of connections.

use probity_account::id::ConnId;
use probity_store::OrgNo;

use super::{Secrets, tag};

impl Secrets {
    /// Returns the tag of a contact, by its ID at the platform. The ID may be an address. Each connection has another tag for the
    /// same ID.
    pub fn contact_mark(&self, org: OrgNo, connection: ConnId, id: &str) -> [u8; 16] {
        let parts: [&[u8]; 4] = [b"contact", &org.0.to_be_bytes(), &connection.bits().to_be_bytes(), id.as_bytes()];
        *tag(&self.connection_tags, &parts).first_chunk().expect("a tag has 32 bytes")
    }

    /// Returns the tag of what an action does to a contact, and of the address to which it does so.
    pub fn contact_effect(&self, connection: ConnId, address: &[u8; 16], does: &[&str]) -> [u8; 16] {
        let connection = connection.bits().to_be_bytes();
        let common: [&[u8]; 3] = [b"effect", &connection, address];
        let parts: Vec<&[u8]> = common.into_iter().chain(does.iter().map(|part| part.as_bytes())).collect();
        *tag(&self.connection_tags, &parts).first_chunk().expect("a tag has 32 bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contact_has_another_tag_in_each_connection() {
        let secrets = Secrets::of(&[1; 32]);
        let mark = |org, connection, id| secrets.contact_mark(OrgNo(org), ConnId::from_bits(connection), id);
        assert_eq!(mark(1, 2, "a"), mark(1, 2, "a"));
        for (org, connection, id) in [(2, 2, "a"), (1, 3, "a"), (1, 2, "b"), (1, 2, "")] {
            assert_ne!(mark(1, 2, "a"), mark(org, connection, id));
        }
    }

    #[test]
    fn each_effect_on_an_address_has_another_tag() {
        let secrets = Secrets::of(&[1; 32]);
        let effect = |connection, address, value| {
            secrets.contact_effect(ConnId::from_bits(connection), &[address; 16], &["update_tags", value])
        };
        assert_eq!(effect(1, 1, "bad"), effect(1, 1, "bad"));
        for (connection, address, value) in [(2, 1, "bad"), (1, 2, "bad"), (1, 1, "worse")] {
            assert_ne!(effect(1, 1, "bad"), effect(connection, address, value));
        }
    }
}
