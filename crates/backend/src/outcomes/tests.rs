use super::*;

const NOW: Millis = Millis(1_800_000_000_000);

#[test]
fn spellings_of_an_address_and_events_of_a_day_are_one() {
    let secrets = Secrets::of(&[1; 32]);
    let mut taken = TakenOutcomes::default();
    let mut take = |email: &str, class, at| taken.take((&secrets, OrgNo(1)), email, (class, at), NOW);
    take("Ann.Lee@Example.org", OutcomeClass::Delivered, NOW);
    take(" ann.lee@EXAMPLE.org", OutcomeClass::Delivered, NOW + -9);
    take("ann.lee@example.org", OutcomeClass::Opened, NOW);
    take("no address", OutcomeClass::Opened, NOW);
    take("bob@example.org", OutcomeClass::Opened, NOW + (-OUTCOMES_KEEP_MS - 1));
    assert_eq!((taken.submitted, taken.invalid, taken.expired), (5, 1, 1));
    let seen: Vec<_> = taken.new.iter().map(|(key, details)| (key.class, details.at, &*details.form)).collect();
    assert_eq!(seen, [(OutcomeClass::Delivered, NOW + -9, "a.a"), (OutcomeClass::Opened, NOW, "a.a")]);
    assert_eq!(taken.new.values().map(|details| details.domain).collect::<BTreeSet<_>>().len(), 1);
}
