//! The HTML page at `/docs`, rendered on the server.
//!
//! The page is whole without a script, loads nothing from elsewhere, and prints well. The modules of `web/docs` add what needs
//! one: pages, guides, search, examples in other languages, the reader's test key. The maud crate checks the HTML at compile time and
//! escapes every value. The document's texts (names, examples and patterns full of `<` and `"`) need no manual escaping.

mod fields;
mod sample;

use fields::{field_tables, type_of};
use maud::{DOCTYPE, Markup, html};
use probity_contract::error::Code;
use probity_contract::published::example;
use serde_json::{Value, json};

/// Operations that readers need first, in this order; the others of their sections follow.
const FIRST: [&str; 5] = ["verify_email", "submit_batch", "get_batch_status", "get_batch_results", "download_batch"];

/// Renders the whole page.
pub(super) fn render(document: &Value) -> Markup {
    let title = text(&document["info"]["title"]);
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                link rel="icon" href="/docs/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/docs/tokens.css";
                link rel="stylesheet" href="/docs/style.css";
                script src="/docs/theme.js" {}
                script type="module" src="/docs/page.js" {}
            }
            body {
                a class="skip" href="#top" { "Skip to content" }
                (sidebar(document))
                main {
                    (introduction(document))
                    @for tag in list(&document["tags"]) { (section(document, tag)) }
                    (all_errors(document))
                }
            }
        }
    }
}

fn sidebar(document: &Value) -> Markup {
    html! {
        nav aria-label="Operations" {
            p class="brand" {
                a href="#top" { img src="/docs/icon.svg" alt="" width="24" height="24"; (text(&document["info"]["title"])) }
                a class="back" href="/" { "Dashboard" }
            }
            div id="tools" {}
            ul { li { a href="#authentication" { "Authentication" } } li { a href="#errors" { "Errors" } } }
            @for tag in list(&document["tags"]) {
                h2 { a href={ "#" (slug(tag)) } { (text(&tag["name"])) } }
                ul {
                    @for operation in operations(document, text(&tag["name"])) {
                        li { a href={ "#" (operation.id()) } { (operation.summary()) } }
                    }
                }
            }
        }
    }
}

fn introduction(document: &Value) -> Markup {
    let info = &document["info"];
    let schemes = &document["components"]["securitySchemes"];
    let (in_header, in_query): (Vec<_>, Vec<_>) =
        schemes.as_object().into_iter().flatten().partition(|(_, scheme)| scheme["type"] == "http");
    html! {
        header id="top" {
            h1 { (text(&info["title"])) " " small { (text(&info["version"])) } }
            (prose(text(&info["description"])))
            p { "Programs can read the same description as an " a href="/v1/openapi.json" { "OpenAPI document" } "." }
            div id="key" {}
        }
        section id="authentication" {
            h2 { "Authentication" }
            @for (name, scheme) in in_header.into_iter().chain(in_query) {
                h3 { code { (name) } }
                (prose(text(&scheme["description"])))
            }
        }
    }
}

fn section(document: &Value, tag: &Value) -> Markup {
    let name = text(&tag["name"]);
    html! {
        section id=(slug(tag)) {
            h2 { (name) }
            (prose(text(&tag["description"])))
            @for operation in &operations(document, name) { (article(document, operation)) }
        }
    }
}

fn article(document: &Value, operation: &Operation) -> Markup {
    let parameters: Vec<&Value> = list(&operation.value["parameters"])
        .map(|one| probity_contract::published::example::resolve(document, one))
        .collect();
    let body = &operation.value["requestBody"];
    html! {
        article id=(operation.id()) {
            div class="head" {
                h3 { a class="anchor" href={ "#" (operation.id()) } { (operation.summary()) } }
                p class="route" { span class="method" { (operation.method) } " " code { (operation.path) } }
                (prose(text(&operation.value["description"])))
                (needs(operation))
            }
            (sample::example(document, operation))
            div class="rest" {
                @if !parameters.is_empty() { h4 { "Parameters" } (parameter_table(document, &parameters)) }
                @if body.is_object() { h4 { "Request body" } (prose(text(&body["description"]))) (content(document, &body["content"])) }
                h4 { "Responses" }
                (answers(document, &operation.value["responses"]))
            }
        }
    }
}

fn needs(operation: &Operation) -> Markup {
    let ways = list(&operation.value["security"]).next();
    let scopes: Vec<&str> = ways.into_iter().flat_map(|way| list(&way["bearer"])).filter_map(Value::as_str).collect();
    html! {
        p class="needs" {
            @if ways.is_none() { "Requires no API key." }
            @else if scopes.is_empty() { "Requires an API key. Any scope suffices." }
            @else { "Requires an API key with the scope " @for (index, scope) in scopes.iter().enumerate() { @if index > 0 { ", " } code { (scope) } } "." }
        }
    }
}

