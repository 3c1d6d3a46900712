use anyhow::{Result, anyhow};
use probity_service::admin::Admin;
use probity_service::store::{Content, Logged, Org, State, StoreError, Tried};

use super::failed;
use crate::admin::{self, Answer, DeliveryState};

pub(super) async fn list(admin: &Admin, org: &Org, state: Option<DeliveryState>, limit: u32) -> Result<Answer> {
    let found = admin.list_deliveries(org, state.map(state_of), limit).await.map_err(failed)?;
    Ok(Answer::Deliveries(found.iter().map(|one| delivery_view(org, one)).collect()))
}

pub(super) async fn show(admin: &Admin, org: &Org, delivery: &str) -> Result<Answer> {
    let (logged, earlier) = admin.delivery(org, delivery).await.map_err(|error| missing(error, delivery))?;
    Ok(Answer::Delivery(Box::new(detail_view(org, &logged, earlier))))
}

pub(super) async fn resend(admin: &Admin, org: &Org, delivery: &str) -> Result<Answer> {
    let logged = admin.resend_delivery(org, delivery).await.map_err(|error| missing(error, delivery))?;
    Ok(Answer::Deliveries(vec![delivery_view(org, &logged)]))
}

fn missing(error: StoreError, delivery: &str) -> anyhow::Error {
    match error {
        StoreError::NotFound => {
            anyhow!("there is no delivery {delivery}; `probity deliveries list` shows the last ones")
        }
        other => failed(other),
    }
}

fn state_of(state: DeliveryState) -> State {
    match state {
        DeliveryState::Waiting => State::Waiting,
        DeliveryState::Delivered => State::Delivered,
        DeliveryState::Exhausted => State::Exhausted,
        DeliveryState::Cancelled => State::Cancelled,
    }
}

pub(super) fn delivery_view(org: &Org, logged: &Logged) -> admin::Delivery {
    admin::Delivery {
        id: logged.id.to_string(),
        organization: org.id.to_string(),
        event: logged.event.to_string(),
        kind: logged.kind.clone(),
        webhook: Some(logged.signer.clone()).filter(|signer| !signer.is_empty()),
        url: logged.url.clone(),
        state: logged.state.to_string(),
        attempts: logged.attempts,
        next_at: (logged.state == State::Waiting).then_some(logged.next_at),
        last_at: logged.last_at,
        last_status: logged.last_status,
        last_error: logged.last_error.clone(),
        last_took_ms: logged.last_took_ms,
        created_at: logged.created_at,
    }
}

fn detail_view(org: &Org, logged: &Logged, earlier: Vec<Tried>) -> admin::Detail {
    let attempt = |one: Tried| admin::Attempt {
        at: one.at,
        url: one.url,
        status: one.status,
        error: one.error,
        took_ms: one.took_ms,
        answer: String::from_utf8_lossy(&one.answer).into_owned(),
    };
    let body = match (&logged.content, logged.job) {
        (Content::Bytes(bytes), _) => String::from_utf8_lossy(bytes).into_owned(),
        (Content::Rows(rows), Some(job)) => format!("rows {rows:?} of {job}"),
        (Content::Rows(rows), None) => format!("rows {rows:?}"),
    };
    admin::Detail {
        delivery: delivery_view(org, logged),
        first_at: logged.first_at,
        body,
        last_answer: String::from_utf8_lossy(&logged.last_answer).into_owned(),
        earlier_attempts: earlier.into_iter().map(attempt).collect(),
    }
}
