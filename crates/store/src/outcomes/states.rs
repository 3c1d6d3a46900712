//! Looks up outcomes of addresses. States reported by platforms have no day, so each is stored only if it is new.

use std::collections::{BTreeSet, HashSet};

use probity_account::outcome::OutcomeClass;

use crate::db::error::Result;
use crate::db::{Conn, args, statements};
use crate::number::OrgNo;
use crate::privacy::suppressions::{SuppressionTag, texts};
use crate::records::TypedStatements as _;

statements! {
    KNOWN = "SELECT DISTINCT tag, class FROM outcome WHERE org_no = $1 AND test = $2 AND tag IN (SELECT {unhex:each.value ->> 0} FROM {each:$3})";
}

/// Returns which outcomes of these addresses are stored, from any day and source.
pub async fn known(
    conn: &mut Conn,
    (org, test): (OrgNo, bool),
    addresses: &BTreeSet<SuppressionTag>,
) -> Result<HashSet<(SuppressionTag, OutcomeClass)>> {
    if addresses.is_empty() {
        return Ok(HashSet::new());
    }
    conn.all(&KNOWN, args![org, test, texts(addresses)]).await
}
