//! Review: what is planned, with the mail server's reply and the reason why it waits, listed and as a file.

use serde_json::{Value, json};

use super::{Customer, with_contacts};
use crate::test_app::Call;

const NOBODY: &str = "nobody@honest-mail.com";

async fn file(customer: &Customer<'_>) -> Vec<String> {
    let file = customer.app.get(&customer.key, &format!("{}/review/download", customer.path)).await;
    assert_eq!(file.status, 200, "{}", file.text());
    assert!(file.header("content-type").unwrap().starts_with("text/csv"));
    assert!(file.header("content-disposition").unwrap().ends_with(".planned.csv\""));
    file.text().split_terminator("\r\n").map(str::to_owned).collect()
}

#[tokio::test]
#[ignore = "thorough"]
async fn planned_actions_have_the_reply_and_the_reason_why_they_wait() {
    with_contacts(&[NOBODY, "=1+1", "x@null-mx.com", "user1@honest-mail.com"], async |app, acme| {
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let id = customer.start(false).await;
        customer.until(&id, "needs_confirmation").await;
        let review = customer.get("review").await["data"].clone();
        let [nobody, unclear, illegitimate] = [0, 1, 2].map(|at| &review[at]);
        assert_eq!((&nobody["status"], &nobody["held_by"]), (&json!("undeliverable"), &json!("first_run")));
        let (host, reply) = (nobody["host"].as_str().unwrap(), nobody["reply"].as_str().unwrap());
        assert!(host.ends_with("honest-mail.com") && reply.starts_with("550"), "{nobody:#}");
        for unasked in [unclear, illegitimate] {
            assert_eq!((&unasked["host"], &unasked["reply"]), (&Value::Null, &Value::Null), "{unasked:#}");
        }
        let lines = file(&customer).await;
        let [header, first, second, third] = &lines[..] else { panic!("{lines:#?}") };
        assert!(header.starts_with("email,action,suggestion,status,reason,host,reply,held_by,doubt,"), "{header}");
        let start = format!("{NOBODY},delete,,undeliverable,nonexistent,{host},{reply},first_run,,");
        assert!(first.starts_with(&start) && first.ends_with(&format!(",1,{id},0")), "{first}");
        let doubt = unclear["doubt"].as_str().unwrap();
        let start = format!("'=1+1,delete,,undeliverable,invalid,,,first_run,{doubt},");
        assert!(second.starts_with(&start), "no formula: {second}");
        assert!(third.starts_with("x@null-mx.com,delete,,undeliverable,illegitimate,,,first_run,,"), "{third}");
        let decisions = json!({ "decisions": [{ "run_id": id, "index": 0, "decision": "ignore" }] });
        customer.post("review/decisions", decisions).await.ok(200);
        assert_eq!(file(&customer).await[1..], lines[2..], "what is decided is no longer planned");
        let head = Call::new("HEAD", format!("{}/review/download", customer.path)).key(&customer.key);
        assert_eq!(app.send(head).await.status, 200);
    })
    .await;
}

#[tokio::test]
#[ignore = "thorough"]
async fn the_file_has_all_planned_actions() {
    const CONTACTS: u32 = 1_001;
    with_contacts(&[], async |app, acme| {
        for id in 1..=CONTACTS {
            acme.add(id, "not an address", &[("news", "active")]);
        }
        let customer = Customer::connected(app, acme, json!({ "action": "delete" })).await;
        let id = customer.start(true).await;
        customer.until(&id, "needs_confirmation").await;
        let lines = file(&customer).await;
        assert_eq!(lines.len(), 1 + usize::try_from(CONTACTS).unwrap());
        assert!(lines.last().unwrap().ends_with(&format!(",{id},1000")), "{lines:#?}");
    })
    .await;
}
