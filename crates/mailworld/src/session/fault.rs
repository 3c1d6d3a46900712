//! Distorts replies as broken servers do.

use super::{Flow, Then};
use crate::personality::FaultKind;

/// Length of the overlong line, in bytes.
const HUGE_LINE_BYTES: usize = 64 * 1024;

/// Replaces the reply in `out[start..]` with the faulty one.
pub(super) fn apply(kind: FaultKind, start: usize, flow: Flow, out: &mut Vec<u8>) -> Flow {
    let then = match kind {
        FaultKind::Endless => {
            out.truncate(start);
            Then::Endless
        }
        FaultKind::Close | FaultKind::Reset | FaultKind::Silence => {
            out.truncate(start);
            match kind {
                FaultKind::Close => Then::Close,
                FaultKind::Reset => Then::Reset,
                _ => Then::Silence,
            }
        }
        FaultKind::NoLineEnd => {
            while out.len() > start && matches!(out.last(), Some(b'\r' | b'\n')) {
                out.pop();
            }
            Then::Silence
        }
        _ => {
            distort(kind, start, out);
            flow.then
        }
    };
    Flow { wait_ms: flow.wait_ms, then }
}

/// Faults that only change bytes.
fn distort(kind: FaultKind, start: usize, out: &mut Vec<u8>) {
    let line_end = out.len().saturating_sub(2).max(start);
    match kind {
        FaultKind::Huge => drop(out.splice(line_end..line_end, std::iter::repeat_n(b'x', HUGE_LINE_BYTES))),
        FaultKind::Nul => drop(out.splice(line_end..line_end, *b" \0 nul")),
        FaultKind::EightBit => drop(out.splice(line_end..line_end, *b" Empf\xe4nger")),
        FaultKind::BareLf => {
            let lines: Vec<u8> = out.drain(start..).filter(|b| *b != b'\r').collect();
            out.extend_from_slice(&lines);
        }
        FaultKind::CodeMismatch => {
            // The first of two lines has another outcome than the last.
            let other = if out.get(start) == Some(&b'2') { "550-first\r\n" } else { "250-first\r\n" };
            drop(out.splice(start..start, other.bytes()));
        }
        FaultKind::BadCode => {
            for byte in out.iter_mut().skip(start).take(3) {
                *byte = b'9';
            }
        }
        FaultKind::Twice => {
            let reply = out[start..].to_vec();
            out.extend_from_slice(&reply);
        }
        FaultKind::Premature => out.extend_from_slice(b"250 2.1.0 Ok\r\n250 2.1.5 Ok\r\n"),
        FaultKind::Endless | FaultKind::Close | FaultKind::Reset | FaultKind::Silence | FaultKind::NoLineEnd => {}
    }
}
