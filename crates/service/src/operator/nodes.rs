//! Nodes on the database, with the leases that they hold.

use probity_backend::nodes::is_alive;
use probity_contract::error::ApiError;
use probity_contract::published::operator::nodes::ListedNode;
use probity_store::nodes::{self, StoredNode, clock};

use crate::app::App;

/// Lists the nodes, oldest first. A node that left is not listed; a node that died is listed for 1 h.
pub async fn list_nodes(app: &App) -> Result<Vec<ListedNode>, ApiError> {
    let mut conn = app.store.read().await?;
    let now = clock::now(&mut conn, app.now()).await?;
    let leases = nodes::leases(&mut conn).await?;
    let listed = |node: StoredNode| {
        let own = leases.iter().filter(|lease| lease.holder == node.id && lease.until > now);
        let leases = own.map(|lease| lease.name.clone()).collect();
        let alive = is_alive(&node, now);
        ListedNode::of(node, alive, leases)
    };
    Ok(nodes::all(&mut conn).await?.into_iter().map(listed).collect())
}
