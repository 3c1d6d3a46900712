//! Ids against the published examples; of each id there is one text, which sorts as its time does.
use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// The kind of the published examples.
enum Example {}

impl IdKind for Example {
    const PREFIX: &'static str = "prefix";
}

#[test]
fn the_published_examples_read_and_print() {
    // `valid.yml` of the TypeID specification.
    let cases = [
        ("prefix_00000000000000000000000000", 0),
        ("prefix_00000000000000000000000001", 1),
        ("prefix_0000000000000000000000000a", 10),
        ("prefix_0000000000000000000000000g", 16),
        ("prefix_00000000000000000000000010", 32),
        ("prefix_7zzzzzzzzzzzzzzzzzzzzzzzzz", u128::MAX),
        ("prefix_0123456789abcdefghjkmnpqrs", 0x0110_c853_1d09_52d8_d73e_1194_e95b_5f19),
        ("prefix_01h455vb4pex5vsknk084sn02q", 0x0189_0a5d_ac96_774b_bcce_b302_099a_8057),
    ];
    for (text, bits) in cases {
        let id: Id<Example> = text.parse().expect(text);
        assert_eq!(id.bits(), bits, "{text}");
        assert_eq!(Id::<Example>::from_bits(bits).to_string(), text);
        assert_eq!(format!("{id:?}"), text);
    }
}

#[test]
fn only_the_one_text_of_an_id_is_read() {
    use IdError::{Character, Length, Prefix, TooLarge};
    let cases = [
        ("", Prefix("job")),
        ("job", Prefix("job")),
        ("01h455vb4pex5vsknk084sn02q", Prefix("job")),
        ("_01h455vb4pex5vsknk084sn02q", Prefix("job")),
        ("key_01h455vb4pex5vsknk084sn02q", Prefix("job")),
        ("JOB_01h455vb4pex5vsknk084sn02q", Prefix("job")),
        (" job_01h455vb4pex5vsknk084sn02q", Prefix("job")),
        ("jobs_01h455vb4pex5vsknk084sn02q", Prefix("job")),
        ("job-01h455vb4pex5vsknk084sn02q", Prefix("job")),
        ("job_", Length),
        ("job_01h455vb4pex5vsknk084sn02", Length),
        ("job_01h455vb4pex5vsknk084sn02q0", Length),
        ("job_01h455vb4pex5vsknk084sn02q\n", Length),
        ("job__01h455vb4pex5vsknk084sn02q", Length),
        ("job_01890a5d-ac96-774b-bcce-b302099a8057", Length),
        ("job_01H455VB4PEX5VSKNK084SN02Q", Character),
        ("job_01h455vb4pex5vsknk084sn02i", Character),
        ("job_01h455vb4pex5vsknk084sn02l", Character),
        ("job_01h455vb4pex5vsknk084sn02o", Character),
        ("job_01h455vb4pex5vsknk084sn02u", Character),
        ("job_01h455vb4pex5vsknk084sn0\u{e9}", Character),
        ("job_01h455vb4pex5vsknk084sn0%2", Character),
        ("job_8zzzzzzzzzzzzzzzzzzzzzzzzz", TooLarge),
        ("job_80000000000000000000000000", TooLarge),
        ("job_zzzzzzzzzzzzzzzzzzzzzzzzzz", TooLarge),
    ];
    for (text, error) in cases {
        assert_eq!(text.parse::<JobId>(), Err(error), "{text:?}");
    }
}

#[test]
fn the_layout_is_that_of_uuid_version_7() {
    // RFC 9562 appendix A.6. The six upper random bits give way to version and variant, whatever they are.
    let expected = 0x017f_22e2_79b0_7cc3_98c4_dc0c_0c07_398f;
    for (a, b) in [(0x0c, 0x18), (0xfc, 0xd8), (0x5c, 0x58)] {
        let random = [a, 0xc3, b, 0xc4, 0xdc, 0x0c, 0x0c, 0x07, 0x39, 0x8f];
        let id = JobId::new(Millis(1_645_557_742_000), random);
        assert_eq!(id.bits(), expected, "{a:x} {b:x}");
        assert_eq!(id.created_at(), Millis(1_645_557_742_000));
    }
}

#[test]
fn times_that_the_layout_cannot_hold_become_the_nearest() {
    let cases =
        [(-1, 0), (i64::MIN, 0), (0, 0), (LATEST_MS, LATEST_MS), (LATEST_MS + 1, LATEST_MS), (i64::MAX, LATEST_MS)];
    for (ms, kept) in cases {
        assert_eq!(JobId::new(Millis(ms), [0xff; 10]).created_at(), Millis(kept), "{ms}");
    }
}

#[test]
fn prefixes_are_lower_case_letters_and_differ() {
    for prefix in PREFIXES {
        assert!(!prefix.is_empty() && prefix.bytes().all(|byte| byte.is_ascii_lowercase()), "{prefix}");
    }
    assert_eq!(PREFIXES.iter().collect::<BTreeSet<_>>().len(), PREFIXES.len());
}

#[test]
fn json_is_the_text_and_refuses_what_is_no_id() {
    let id: OrgId = "org_01h455vb4pex5vsknk084sn02q".parse().expect("an id");
    let json = serde_json::to_string(&id).expect("text");
    assert_eq!(json, "\"org_01h455vb4pex5vsknk084sn02q\"");
    assert_eq!(serde_json::from_str::<OrgId>(&json).expect("an id"), id);
    // Escapes make an owned text of it.
    assert_eq!(serde_json::from_str::<OrgId>(&json.replace("org", "\\u006frg")).expect("an id"), id);
    for wrong in ["1", "null", "[]", "\"\"", "\"key_01h455vb4pex5vsknk084sn02q\""] {
        assert!(serde_json::from_str::<OrgId>(wrong).is_err(), "{wrong}");
    }
}

proptest! {
    #[test]
    fn every_id_survives_its_text(bits: u128) {
        let id = KeyId::from_bits(bits);
        let text = id.to_string();
        prop_assert_eq!(text.len(), 4 + SUFFIX_CHARS);
        prop_assert_eq!(text.parse::<KeyId>(), Ok(id));
    }

    #[test]
    fn text_bits_and_time_sort_alike(
        times in prop::array::uniform2(0..=LATEST_MS), random: ([u8; 10], [u8; 10]),
    ) {
        let (a, b) = (KeyId::new(Millis(times[0]), random.0), KeyId::new(Millis(times[1]), random.1));
        prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
        prop_assert_eq!((a.bits() >> 76 & 0xf, a.bits() >> 62 & 0b11), (7, 0b10));
        if times[0] != times[1] {
            prop_assert_eq!(a < b, times[0] < times[1]);
        }
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in "(job_)?\\PC{0,30}") {
        if let Ok(id) = text.parse::<JobId>() {
            prop_assert_eq!(id.to_string(), text);
        }
    }
}
