//! Contacts that become rows of an automatic run: those that were never verified, or those with the oldest verdicts.
//!
//! A mark has the time at which its address was last read for a verdict. It is written while a run reads, and reverted if the run
//! ends without verdicts ([`forget_reading`]).

use std::collections::HashMap;

use probity_account::connections::DecayShare;
use probity_account::id::ConnId;
use probity_mail::time::Millis;

use super::ReadContact;
use crate::connections::runs::{ConnectionRun, ContactPick};
use crate::db::error::Result;
use crate::db::hex::hex;
use crate::db::{Tx, args, statements};
use crate::jobs::JobNo;
use crate::number::OrgNo;
use crate::privacy::suppressions::SuppressionTag;
use crate::records::{ReadColumns as _, TypedStatements as _, listed, records};

statements! {
    // Marks that were taken back before stay as they are.
    FORGET_READING = "UPDATE contact_mark SET verified_at = before_at WHERE org_no = $1 AND connection_id = $2 AND job_no = $3 \
                      AND (before_at IS NULL OR verified_at <> before_at) AND verified_at IS NOT NULL";
    LAST_OF_PART = "SELECT contact FROM (SELECT contact FROM contact_mark WHERE org_no = $1 AND connection_id = $2 AND contact > $3 \
                    ORDER BY contact LIMIT $4) AS part ORDER BY contact DESC LIMIT 1";
    FORGET_PART = "UPDATE contact_mark SET verified_at = before_at WHERE org_no = $1 AND connection_id = $2 AND job_no = $3 \
                   AND contact > $4 AND contact <= $5";
    // Contacts of the share that were not read have left. They count as verified, so that others get their turn.
    RETIRE = "UPDATE contact_mark SET verified_at = $4 WHERE org_no = $1 AND connection_id = $2 AND job_no <> $3 \
              AND (verified_at < $5 OR (verified_at = $5 AND contact <= $6))";
}

/// Known facts about a contact on a page.
pub(super) struct KnownContact {
    pub(super) address: SuppressionTag,
    /// Last run that read it, and its row.
    pub(super) job: JobNo,
    pub(super) idx: i64,
    verified_at: Option<Millis>,
}

/// Returns the known facts about these contacts.
pub(super) async fn known(
    tx: &mut Tx,
    (org, connection): (OrgNo, ConnId),
    contacts: &[ReadContact],
) -> Result<HashMap<[u8; 16], KnownContact>> {
    if contacts.is_empty() {
        return Ok(HashMap::new());
    }
    let marks = listed(contacts.iter().map(|one| hex(&one.mark)));
    let rows = tx.rows(&super::KNOWN, args![org, connection, marks]).await?;
    rows.iter().map(|row| Ok((row.read("contact")?, row.record::<KnownContact>()?))).collect()
}

records!(row => KnownContact { address, job = "job_no", idx, verified_at });

/// Returns whether a contact becomes a row of a run, or is one.
pub(super) fn picks(run: &ConnectionRun, contact: &ReadContact, known: Option<&KnownContact>) -> bool {
    let known = known.filter(|known| known.job == run.job || known.address == contact.address);
    if known.is_some_and(|known| known.job == run.job) {
        return true;
    }
    let verified_at = known.and_then(|known| known.verified_at);
    match &run.pick {
        ContactPick::All => true,
        ContactPick::Unverified => verified_at.is_none(),
        ContactPick::Oldest { cut, fresh_ppm } => match verified_at {
            Some(at) => cut.as_ref().is_some_and(|(cut, last)| (at, &contact.mark[..]) <= (*cut, &last[..])),
            None => DecayShare::has_fresh(*fresh_ppm, &contact.mark),
        },
    }
}

/// Reverts the marks of a run that ends without verdicts.
pub(crate) async fn forget_reading(tx: &mut Tx, run: &ConnectionRun) -> Result<()> {
    if run.rows == 0 {
        return Ok(());
    }
    tx.execute(&FORGET_READING, args![run.org, run.connection, run.job]).await.map(drop)
}

/// Takes back what a run has noted of up to `at_most` contacts of its connection after one, or from the first on. Returns the last of
/// them, if there are any: a large run is canceled in parts, so that the database serves others meanwhile.
pub async fn forget_part(tx: &mut Tx, run: &ConnectionRun, after: &[u8], at_most: i64) -> Result<Option<Vec<u8>>> {
    let ConnectionRun { org, connection, job, .. } = run;
    let last: Option<Vec<u8>> = tx.find(&LAST_OF_PART, args![org, connection, after, at_most]).await?;
    if let Some(last) = &last {
        tx.execute(&FORGET_PART, args![org, connection, job, after, last]).await?;
    }
    Ok(last)
}

/// Retires the contacts of a complete run's share that it has not met.
pub(crate) async fn retire(tx: &mut Tx, run: &ConnectionRun, now: Millis) -> Result<()> {
    let ContactPick::Oldest { cut: Some((at, last)), .. } = &run.pick else { return Ok(()) };
    tx.execute(&RETIRE, args!(run => org, connection, job; now, at, last)).await.map(drop)
}
