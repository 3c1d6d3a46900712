//! Outbound SMTP health of all nodes.
//!
//! Each node stores its own with its heartbeat ([`probity_backend::nodes::egress`]); this module reads all of them.
//! Machines are not named. Addresses, counts and findings cover all tenants, so only administrators of the operator's organization
//! ([`OPERATORS`]), the one created at the first start, see them. All others see only whether MX hosts are reachable.

use probity_account::id::NodeId;
use probity_backend::nodes::asking::AskingState;
use probity_backend::nodes::is_alive;
use probity_contract::error::ApiError;
use probity_contract::timestamp::Timestamp;
use probity_store::nodes::{clock, instance};
use probity_store::{Conn, nodes};
use serde::Serialize;
use serde_json::Value;

use crate::app::App;
use crate::callers::caller::Caller;
use crate::operator::first_start::OPERATORS;

/// Reported as missing by a node that does not hold its source IPs.
const LOST: &str = "source";

/// Outbound SMTP health of all nodes.
#[derive(Serialize)]
pub struct EgressWays {
    /// Whether a node can reach MX hosts; null until a first checkup has finished.
    reachable: Option<bool>,
    /// Missing part if no node can: `resolver`, `port`, `reverse_name`, or `source` if another node holds the source IP.
    missing: Option<String>,
    /// Health of each node; null for all but administrators of the operator's organization.
    data: Option<Vec<EgressWay>>,
}

/// Outbound SMTP health of a node.
#[derive(Serialize)]
struct EgressWay {
    node: NodeId,
    seen_at: Timestamp,
    sources: Vec<String>,
    /// State of the node; null if it does not probe, or if its report cannot be read.
    state: Option<Value>,
}

impl EgressWay {
    fn of(node: &nodes::StoredNode) -> Self {
        Self {
            node: node.id,
            seen_at: node.seen_at.into(),
            sources: node.sources.split(',').filter(|source| !source.is_empty()).map(str::to_owned).collect(),
            state: serde_json::from_str(&node.egress).ok(),
        }
    }
}

/// Returns whether a node in this state can probe mail servers ([`AskingState::as_str`]); `source` if it lacks a source IP.
fn asking(state: &Value) -> &str {
    let own = state["asking"].as_str().unwrap_or(AskingState::Able.as_str());
    if state["may_ask"] == true { own } else { LOST }
}

/// Lists the outbound SMTP health of all live nodes.
pub async fn list_ways(app: &App, caller: &Caller) -> Result<EgressWays, ApiError> {
    let mut conn = app.store.read().await?;
    let now = clock::now(&mut conn, app.now()).await?;
    let mut all = nodes::all(&mut conn).await?;
    let runs_it = runs_it(&mut conn, caller).await?;
    drop(conn);
    all.retain(|node| is_alive(node, now));
    let ways: Vec<EgressWay> = all.iter().map(EgressWay::of).collect();
    Ok(shown(ways, runs_it))
}

/// Returns whether the caller is an administrator of the operator's organization.
async fn runs_it(conn: &mut Conn, caller: &Caller) -> Result<bool, ApiError> {
    let operators = instance::value(conn, OPERATORS).await?;
    Ok(caller.is_administrator() && operators == Some(caller.org_id().to_string()))
}

/// Response to the wish for a checkup.
#[derive(Serialize)]
pub struct CheckingAgain {
    checking: bool,
}

/// Repeats the checkup of this node soon, for administrators of the operator's organization.
pub async fn check_again(app: &App, caller: &Caller) -> Result<CheckingAgain, ApiError> {
    if !runs_it(&mut app.store.read().await?, caller).await? {
        return Err(ApiError::forbidden_scope("only administrators of the operator's organization can do this"));
    }
    app.presence.check_again();
    Ok(CheckingAgain { checking: true })
}

/// Returns all details to administrators of the installation, and a summary to others.
fn shown(ways: Vec<EgressWay>, runs_it: bool) -> EgressWays {
    let told: Vec<&str> = ways.iter().filter_map(|way| way.state.as_ref()).map(asking).collect();
    let reachable = if told.contains(&AskingState::Able.as_str()) {
        Some(true)
    } else {
        (!told.is_empty() && !told.contains(&AskingState::Unchecked.as_str())).then_some(false)
    };
    let missing = told.first().filter(|_| reachable == Some(false)).map(|&what| what.to_owned());
    EgressWays { reachable, missing, data: runs_it.then_some(ways) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_node_that_can_ask_is_enough() {
        let way = |state: &Value| EgressWay {
            node: NodeId::new(probity_mail::time::Millis(0), [0; 10]),
            seen_at: Timestamp::from(probity_mail::time::Millis(0)),
            sources: Vec::new(),
            state: Some(state.clone()),
        };
        let told = |asking: &str| json!({ "may_ask": true, "asking": asking });
        let old = json!({ "may_ask": true, "engine": null });
        let lost = json!({ "may_ask": false, "asking": "able" });
        let cases = [
            (vec![], None, None),
            (vec![told("able")], Some(true), None),
            (vec![old], Some(true), None),
            (vec![told("unchecked")], None, None),
            (vec![told("port")], Some(false), Some("port")),
            (vec![told("port"), told("unchecked")], None, None),
            (vec![told("port"), told("able")], Some(true), None),
            (vec![told("resolver"), told("port")], Some(false), Some("resolver")),
            (vec![lost.clone()], Some(false), Some("source")),
            (vec![lost, told("able")], Some(true), None),
        ];
        for (states, reachable, missing) in cases {
            let found = shown(states.iter().map(way).collect(), false);
            assert_eq!((found.reachable, found.missing.as_deref()), (reachable, missing), "{states:?}");
        }
    }
}
