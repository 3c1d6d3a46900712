//! Tests that the OpenAPI document is complete, correct and equal to the committed one.

mod page;

use std::path::Path;

use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use probity_contract::published::accounts::keys::CreateKey;
use probity_http::openapi::{of_service, operations, routes};
use serde_json::{Value, json};
use tower::ServiceExt;
use utoipa::openapi::OpenApi;

fn described() -> OpenApi {
    of_service(None)
}

fn described_json() -> Value {
    serde_json::to_value(described()).unwrap()
}

/// Compares with the committed document. With `UPDATE_OPENAPI=1` in the environment, rewrites it instead.
#[test]
fn the_document_is_the_committed_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi.json");
    let now = format!("{:#}\n", described_json());
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = committed.lines().zip(now.lines()).find(|(before, after)| before != after);
    assert!(
        committed == now,
        "the API's description changed, first at {differs:?}; if that is meant: \
         UPDATE_OPENAPI=1 cargo test -p probity-http openapi"
    );
}

#[test]
fn every_operation_says_what_it_is() {
    let document = described();
    assert!(operations(&document).count() >= 6);
    let mut ids = Vec::new();
    for (path, method, operation) in operations(&document) {
        let operation = serde_json::to_value(operation).unwrap();
        let place = format!("{method} {path}");
        for field in ["summary", "description", "operationId"] {
            assert!(operation[field].as_str().is_some_and(|text| !text.is_empty()), "{place}: {field}");
        }
        assert_ne!(operation["summary"], operation["description"], "{place}");
        assert!(operation["security"].is_array(), "{place}: security");
        assert_eq!(operation["tags"].as_array().map(Vec::len), Some(1), "{place}: tags");
        ids.push(operation["operationId"].as_str().unwrap().to_owned());
    }
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "an operation id stands twice: {ids:?}");
}

#[test]
fn every_parameter_and_header_has_schema_meaning_and_a_fitting_example() {
    let document = described_json();
    let mut seen = 0;
    for operation in all_operations(&document) {
        let own = operation["parameters"].as_array().into_iter().flatten();
        let responses = operation["responses"].as_object().unwrap().values();
        let headers = responses.flat_map(|response| response["headers"].as_object().into_iter().flatten());
        for part in own.chain(headers.map(|(_, header)| header)).map(|part| target(&document, part)) {
            let place = format!("{} {}", operation["operationId"], part["name"]);
            assert!(part["description"].as_str().is_some_and(|text| text.len() > 10), "{place}: description");
            fits(&document, &part["schema"], part.get("example").expect(&place), &place);
            seen += 1;
        }
    }
    assert!(seen > 30, "{seen}");
}

#[test]
fn numbers_may_come_as_text() {
    let document = described_json();
    let schema = |id: &str, name: &str| {
        let operation = all_operations(&document).find(|operation| operation["operationId"] == id).unwrap();
        let mut parameters = operation["parameters"].as_array().unwrap().iter();
        jsonschema::draft202012::new(&parameters.find(|one| one["name"] == name).unwrap()["schema"]).unwrap()
    };
    let timeout = schema("verify_email", "timeout");
    for taken in [json!(5), json!(0.5), json!("5"), json!("0.5"), json!("005"), json!("100")] {
        assert!(timeout.is_valid(&taken), "{taken}");
    }
    for refused in
        [json!(0), json!(-1), json!("0"), json!("0.0"), json!("-1"), json!(""), json!("soon"), json!("1."), json!("٥")]
    {
        assert!(!timeout.is_valid(&refused), "{refused}");
    }
    let per_page = schema("list_api_keys", "per_page");
    assert!([json!(1), json!("100"), json!(1000)].iter().all(|taken| per_page.is_valid(taken)));
    assert!(
        [json!(0), json!("0"), json!(1.5), json!("1.5"), json!("-3")].iter().all(|refused| !per_page.is_valid(refused))
    );
}