fn parameter_table(document: &Value, parameters: &[&Value]) -> Markup {
    html! {
        div class="table" {
            table {
                thead { tr { th { "Name" } th { "Location" } th { "Type" } th { "Description" } } }
                tbody {
                    @for parameter in parameters {
                        tr {
                            td { code { (text(&parameter["name"])) } @if parameter["required"] == true { span class="required" { " required" } } }
                            td { (text(&parameter["in"])) }
                            td { (type_of(document, &parameter["schema"])) }
                            td {
                                (prose(text(&parameter["description"])))
                                @if let Some(example) = parameter.get("example") { p class="example" { "Example: " code { (plain(example)) } } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Renders each success in full, and failures as one list: they share their body, which the section on errors describes.
fn answers(document: &Value, responses: &Value) -> Markup {
    let all = responses.as_object().into_iter().flatten();
    let (well, failed): (Vec<_>, Vec<_>) = all.partition(|(status, _)| status.starts_with('2'));
    html! {
        @for (status, response) in well { (answer(document, status, response)) }
        @if !failed.is_empty() {
            details class="failures" {
                summary { "Errors" }
                p { "All have the " a href="#errors" { "same body" } "." }
                ul {
                    @for (status, response) in failed {
                        li {
                            span class="status" { (status) }
                            @for line in paragraphs(text(&response["description"])) { span class="when" { (inline(line)) } }
                        }
                    }
                }
            }
        }
    }
}

fn answer(document: &Value, status: &str, response: &Value) -> Markup {
    let headers: Vec<&String> = response["headers"].as_object().into_iter().flat_map(serde_json::Map::keys).collect();
    html! {
        details open {
            summary {
                span class="status" { (status) }
                @for line in paragraphs(text(&response["description"])) { span class="when" { (inline(line)) } }
            }
            (content(document, &response["content"]))
            @if !headers.is_empty() {
                p class="headers" { "Headers:" @for header in headers { " " code { (header) } } }
            }
        }
    }
}

/// Renders a body of each content type: its fields and an example.
fn content(document: &Value, content: &Value) -> Markup {
    html! {
        @for (kind, body) in content.as_object().into_iter().flatten() {
            p class="kind" { code { (kind) } }
            (field_tables(document, &body["schema"]))
            @if let Some(example) = body.get("example") { (pretty(example)) }
            @for (name, example) in body["examples"].as_object().into_iter().flatten() {
                p class="example" { "Example: " code { (name) } }
                (pretty(&example["value"]))
            }
        }
    }
}

fn all_errors(document: &Value) -> Markup {
    let envelope = &document["components"]["schemas"]["Error"];
    html! {
        section id="errors" {
            h2 { "Errors" }
            p { "Every response with another status than 2xx has the same envelope. The status determines " code { "type" } "." }
            (field_tables(document, envelope))
            (pretty(&example::of(document, envelope)))
            div class="table" {
                table {
                    thead { tr { th { "Status" } th { "Code" } th { "Type" } th { "Cause" } } }
                    tbody {
                        @for code in Code::ALL {
                            tr { td { (code.status().as_u16()) } td { code { (code.as_str()) } } td { code { (plain(&json!(code.kind()))) } } td { (prose(code.meaning())) } }
                        }
                    }
                }
            }
        }
    }
}

/// Operation of the document.
struct Operation<'a> {
    path: &'a str,
    method: String,
    value: &'a Value,
}

impl Operation<'_> {
    fn id(&self) -> &str {
        text(&self.value["operationId"])
    }

    fn summary(&self) -> &str {
        text(&self.value["summary"])
    }
}

/// Returns the operations of a tag: the [`FIRST`], then the others in the document's order.
fn operations<'a>(document: &'a Value, tag: &str) -> Vec<Operation<'a>> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let all = paths.flat_map(|(path, item)| {
        let methods = item.as_object().into_iter().flatten();
        methods.map(|(method, value)| Operation { path, method: method.to_uppercase(), value })
    });
    let mut found: Vec<Operation> = all.filter(|operation| operation.value["tags"][0] == tag).collect();
    let place = |operation: &Operation| FIRST.iter().position(|first| *first == operation.id()).unwrap_or(FIRST.len());
    found.sort_by_key(place);
    found
}

/// Returns the anchor of a section.
fn slug(tag: &Value) -> String {
    format!("section-{}", text(&tag["name"]).to_lowercase().replace(|sign: char| !sign.is_ascii_alphanumeric(), "-"))
}

/// Renders paragraphs and `code` in backticks, the only markup that the document's descriptions use.
fn prose(text: &str) -> Markup {
    html! { @for paragraph in paragraphs(text) { p { (inline(paragraph)) } } }
}

fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty())
}

fn inline(paragraph: &str) -> Markup {
    html! {
        @for (index, piece) in paragraph.split('`').enumerate() {
            @if index % 2 == 1 { code { (piece) } } @else { (piece) }
        }
    }
}

fn pretty(value: &Value) -> Markup {
    html! { pre { code { (format!("{value:#}")) } } }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns a value as text for a URL, without quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
