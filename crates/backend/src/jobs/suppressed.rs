//! Suppression lists of the rows of a part: one lookup per list, and none if the organization has no lists.

use std::collections::{BTreeMap, BTreeSet};

use probity_access::secrets::Secrets;
use probity_account::suppression::SuppressionKind;
use probity_store::privacy::suppressions::{self, SuppressionTag};
use probity_store::{Conn, OrgNo, Result};

use crate::privacy::suppressions::tag_of;

/// Lists that each row of a part is on.
#[derive(Debug, Default)]
pub(super) struct Suppressed(Vec<Vec<SuppressionKind>>);

impl Suppressed {
    /// Looks up the addresses of rows in the lists, as this transaction sees them.
    pub(super) async fn of<'a>(
        conn: &mut Conn,
        secrets: &Secrets,
        org: OrgNo,
        emails: impl Iterator<Item = &'a str> + Send,
    ) -> Result<Self> {
        let lists = suppressions::standing(conn, org).await?;
        if lists.is_empty() {
            return Ok(Self::default());
        }
        let tags: Vec<Option<SuppressionTag>> = emails.map(|email| tag_of(secrets, org, email)).collect();
        let wanted: BTreeSet<SuppressionTag> = tags.iter().copied().flatten().collect();
        let mut by_tag: BTreeMap<SuppressionTag, Vec<SuppressionKind>> = BTreeMap::new();
        for listed in suppressions::find(conn, org, &lists, &wanted).await? {
            by_tag.entry(listed.tag).or_default().push(listed.list);
        }
        let of_row = |tag: Option<SuppressionTag>| tag.and_then(|tag| by_tag.get(&tag)).cloned().unwrap_or_default();
        Ok(Self(tags.into_iter().map(of_row).collect()))
    }

    /// Returns the lists that a row of the part is on.
    pub(super) fn at(&self, place: usize) -> &[SuppressionKind] {
        self.0.get(place).map_or(&[], Vec::as_slice)
    }
}