#[test]
fn every_error_has_the_envelope_and_the_status_of_its_code() {
    let document = described_json();
    let envelope = json!({"$ref": "#/components/schemas/Error"});
    for operation in all_operations(&document) {
        let id = &operation["operationId"];
        let responses = operation["responses"].as_object().unwrap();
        let errors = responses.iter().filter(|(status, _)| !status.starts_with('2'));
        for (status, response) in errors {
            let content = &response["content"]["application/json"];
            assert_eq!(content["schema"], envelope, "{id} {status}");
            let examples = content["examples"].as_object().unwrap();
            assert!(!examples.is_empty(), "{id} {status}");
            for (code, example) in examples {
                assert_eq!(example["value"]["error"]["code"], **code, "{id} {status}");
                fits(&document, &envelope, &example["value"], code);
            }
        }
        if operation["security"] != json!([]) {
            let always = ["401", "403", "429", "500", "503"];
            assert!(always.iter().all(|status| responses.contains_key(*status)), "{id}");
            assert!(responses["429"]["headers"].get("Retry-After").is_some(), "{id}");
        }
    }
}

#[test]
fn every_body_has_an_example_that_its_schema_takes() {
    let document = described_json();
    for operation in all_operations(&document) {
        let id = operation["operationId"].as_str().unwrap();
        let responses = operation["responses"].as_object().unwrap();
        let good = responses.iter().filter(|(status, _)| status.starts_with('2'));
        let bodies = good.map(|(_, response)| response).chain(operation.get("requestBody"));
        for body in bodies {
            let contents = body["content"].as_object().unwrap();
            assert!(!contents.is_empty(), "{id}");
            for content in contents.values() {
                fits(&document, &content["schema"], content.get("example").expect(id), id);
            }
        }
    }
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        for example in schema["examples"].as_array().into_iter().flatten() {
            fits(&document, schema, example, name);
        }
    }
}

#[test]
fn every_post_can_be_repeated_and_says_so() {
    let document = described_json();
    let header = json!({"$ref": "#/components/parameters/Idempotency-Key"});
    let mut posts = 0;
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let has = operation["parameters"].as_array().is_some_and(|parameters| parameters.contains(&header));
            assert_eq!(has, method == "post", "{method} {path}");
            if method == "post" {
                let responses = operation["responses"].as_object().unwrap();
                assert!(
                    ["400", "409", "413", "415", "422"].iter().all(|status| responses.contains_key(*status)),
                    "{path}"
                );
                let (_, good) = responses.iter().find(|(status, _)| status.starts_with('2')).unwrap();
                assert!(good["headers"].get("Idempotent-Replayed").is_some(), "{path}");
                posts += 1;
            }
        }
    }
    assert!(posts > 0);
}

