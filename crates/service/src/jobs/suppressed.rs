//! Which rows of a part are on the organization's suppression lists: one look-up a list, and none where there are no lists.

use std::collections::{BTreeMap, BTreeSet};

use probity_account::suppression::List;
use probity_store::suppressions::{self, Tag};
use probity_store::{Conn, OrgNo, Result};

use crate::secrets::Secrets;
use crate::suppressions::tag_of;

/// The lists of the rows of a part.
#[derive(Debug, Default)]
pub(super) struct Suppressed(Vec<Vec<List>>);

impl Suppressed {
    /// Looks the addresses of these rows up, as the lists are in this transaction.
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
        let tags: Vec<Option<Tag>> = emails.map(|email| tag_of(secrets, org, email)).collect();
        let wanted: BTreeSet<Tag> = tags.iter().copied().flatten().collect();
        let mut by_tag: BTreeMap<Tag, Vec<List>> = BTreeMap::new();
        for listed in suppressions::find(conn, org, &lists, &wanted).await? {
            by_tag.entry(listed.tag).or_default().push(listed.list);
        }
        let of_row = |tag: Option<Tag>| tag.and_then(|tag| by_tag.get(&tag)).cloned().unwrap_or_default();
        Ok(Self(tags.into_iter().map(of_row).collect()))
    }

    /// The lists that the row at a place of the part is on.
    pub(super) fn at(&self, place: usize) -> &[List] {
        self.0.get(place).map_or(&[], Vec::as_slice)
    }
}
