//! Cost of a master key per address, and speed of an erasure's search through lists: one block of 1,000 addresses, on one core.
//!
//! `cargo run --release -p probity-benches --bin sealing`
#![expect(clippy::print_stdout, reason = "it is a command that prints what it measured")]

use std::hint::black_box;
use std::time::Duration;

use probity_account::block::{AddressBlock, ROWS_MAX};
use probity_engine::clock::EngineClock;
use probity_mail::address::Address;
use probity_mail::domain::SpecialUse;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hmac;

/// Number of blocks encrypted, and of blocks searched.
const SEALED: u32 = 20_000;
const SCANNED: u32 = 300;

fn main() {
    let rows: Vec<String> = (0..ROWS_MAX).map(|n| format!("first.last{n}@example{}.com", n % 97)).collect();
    let body = AddressBlock::encode(&rows).expect("a block takes a thousand addresses");
    let clock = EngineClock::system();
    let begun = clock.elapsed();
    seal(&body);
    say("sealed", clock.elapsed().saturating_sub(begun), SEALED, body.len());
    let begun = clock.elapsed();
    scan(&body);
    say("compared by keyed hashes", clock.elapsed().saturating_sub(begun), SCANNED, body.len());
}

fn say(what: &str, took: Duration, blocks: u32, bytes: usize) {
    let addresses = f64::from(blocks) * 1_000.0;
    let (each_ns, a_second) = (took.as_secs_f64() * 1e9 / addresses, addresses / took.as_secs_f64());
    println!("{what}: {each_ns:.0} ns an address, {a_second:.0} addresses a second, in blocks of {bytes} bytes");
}

fn seal(body: &[u8]) {
    let key = LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &[7; 32]).expect("keys have 32 bytes"));
    for n in 0..SEALED {
        let mut sealed = body.to_vec();
        let mut nonce = [0; NONCE_LEN];
        nonce[..4].copy_from_slice(&n.to_le_bytes());
        let nonce = Nonce::assume_unique_for_key(nonce);
        key.seal_in_place_append_tag(nonce, Aad::from([0; 40]), &mut sealed).expect("a block is short");
        black_box(sealed);
    }
}

fn scan(body: &[u8]) {
    let (key, names) = (hmac::Key::new(hmac::HMAC_SHA256, &[1; 32]), SpecialUse::none_allowed());
    for _ in 0..SCANNED {
        let block = AddressBlock::decode(body).expect("it was encoded");
        for row in block.iter() {
            let text = String::from_utf8_lossy(row);
            let address = Address::parse_with(text.trim_ascii(), &names).expect("an address");
            let mut tag = hmac::Context::with_key(&key);
            for part in [&[0; 8][..], address.normalized().as_bytes()] {
                tag.update(&part.len().to_be_bytes());
                tag.update(part);
            }
            black_box(tag.sign());
        }
    }
}
