//! Figures about connections in reports.

use probity_store::activity::report_mail::{self, WaitingConnection};
use probity_store::connections::connection;

use super::*;
use crate::databases::for_each_database;

async fn waiting(store: &Store, org: OrgNo) -> Vec<WaitingConnection> {
    report_mail::waiting(&mut store.read().await.unwrap(), org).await.unwrap()
}

#[tokio::test]
async fn a_connection_waits_while_actions_are_planned_or_its_credentials_are_refused() {
    for_each_database(async |store| {
        let (of, other) = (connected(&store, 1).await, connected(&store, 2).await);
        assert_eq!(waiting(&store, of.org).await, []);
        let planned = [(0, ContactAction::Delete, Reason::Nonexistent), (2, ContactAction::Delete, Reason::Invalid)];
        let run = concluded(&store, &new_run(&of, 1), 3, &planned).await;
        assert_eq!(run.state, RunState::NeedsConfirmation);
        let expected = WaitingConnection { name: of.name.clone(), is_refused: false, planned: 2, needs_credits: false };
        assert_eq!(waiting(&store, of.org).await, std::slice::from_ref(&expected));
        assert_eq!(waiting(&store, other.org).await, []);
        assert_eq!(cancel(&store, &run).await, Some(RunState::Cancelled));
        assert_eq!(waiting(&store, of.org).await, []);
        store.write(|tx| connection::disconnect(tx, of.org, of.id, NOW).scope_boxed()).await.unwrap();
        assert_eq!(waiting(&store, of.org).await, [WaitingConnection { is_refused: true, planned: 0, ..expected }]);
    })
    .await;
}
