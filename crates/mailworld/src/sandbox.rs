//! sandbox
/// d
pub fn split_delay(local: &str) -> (&str, u64) {
    let Some((base, delay)) = local.rsplit_once("+delay-") else {
        return (local, 0);
    };
    let Some(seconds) = delay.strip_suffix('s').and_then(|digits| digits.parse::<u64>().ok()) else {
        return (local, 0);
    };
    if seconds > 60 { (local, 0) } else { (base, seconds * 1_000) }
}
