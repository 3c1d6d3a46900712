//! `GET /app/egress`: the way to mail servers, for administrators.
//!
//! Each node writes down what it sees with its signs of life ([`probity_service::egress`]); here all of them are read. Machines
//! are not
//! named. What they are and what all tenants ask through them is the operator's: addresses, counts and findings are for the
//! people of the organization of the first start ([`OPERATORS`]), who run the installation. Others are told whether mail servers
//! are
//! reached.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use probity_account::id::{NodeId, OrgId};
use probity_service::admin::OPERATORS;
use probity_service::app::App;
use probity_service::nodes::is_alive;
use probity_service::timestamp::Timestamp;
use probity_store::{clock, instance, nodes};
use serde::Serialize;
use serde_json::Value;

use crate::auth::Caller;
use crate::error::Refusal;

/// What all nodes see.
#[derive(Serialize)]
pub(crate) struct Ways {
    /// Whether a node asks mail servers and reaches them; null where none has written what it sees.
    reachable: Option<bool>,
    /// Null for whoever does not run the installation.
    data: Option<Vec<Way>>,
}

/// What a node sees.
#[derive(Serialize)]
struct Way {
    node: NodeId,
    seen_at: Timestamp,
    /// The public addresses that it asks from.
    sources: Vec<String>,
    /// Null where it asks nobody, or has written nothing that could be read.
    state: Option<Value>,
}

impl Way {
    fn of(node: &nodes::Node) -> Self {
        Self {
            node: node.id,
            seen_at: node.seen_at.into(),
            sources: node.sources.split(',').filter(|source| !source.is_empty()).map(str::to_owned).collect(),
            state: serde_json::from_str(&node.egress).ok(),
        }
    }
}

/// Whether a node with this state gets through. One that has tried nobody yet is not held to be cut off, nor is one whose mail
/// servers are simulated.
fn reaches(state: &Value) -> bool {
    let count = |name| state["engine"][name].as_u64().unwrap_or(0);
    state["may_ask"] == true && (count("connections") > 0 || count("connect_failures") == 0)
}

/// What all nodes that are alive see of their way to mail servers.
pub(crate) async fn get_ways(State(app): State<Arc<App>>, caller: Caller) -> Result<Json<Ways>, Refusal> {
    let mut conn = app.store.read().await?;
    let now = clock::now(&mut conn, app.now()).await?;
    let mut all = nodes::all(&mut conn).await?;
    let operators = instance::value(&mut conn, OPERATORS).await?;
    drop(conn);
    all.retain(|node| is_alive(node, now));
    let ways: Vec<Way> = all.iter().map(Way::of).collect();
    Ok(Json(shown(ways, operators.as_deref(), caller.org_id())))
}

/// All of it for the operator's organization, if there is one.
fn shown(ways: Vec<Way>, operators: Option<&str>, org: OrgId) -> Ways {
    let states: Vec<&Value> = ways.iter().filter_map(|way| way.state.as_ref()).collect();
    let reachable = (!states.is_empty()).then(|| states.into_iter().any(reaches));
    Ways { reachable, data: (operators == Some(org.to_string().as_str())).then_some(ways) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_way_is_open_unless_all_that_was_tried_failed() {
        let engine = |connections, failures| json!({ "connections": connections, "connect_failures": failures });
        let cases = [
            (json!({ "may_ask": true, "engine": null }), true),
            (json!({ "may_ask": true, "engine": engine(0, 0) }), true),
            (json!({ "may_ask": true, "engine": engine(1, 9) }), true),
            (json!({ "may_ask": true, "engine": engine(0, 9) }), false),
            (json!({ "may_ask": false, "engine": engine(1, 0) }), false),
            (json!({}), false),
        ];
        for (state, expected) in cases {
            assert_eq!(reaches(&state), expected, "{state}");
        }
    }
}
