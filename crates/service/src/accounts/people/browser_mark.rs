//! Token that marks a browser in which a user has signed in: a nonce, and a proof that this installation issued it to that
//! user.
//!
//! The token grants no access. Attempts from a marked browser are counted separately, so strangers who guess a password
//! cannot lock the user out there ([`attempts`](probity_access::people::attempts)).

use probity_access::secrets::Secrets;
use probity_account::id::UserId;
use probity_store::OrgNo;
use subtle::ConstantTimeEq as _;

/// Creates a mark for a browser of this user.
pub(crate) fn make_mark(secrets: &Secrets, person: (OrgNo, UserId)) -> Vec<u8> {
    let nonce = probity_access::secrets::random::bytes::<16>();
    [nonce.as_slice(), &secrets.device(person, &nonce)].concat()
}

/// Returns the nonce of a mark if the mark was issued to this user.
pub(crate) fn read_mark(secrets: &Secrets, person: (OrgNo, UserId), mark: &[u8]) -> Option<[u8; 16]> {
    let (nonce, proof) = mark.split_first_chunk::<16>()?;
    bool::from(secrets.device(person, nonce).as_slice().ct_eq(proof)).then_some(*nonce)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browsers_mark_is_of_one_person() {
        let secrets = Secrets::of(&[1; 32]);
        let [person, namesake, other] = [(1, 1), (2, 1), (1, 2)].map(|(org, id)| (OrgNo(org), UserId::from_bits(id)));
        let mark = make_mark(&secrets, person);
        assert!(read_mark(&secrets, person, &mark).is_some());
        assert!(read_mark(&secrets, namesake, &mark).is_none());
        assert!(read_mark(&secrets, other, &mark).is_none());
        assert!(read_mark(&Secrets::of(&[2; 32]), person, &mark).is_none());
        let forged = [&[0; 3], mark.as_slice()].concat();
        assert!(read_mark(&secrets, person, &forged).is_none());
        for cut in [0, 15, 16, mark.len() - 1] {
            assert!(read_mark(&secrets, person, &mark[..cut]).is_none(), "{cut}");
        }
    }
}
