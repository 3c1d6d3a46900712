//! Runs one case of a golden file.

use std::collections::BTreeMap;

use probity_connectors::{
    ActStep, Acting, ActionKind, ActionOrder, ActionOutcome, ActionTarget, Authorizing, ConnectorFile, ContactsGoal,
    Credentials, DateForm, Fault, HookEndpoint, HookStep, HostAllowance, ReadGoal, ReadPage, ReadSince, ReadStep,
    Reading, Registering, Request, Response, SinceKind, TestOutcome, Testing, VerdictFacts, hints, removal,
};
use probity_mail::time::Millis;
use serde_json::{Value, json};

use crate::vendors::judge::written;

/// A golden file with its connector.
pub(crate) struct Golden<'a> {
    pub file: &'a ConnectorFile,
    pub credentials: Credentials,
    pub now: Millis,
}

/// What a case did.
pub(crate) struct Ran {
    pub requests: Vec<Value>,
    pub result: Value,
    /// What logs would show of it.
    pub debug: String,
}

impl<'a> Golden<'a> {
    pub(crate) fn of(file: &'a ConnectorFile, golden: &Value) -> Self {
        let entered: BTreeMap<String, String> =
            serde_json::from_value(golden["credentials"].clone()).expect("credentials");
        let allowed = HostAllowance(serde_json::from_value(golden["allow"].clone()).unwrap_or_default());
        let credentials = Credentials::new(file, &entered, &allowed).unwrap_or_else(|fault| panic!("{fault}"));
        let credentials = match golden["token"].as_str() {
            Some(token) => credentials.with_token(file, token.into()).expect("a token"),
            None => credentials,
        };
        Self { file, credentials, now: time(&golden["now"]) }
    }

    pub(crate) fn run(&self, case: &Value) -> Ran {
        let mut answers = Answers {
            rest: case["exchanges"].as_array().expect("exchanges").iter(),
            now: self.now,
            requests: vec![],
            debug: Vec::new(),
        };
        let result = if case["token"].is_object() {
            self.token(&mut answers)
        } else if case["test"].is_object() {
            self.test(&mut answers)
        } else if !case["read"].is_null() {
            self.read(&case["read"], &mut answers)
        } else if !case["act"].is_null() {
            self.act(&case["act"], &mut answers)
        } else if !case["register"].is_null() {
            self.register(&case["register"], &mut answers)
        } else {
            self.notice(&case["notice"])
        };
        let result = result.unwrap_or_else(|fault| {
            json!({"fault": {"class": format!("{:?}", fault.class).to_lowercase(), "status": fault.status, "wait_ms": fault.wait_ms, "message": fault.message}})
        });
        answers.debug.push(format!("{:?}", self.credentials));
        Ran { requests: answers.requests, result, debug: answers.debug.concat() }
    }

    fn token(&self, answers: &mut Answers<'_>) -> Result<Value, Fault> {
        let authorizing = Authorizing::new(self.file, &self.credentials).expect("a token rule");
        let grant = authorizing.answer(&answers.exchange(&authorizing.request(self.now)?))?;
        answers.debug.push(format!("{grant:?}"));
        let replaced = grant.replaced.as_ref().map(|(name, _)| name);
        Ok(json!({"expires_at": grant.expires_at.to_rfc3339(), "replaced": replaced}))
    }

    fn test(&self, answers: &mut Answers<'_>) -> Result<Value, Fault> {
        let testing = Testing::new(self.file, &self.credentials);
        let response = answers.exchange(&testing.request(self.now)?);
        match testing.answer(&response) {
            TestOutcome::Valid { account } => Ok(json!({"account": account})),
            TestOutcome::Wrong { fields, message } => Ok(json!({"wrong": fields, "message": message})),
            TestOutcome::Failed(fault) => Err(fault),
        }
    }

    fn read(&self, goal: &Value, answers: &mut Answers<'_>) -> Result<Value, Fault> {
        let goal = if goal == "lists" { ReadGoal::Lists } else { ReadGoal::Contacts(contacts_goal(goal)) };
        let mut reading = Reading::new(self.file, &self.credentials, goal)?;
        let mut pages = Vec::new();
        while let ReadStep::Send(request) = reading.next(self.now)? {
            if answers.rest.len() == 0 {
                pages.push(json!("more"));
                break;
            }
            let page = reading.answer(&answers.exchange(&request))?;
            pages.push(shown(&page));
            // What a crash leaves is the stored position.
            let stored = serde_json::to_string(reading.position()).expect("a position");
            let position = serde_json::from_str(&stored).expect("a position");
            assert_eq!(&position, reading.position());
            reading = Reading::resume(self.file, &self.credentials, position);
        }
        Ok(json!({"pages": pages}))
    }

