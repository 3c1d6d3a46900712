//! Random local parts that look like a person's.
//!
//! Some servers refuse obvious nonsense and accept everything else, so a catch-all probe must look like a person. Two names and
//! a number give about ten million local parts; the chance that one exists is negligible.

use crate::rng::Rng;

const GIVEN: [&str; 48] = [
    "adele", "alistair", "annika", "bertram", "brigid", "calvin", "carsten", "celine", "clement", "dagmar", "dorian",
    "edith", "elspeth", "emeric", "fiona", "florin", "gideon", "greta", "harriet", "henrik", "ingrid", "isidor",
    "jolanda", "joris", "katrin", "lambert", "leonie", "linus", "lorena", "magnus", "marlene", "milena", "mirko",
    "nadine", "norbert", "odette", "oskar", "petra", "quentin", "ramona", "rufus", "selina", "sigrid", "tamsin",
    "tilman", "ursula", "wanda", "yvonne",
];
const FAMILY: [&str; 48] = [
    "abernathy",
    "ackermann",
    "appleyard",
    "barrowman",
    "bergstrom",
    "blanchet",
    "brandauer",
    "caldwell",
    "castellan",
    "coldwater",
    "dahlgren",
    "delacourt",
    "dunmore",
    "eastwick",
    "eberhard",
    "fairbank",
    "fenwick",
    "forsberg",
    "gallimard",
    "grunewald",
    "hallowell",
    "hartigan",
    "hofstetter",
    "ivarsson",
    "jankovic",
    "kettering",
    "kirchner",
    "lachance",
    "lindqvist",
    "lockhart",
    "maitland",
    "mandeville",
    "merriweather",
    "nordlund",
    "oberholzer",
    "ollerton",
    "pemberton",
    "quillfeldt",
    "rademaker",
    "ravensdale",
    "sandoval",
    "silverman",
    "steinhoff",
    "thornbury",
    "underhill",
    "vandermeer",
    "westergaard",
    "winterbourne",
];

/// A local part for a probe, such as `greta.lindqvist482`.
pub fn person_like(rng: &mut Rng) -> String {
    let given = GIVEN[rng.below(GIVEN.len())];
    let family = FAMILY[rng.below(FAMILY.len())];
    format!("{given}.{family}{}", 1_000 + rng.below(9_000))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::address::Address;

    #[test]
    fn they_are_addresses_and_hardly_ever_the_same() {
        let mut rng = Rng::new(3);
        let drawn: BTreeSet<String> = (0..1_000).map(|_| person_like(&mut rng)).collect();
        assert!(drawn.len() > 995);
        for local in &drawn {
            assert!(Address::parse(&format!("{local}@example.com")).is_ok(), "{local}");
        }
    }
}