/// Tests which bodies the schema of a new key accepts. The handler must accept every body that the schema accepts.
#[test]
fn a_new_key_is_described_by_its_kind() {
    let document = described_json();
    let schema = validator(&document, &json!({"$ref": "#/components/schemas/CreateKey"}));
    let https = "https://www.example.com";
    let taken = [
        json!({"name": "a", "kind": "live"}),
        json!({"name": "a", "kind": "test", "expires_at": "2030-01-01T00:00:00+02:00", "rate_limit_per_minute": 1}),
        json!({"name": "a", "kind": "live", "rate_limit_per_minute": 600.0}),
        json!({"name": "a", "kind": "rk", "scopes": ["verify", "verify"]}),
        json!({"name": "ä", "kind": "rk", "scopes": ["verify", "read:jobs"]}),
        json!({"name": "a", "kind": "pub", "allowed_origins": [https], "daily_cap": 500}),
        json!({"name": "a", "kind": "pub", "allowed_origins": [https, "http://localhost:3000", "http://127.0.0.1:3000"]}),
    ];
    for body in taken {
        assert!(schema.is_valid(&body), "{body}");
        serde_json::from_value::<CreateKey>(body).unwrap();
    }
    let refused = [
        json!({"name": "a", "kind": "live", "surprise": 1}),
        json!({"name": "", "kind": "live"}),
        json!({"name": "a\u{0}", "kind": "live"}),
        json!({"kind": "live"}),
        json!({"name": "a", "kind": "oauth"}),
        json!({"name": "a", "kind": "rk"}),
        json!({"name": "a", "kind": "rk", "scopes": []}),
        json!({"name": "a", "kind": "rk", "scopes": ["everything"]}),
        json!({"name": "a", "kind": "live", "scopes": ["verify"]}),
        json!({"name": "a", "kind": "rk", "scopes": ["verify"], "allowed_origins": [https]}),
        json!({"name": "a", "kind": "pub", "allowed_origins": ["https://www.example.com/path"]}),
        json!({"name": "a", "kind": "live", "rate_limit_per_minute": 0}),
        json!({"name": "a", "kind": "live", "daily_cap": 500}),
        json!({"name": "a", "kind": "pub", "allowed_origins": [https], "daily_cap": 0}),
        json!({"name": "a", "kind": "pub"}),
        json!({"name": "a", "kind": "pub", "allowed_origins": []}),
        json!({"name": " ", "kind": "live"}),
        json!({"name": "a", "kind": "pub", "allowed_origins": ["https://10.1"]}),
        json!({"name": "a", "kind": "pub", "allowed_origins": ["https://example.com:65536"]}),
    ];
    for body in refused {
        assert!(!schema.is_valid(&body), "{body}");
    }
    let unreadable = [
        json!({"name": "a", "kind": "live", "surprise": 1}),
        json!({"name": "a", "kind": "live", "expires_at": null}),
        json!({"name": "a", "kind": "rk", "scopes": null}),
        json!({"name": "a", "kind": "pub", "allowed_origins": null}),
        json!({"name": "a", "kind": "live", "rate_limit_per_minute": null}),
        json!({"name": "a", "kind": "pub", "allowed_origins": [https], "daily_cap": null}),
        json!({"name": "a", "kind": "live", "rate_limit_per_minute": 0.5}),
    ];
    for body in unreadable {
        assert!(!schema.is_valid(&body) && serde_json::from_value::<CreateKey>(body.clone()).is_err(), "{body}");
    }
}

async fn fetch(path: &str, known: Option<&str>) -> (Response<()>, String) {
    let mut request = Request::get(path);
    if let Some(known) = known {
        request = request.header("If-None-Match", known);
    }
    let router = routes::<()>(described);
    let (parts, body) = router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (Response::from_parts(parts, ()), String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn the_document_is_served_once_to_each_client() {
    let (response, body) = fetch("/v1/openapi.json", None).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.headers()["cache-control"], "public, max-age=300");
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), described_json());
    let tag = response.headers()["etag"].to_str().unwrap();
    let (again, nothing) = fetch("/v1/openapi.json", Some(tag)).await;
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    assert_eq!((again.headers()["etag"].to_str().unwrap(), nothing.as_str()), (tag, ""));
    let (other, _) = fetch("/v1/openapi.json", Some("\"other\"")).await;
    assert_eq!(other.status(), StatusCode::OK);
}

fn all_operations(document: &Value) -> impl Iterator<Item = &Value> {
    document["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap().values())
}

/// Resolves a reference.
fn target<'a>(document: &'a Value, part: &'a Value) -> &'a Value {
    let path = part["$ref"].as_str().map(|reference| reference.strip_prefix('#').unwrap());
    path.map_or(part, |path| document.pointer(path).expect("a reference leads somewhere"))
}

fn validator(document: &Value, schema: &Value) -> jsonschema::Validator {
    // The document's schemas are the largest cost, and most values need none of them.
    let root = if schema.to_string().contains("\"$ref\"") {
        json!({"allOf": [schema], "components": document["components"]})
    } else {
        schema.clone()
    };
    jsonschema::draft202012::options().should_validate_formats(true).build(&root).unwrap()
}

fn fits(document: &Value, schema: &Value, value: &Value, place: &str) {
    assert!(schema.is_object(), "{place}: no schema");
    let validator = validator(document, schema);
    let errors: Vec<String> = validator.iter_errors(value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{place}: {errors:#?} in {value:#}");
}