    fn act(&self, order: &Value, answers: &mut Answers<'_>) -> Result<Value, Fault> {
        let text = |name: &str| order[name].as_str().map(str::to_owned);
        let targets = order["contacts"].as_array().expect("contacts").iter();
        let targets = targets.map(|target| ActionTarget {
            id: target["id"].as_str().expect("id").to_owned(),
            email: target["email"].as_str().expect("email").to_owned(),
            lists: target["lists"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|id| Some(id.as_str()?.into()))
                .collect(),
            verdict: VerdictFacts {
                status: "undeliverable".into(),
                reason: "nonexistent".into(),
                suggestion: target["suggestion"].as_str().map(str::to_owned),
                at: self.now,
            },
            value: Some(target["value"].clone()).filter(|value| !value.is_null()),
        });
        let kind: ActionKind = serde_json::from_value(order["kind"].clone()).expect("kind");
        let order = ActionOrder {
            kind,
            list: text("list"),
            tag: text("tag"),
            field: text("field"),
            targets: targets.collect(),
        };
        let mut acting = Acting::new(self.file, &self.credentials, order, BTreeMap::new())?;
        while let ActStep::Send(request) = acting.next(self.now)? {
            acting.answer(&answers.exchange(&request))?;
        }
        let outcome = |outcome: &Option<ActionOutcome>| match outcome {
            Some(ActionOutcome::Done { id }) => json!({"done": id}),
            Some(ActionOutcome::Gone) => json!("gone"),
            Some(ActionOutcome::Taken) => json!("taken"),
            Some(ActionOutcome::Changed) => json!("changed"),
            Some(ActionOutcome::Refused { message }) => json!({"refused": message}),
            None => Value::Null,
        };
        let outcomes: Vec<_> = acting.outcomes().iter().map(outcome).collect();
        Ok(json!({"outcomes": outcomes, "memory": acting.memory()}))
    }

    fn register(&self, order: &Value, answers: &mut Answers<'_>) -> Result<Value, Fault> {
        let url = "https://probity.example/hooks/c1/s3cretpath".to_owned();
        let endpoint =
            HookEndpoint { url, secret: "hook-secret".into(), list: order["list"].as_str().map(str::to_owned) };
        let mut registering = Registering::new(self.file, &self.credentials, endpoint.clone())?;
        let registration = loop {
            match registering.next(self.now)? {
                HookStep::Send(request) => registering.answer(&answers.exchange(&request))?,
                HookStep::Done(registration) => break registration,
            }
        };
        let request = removal(self.file, &self.credentials, (&endpoint, &registration), self.now)?;
        answers.exchange(&request);
        Ok(json!({"id": registration.id, "secret_is_ours": registration.secret == endpoint.secret}))
    }

    fn notice(&self, notice: &Value) -> Result<Value, Fault> {
        let rule = self.file.hook.as_ref().expect("a hook");
        let body = notice["text"].as_str().map_or_else(|| notice["json"].to_string(), str::to_owned);
        let hints = hints(rule, body.as_bytes())?;
        Ok(hints.iter().map(|hint| json!({"id": hint.id, "email": hint.email, "list": hint.list})).collect())
    }
}

/// The answers of a case, and the requests that were made for them.
struct Answers<'a> {
    rest: std::slice::Iter<'a, Value>,
    now: Millis,
    requests: Vec<Value>,
    debug: Vec<String>,
}

impl Answers<'_> {
    fn exchange(&mut self, request: &Request) -> Response {
        let shown = written(request);
        let exchange = self.rest.next().unwrap_or_else(|| panic!("no answer for {shown}"));
        self.requests.push(shown);
        self.debug.push(format!("{request:?}"));
        let answer = &exchange["answer"];
        let mut headers: Vec<(String, String)> = serde_json::from_value::<BTreeMap<_, _>>(answer["headers"].clone())
            .unwrap_or_default()
            .into_iter()
            .collect();
        let body = match (&answer["text"], &answer["json"]) {
            (Value::String(text), _) => text.clone(),
            (_, Value::Null) => String::new(),
            (_, json) => json.to_string(),
        };
        if !answer["json"].is_null() {
            headers.push(("content-type".into(), "application/json".into()));
        }
        let status = u16::try_from(answer["status"].as_u64().expect("status")).expect("status");
        Response { status, headers, body: body.into_bytes(), is_cut: false, at: self.now }
    }
}

fn contacts_goal(goal: &Value) -> ContactsGoal {
    let kind = match goal["since"]["kind"].as_str() {
        Some("created") => Some(SinceKind::Created),
        Some("updated") => Some(SinceKind::Updated),
        _ => None,
    };
    ContactsGoal {
        lists: serde_json::from_value(goal["lists"].clone()).unwrap_or_default(),
        since: kind.map(|kind| ReadSince { kind, at: time(&goal["since"]["at"]).0 }),
        only_subscribed: goal["only_subscribed"] == true,
    }
}

fn shown(page: &ReadPage) -> Value {
    let date = |at: Option<Millis>| at.map(Millis::to_rfc3339);
    let lists: Vec<_> = page.lists.iter().map(|list| json!([list.id, list.name, list.count])).collect();
    let contacts = page.contacts.iter().map(|contact| {
        json!({
            "id": contact.id, "email": contact.email, "state": contact.state, "list": contact.list,
            "created": date(contact.created), "updated": date(contact.updated),
        })
    });
    if lists.is_empty() {
        json!({"contacts": contacts.collect::<Vec<_>>(), "skipped": page.skipped, "watermark": date(page.watermark)})
    } else {
        json!({"lists": lists})
    }
}

fn time(text: &Value) -> Millis {
    text.as_str().and_then(|text| DateForm::Rfc3339.read(text)).expect("a time")
}
