//! Outbound SMTP health of all nodes.
//!
//! Each node stores its own with its heartbeat ([`probity_backend::nodes::egress`]); this module reads all of them.
//! Machines are not named. Addresses, counts and findings cover all tenants, so only administrators of the operator's organization
//! ([`OPERATORS`]), the one created at the first start, see them. All others see only whether MX hosts are reachable.

use probity_account::id::NodeId;
use probity_backend::nodes::is_alive;
use probity_contract::error::ApiError;
use probity_contract::timestamp::Timestamp;
use probity_store::nodes;
use probity_store::nodes::{clock, instance};
use serde::Serialize;
use serde_json::Value;

use crate::app::App;
use crate::callers::caller::Caller;
use crate::operator::first_start::OPERATORS;

/// Outbound SMTP health of all nodes.
#[derive(Serialize)]
pub struct EgressWays {
    /// Whether a node reaches MX hosts; null if no node has reported.
    reachable: Option<bool>,
    /// Health of each node; null for all but administrators of the operator's organization.
    data: Option<Vec<EgressWay>>,
}

/// Outbound SMTP health of a node.
#[derive(Serialize)]
struct EgressWay {
    node: NodeId,
    seen_at: Timestamp,
    /// Public source IPs.
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

/// Beginning of the name of the checks that connect to MX hosts.
const PORT_CHECK: &str = "port ";

/// Returns whether a node in this state reaches MX hosts. True for one with simulated MX hosts, and for a node without attempts
/// so far unless its checkup found the port closed.
fn reaches(state: &Value) -> bool {
    let count = |name| state["engine"][name].as_u64().unwrap_or(0);
    let untried = count("connect_failures") == 0 && !is_port_closed(state);
    state["may_ask"] == true && (count("connections") > 0 || untried)
}

/// Returns whether the checkup reached no MX host from any source.
fn is_port_closed(state: &Value) -> bool {
    let checks = state["checkup"]["checks"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut ports =
        checks.iter().filter(|check| check["name"].as_str().is_some_and(|name| name.starts_with(PORT_CHECK)));
    ports.clone().next().is_some() && ports.all(|check| check["outcome"] == "fail")
}

/// Lists the outbound SMTP health of all live nodes.
pub async fn list_ways(app: &App, caller: &Caller) -> Result<EgressWays, ApiError> {
    let mut conn = app.store.read().await?;
    let now = clock::now(&mut conn, app.now()).await?;
    let mut all = nodes::all(&mut conn).await?;
    let operators = instance::value(&mut conn, OPERATORS).await?;
    drop(conn);
    all.retain(|node| is_alive(node, now));
    let ways: Vec<EgressWay> = all.iter().map(EgressWay::of).collect();
    let runs_it = caller.is_administrator() && operators == Some(caller.org_id().to_string());
    Ok(shown(ways, runs_it))
}

/// Returns all details to administrators of the installation, and a summary to others.
fn shown(ways: Vec<EgressWay>, runs_it: bool) -> EgressWays {
    let states: Vec<&Value> = ways.iter().filter_map(|way| way.state.as_ref()).collect();
    let reachable = (!states.is_empty()).then(|| states.into_iter().any(reaches));
    EgressWays { reachable, data: runs_it.then_some(ways) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_way_is_open_unless_all_that_was_tried_failed() {
        let checked = |ports: &[&str], connections: u64| {
            let port = |outcome: &&str| json!({ "name": "port 25 outbound", "outcome": outcome });
            let mut checks: Vec<Value> = ports.iter().map(port).collect();
            checks.push(json!({ "name": "resolver", "outcome": "fail" }));
            json!({
                "may_ask": true,
                "engine": { "connections": connections, "connect_failures": 0 },
                "checkup": { "checks": checks },
            })
        };
        let engine = |connections, failures| json!({ "connections": connections, "connect_failures": failures });
        let cases = [
            (json!({ "may_ask": true, "engine": null }), true),
            (json!({ "may_ask": true, "engine": engine(0, 0) }), true),
            (json!({ "may_ask": true, "engine": engine(1, 9) }), true),
            (json!({ "may_ask": true, "engine": engine(0, 9) }), false),
            (json!({ "may_ask": false, "engine": engine(1, 0) }), false),
            (json!({}), false),
            (checked(&["fail", "fail"], 0), false),
            (checked(&["fail", "ok"], 0), true),
            (checked(&["fail"], 3), true),
        ];
        for (state, expected) in cases {
            assert_eq!(reaches(&state), expected, "{state}");
        }
    }
}
