//! Lists like those of customers: half of the addresses at a few large providers, the rest spread over many small domains, 1%
//! duplicates, in random order.

use probity_mail::rng::Rng;

const LARGE: [&str; 5] = ["gmail.com", "yahoo.com", "outlook.com", "gmx.de", "icloud.com"];
const NAMES: [&str; 8] = ["anna", "bernd.meyer", "c.dupont", "info", "j.smith", "sales", "maria.rossi", "li.wei"];
const EACH: usize = 50;

/// Returns a JSON body with `rows` addresses; another seed gives other addresses.
pub(crate) fn body(rows: u64, seed: u64) -> anyhow::Result<Vec<u8>> {
    let count = usize::try_from(rows)?;
    let mut rng = Rng::new(seed);
    let mut body = Vec::with_capacity(count * 32);
    body.extend_from_slice(b"{\"emails\":[");
    for nth in 0..count {
        // A duplicate repeats an earlier row.
        let number = if nth > 0 && rng.below(100) == 0 { rng.below(nth) } else { nth };
        let separator = if nth == 0 { "" } else { "," };
        body.extend_from_slice(format!("{separator}\"{}\"", address(number, count, seed)).as_bytes());
    }
    body.extend_from_slice(b"]}");
    Ok(body)
}

/// Returns the address for a number; the same number always gives the same address.
fn address(number: usize, count: usize, seed: u64) -> String {
    let name = NAMES[number % NAMES.len()];
    let mut rng = Rng::new(seed ^ u64::try_from(number).unwrap_or(0));
    let domains = (count / (2 * EACH)).max(1);
    match rng.below(2) {
        0 => format!("{name}{number}@{}", LARGE[rng.below(LARGE.len())]),
        _ => format!("{name}{number}@firma{}-{seed}.de", rng.below(domains)),
    }
}
