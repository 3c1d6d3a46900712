//! The page for people at `/docs`: the document as HTML, made on the server.
//!
//! There is no script: the page can be read with a browser that runs none, loads nothing from elsewhere, and prints well.
//! maud writes the HTML: its macro is checked when the program is compiled and escapes every value that is put in, so no text
//! of the document (which carries names, examples and patterns full of `<` and `"`) has to be escaped by hand. A renderer in
//! the browser was rejected: it needs megabytes of script and a policy that allows them.

mod fields;
mod sample;

use fields::{field_tables, type_of};
use maud::{DOCTYPE, Markup, html};
use probity_service::error::Code;
use serde_json::{Value, json};

/// The whole page.
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
                link rel="stylesheet" href="/docs/style.css";
            }
            body {
                a class="skip" href="#top" { "Skip to the text" }
                (sidebar(document))
                main {
                    (introduction(document))
                    @for tag in list(&document["tags"]) { (section(document, tag)) }
                    (all_errors())
                }
            }
        }
    }
}

fn sidebar(document: &Value) -> Markup {
    html! {
        nav aria-label="Operations" {
            a class="brand" href="#top" { (text(&document["info"]["title"])) }
            ul { li { a href="#authentication" { "Authentication" } } li { a href="#errors" { "Errors" } } }
            @for tag in list(&document["tags"]) {
                h2 { (text(&tag["name"])) }
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
            p { "This page is made from " a href="/v1/openapi.json" { "the OpenAPI document" } ", which programs can read." }
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
        section {
            h2 { (name) }
            (prose(text(&tag["description"])))
            @for operation in operations(document, name) { (article(document, &operation)) }
        }
    }
}

fn article(document: &Value, operation: &Operation) -> Markup {
    let parameters: Vec<&Value> = list(&operation.value["parameters"])
        .map(|one| probity_service::published::example::resolve(document, one))
        .collect();
    let body = &operation.value["requestBody"];
    html! {
        article id=(operation.id()) {
            h3 { (operation.summary()) }
            p class="route" { span class="method" { (operation.method) } " " code { (operation.path) } }
            (prose(text(&operation.value["description"])))
            (needs(operation))
            pre class="curl" { code { (sample::curl(document, operation)) } }
            @if !parameters.is_empty() { h4 { "Parameters" } (parameter_table(document, &parameters)) }
            @if body.is_object() { h4 { "Request body" } (prose(text(&body["description"]))) (content(document, &body["content"])) }
            h4 { "Answers" }
            @for (status, response) in operation.value["responses"].as_object().into_iter().flatten() {
                (answer(document, status, response))
            }
        }
    }
}

fn needs(operation: &Operation) -> Markup {
    let ways = list(&operation.value["security"]).next();
    let scopes: Vec<&str> = ways.into_iter().flat_map(|way| list(&way["bearer"])).filter_map(Value::as_str).collect();
    html! {
        p class="needs" {
            @if ways.is_none() { "Needs no key." }
            @else if scopes.is_empty() { "Needs a key, with any scopes." }
            @else { "Needs a key with the scope " @for scope in &scopes { code { (scope) } " " } }
        }
    }
}

fn parameter_table(document: &Value, parameters: &[&Value]) -> Markup {
    html! {
        div class="table" {
            table {
                thead { tr { th { "Name" } th { "In" } th { "Type" } th { "Meaning" } } }
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

fn answer(document: &Value, status: &str, response: &Value) -> Markup {
    let about: Vec<&str> = paragraphs(text(&response["description"])).collect();
    let headers: Vec<&String> = response["headers"].as_object().into_iter().flat_map(serde_json::Map::keys).collect();
    html! {
        details open[status.starts_with('2')] {
            summary { span class="status" { (status) } @for line in &about { span class="when" { (inline(line)) } } }
            (content(document, &response["content"]))
            @if !headers.is_empty() {
                p class="headers" { "Headers:" @for header in headers { " " code { (header) } } }
            }
        }
    }
}

/// A body in each of its types: its fields, and what it looks like.
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

fn all_errors() -> Markup {
    html! {
        section id="errors" {
            h2 { "Errors" }
            p { "Every answer other than 2xx has the same envelope. " code { "type" } " is a function of the status." }
            div class="table" {
                table {
                    thead { tr { th { "Status" } th { "Code" } th { "Type" } th { "When" } } }
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

/// One operation of the document.
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

/// The operations of one tag, in the document's order.
fn operations<'a>(document: &'a Value, tag: &'a str) -> impl Iterator<Item = Operation<'a>> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let all = paths.flat_map(|(path, item)| {
        let methods = item.as_object().into_iter().flatten();
        methods.map(|(method, value)| Operation { path, method: method.to_uppercase(), value })
    });
    all.filter(move |operation| operation.value["tags"][0] == tag)
}

/// Text with paragraphs and `code` in backticks, which is all the markup that the document's descriptions use.
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

/// A value as it stands in a URL: text without quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
