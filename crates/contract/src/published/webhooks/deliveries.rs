//! Delivery as the delivery log shows it.
//!
//! An endpoint's response is shown as text: bounded, and with control characters escaped. If there was no response, cause and
//! duration are not shown, because they would reveal what is in the operator's network.

use std::fmt::Write as _;

use probity_store::webhooks::outbox::{self, DeliveryContent, EarlierAttempt, LoggedDelivery};

use super::{DeliveryAttempt, DeliveryRequest, WebhookDelivery, fixed_headers};
use crate::published::webhooks::DeliveryFailure;

impl WebhookDelivery {
    pub fn of(logged: LoggedDelivery, earlier: Vec<EarlierAttempt>) -> Self {
        let last_attempt = logged.last_at.map(|at| {
            DeliveryAttempt::of(EarlierAttempt {
                at,
                url: logged.url.clone(),
                status: logged.last_status,
                error: logged.last_error,
                took_ms: logged.last_took_ms.unwrap_or_default(),
                answer: logged.last_answer,
            })
        });
        let rows = match logged.content {
            DeliveryContent::Rows(rows) => Some(rows),
            DeliveryContent::Bytes(_) => None,
        };
        let headers = fixed_headers(logged.event);
        Self {
            id: logged.id,
            kind: logged.kind,
            status: logged.state.as_str(),
            attempts: logged.attempts,
            created_at: logged.created_at.into(),
            next_attempt_at: (logged.state == outbox::OutboxState::Waiting).then_some(logged.next_at.into()),
            request: DeliveryRequest { url: logged.url, headers, job_id: logged.job, rows },
            last_attempt,
            earlier_attempts: earlier.into_iter().map(DeliveryAttempt::of).collect(),
        }
    }
}

impl DeliveryAttempt {
    fn of(tried: EarlierAttempt) -> Self {
        let answered = tried.status.is_some();
        Self {
            at: tried.at.into(),
            url: tried.url,
            status: tried.status,
            took_ms: answered.then_some(tried.took_ms),
            error: match tried.status {
                None => Some(DeliveryFailure::public(tried.error.as_deref().unwrap_or_default())),
                Some(300..=399) => Some(DeliveryFailure::REDIRECT),
                Some(_) => None,
            },
            answer: shown(&tried.answer),
        }
    }
}

/// Returns a response body as text, with characters escaped that would control a terminal or the writing direction.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let steers = c.is_control()
            || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if steers {
            let _ = write!(shown, "{}", c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_escaped() {
        for (bytes, expected) in [
            (&b"ok <b>\"x\"</b> \\"[..], "ok <b>\"x\"</b> \\"),
            (b"a\r\n\x1b[31mred\x00", "a\\r\\n\\u{1b}[31mred\\u{0}"),
            ("gr\u{fc}n \u{202e}txt".as_bytes(), "gr\u{fc}n \\u{202e}txt"),
            (b"\xff\xfe", "\u{fffd}\u{fffd}"),
        ] {
            assert_eq!(shown(bytes), expected);
        }
    }
}
