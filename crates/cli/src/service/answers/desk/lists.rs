use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use probity_http::desk::{Ask, Desk, DeskError};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{Page, borrowed, page, read, refused};
use crate::admin::Told;
use crate::admin::lists::{self, Download, Listing, NewList, Rows, Wish};
use crate::exit::{Ends, Exit};

/// Maximum rows per page of lists.
const PER_PAGE: u32 = 100;
/// Maximum rows per page of a job's results.
const ROWS_PER_PAGE: u32 = 500;
/// HTTP status of a missing object.
const NOT_FOUND: u16 = 404;
/// HTTP status of a reference used for something else.
const REUSED: u16 = 422;

pub(super) async fn answer(desk: &Desk, wish: Wish) -> Result<Told> {
    match wish {
        Wish::Add(new) => add(desk, &new).await,
        Wish::List(listing) => list(desk, &listing).await,
        Wish::Show(job) => progress(desk, &job).await,
        Wish::Rows(wanted) => rows(desk, wanted).await,
        Wish::Download(wanted) => download(desk, &wanted).await,
        Wish::Find(text, limit) => find(desk, &text, limit).await,
        Wish::Cancel(job) => cancel(desk, &job).await,
    }
}

/// The needed fields of an upload.
#[derive(Deserialize)]
struct Upload {
    id: String,
    columns: Vec<String>,
    column: Option<usize>,
}

/// Uploads a file, then verifies it or estimates its cost. Discards an upload that is not started.
async fn add(desk: &Desk, new: &NewList) -> Result<Told> {
    let upload: Upload = read(&put_up(desk, new).await?)?;
    let path = format!("/app/uploads/{}", upload.id);
    let done = going_on(desk, new, &upload, &path).await;
    let kept = match &done {
        Ok(_) if !new.forecast => started(desk, &path).await?,
        _ => false,
    };
    if !kept {
        desk.send("DELETE", &*path, None).await.map_err(refused)?;
    }
    done
}

/// Reports whether a job was created from a file; otherwise its reference belongs to another.
async fn started(desk: &Desk, path: &str) -> Result<bool> {
    let upload: Value = read(&desk.get(path).await.map_err(refused)?)?;
    Ok(!upload["job"].is_null())
}

async fn put_up(desk: &Desk, new: &NewList) -> Result<String> {
    let name = new.file.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let source = if new.file.is_some() { "csv" } else { "input" };
    let mut query = vec![("source", source), ("name", name.as_deref().unwrap_or_default())];
    query.extend(new.sheet.as_deref().map(|sheet| ("sheet", sheet)));
    let ask = Ask::with("/app/uploads", &query);
    let put = match &new.file {
        None => desk.put_up(ask, std::io::stdin()).await,
        Some(path) => {
            let file = std::fs::File::open(path);
            desk.put_up(ask, file.with_context(|| format!("cannot read {}", path.display()))?).await
        }
    };
    put.map_err(refused)
}

async fn going_on(desk: &Desk, new: &NewList, upload: &Upload, path: &str) -> Result<Told> {
    let column = new.column.as_deref().map(|wanted| column_of(&upload.columns, wanted)).transpose()?;
    if column.is_some() || new.no_header {
        let mut change = json!({});
        change["column"] = column.map_or(Value::Null, Value::from);
        change["header"] = if new.no_header { Value::Bool(false) } else { Value::Null };
        desk.send("PATCH", path, Some(&change)).await.map_err(refused)?;
    } else if upload.column.is_none() {
        bail!("no column looks like addresses; set --column to one of: {}", upload.columns.join(", "));
    }
    if new.forecast {
        let forecast = desk.get(&*format!("{path}/forecast")).await.map_err(refused)?;
        return Told::one(forecast, lists::forecasts);
    }
    let start = format!("{path}/start");
    let ask = Ask { key: new.reference.as_deref(), ..Ask::from(&*start) };
    let started: Value = read(&desk.send("POST", ask, None).await.map_err(used)?)?;
    progress(desk, started["id"].as_str().unwrap_or_default()).await
}

fn used(error: DeskError) -> anyhow::Error {
    match error {
        DeskError::Refused { status: REUSED, .. } => {
            anyhow!("--reference: already used for another list; choose another")
        }
        other => refused(other),
    }
}

/// Finds the index of a column by its name, else by its number from 1.
fn column_of(columns: &[String], wanted: &str) -> Result<usize> {
    let numbered = || wanted.parse::<usize>().ok().filter(|number| (1..=columns.len()).contains(number));
    let named = columns.iter().position(|name| name == wanted);
    let named = named.or_else(|| columns.iter().position(|name| name.trim().eq_ignore_ascii_case(wanted.trim())));
    named
        .or_else(|| numbered().map(|number| number - 1))
        .with_context(|| format!("--column: there is no column {wanted:?}; choose one of: {}", columns.join(", ")))
}

async fn list(desk: &Desk, wanted: &Listing) -> Result<Told> {
    let filters = [("status", wanted.status.as_deref()), ("source", wanted.source.as_deref())];
    let filters: Vec<_> = filters.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let (mut objects, mut next) = (Vec::new(), None::<String>);
    let limit = usize::try_from(wanted.limit)?;
    while objects.len() < limit {
        let per_page = PER_PAGE.to_string();
        let mut query = [filters.clone(), vec![("per_page", &*per_page)]].concat();
        query.extend(next.as_deref().map(|cursor| ("next", cursor)));
        let Page { data, pagination } = page(&desk.get(Ask::with("/v1/jobs", &query)).await.map_err(refused)?)?;
        objects.extend(data);
        next = pagination.and_then(|pagination| pagination.next_cursor);
        if next.is_none() {
            break;
        }
    }
    objects.truncate(limit);
    Ok(Told::all(objects, lists::table).or_none("no lists found"))
}

async fn progress(desk: &Desk, job: &str) -> Result<Told> {
    let shown = desk.get(&*format!("{}/progress", of_pages(job))).await;
    Told::one(shown.map_err(|error| missing(error, job))?, lists::progress)
}

/// A page of a job's rows.
#[derive(Deserialize)]
struct Slice<N> {
    data: Vec<Box<RawValue>>,
    next: Option<N>,
}

async fn rows(desk: &Desk, wanted: Rows) -> Result<Told> {
    let (path, limit) = (format!("{}/rows", of_pages(&wanted.job)), usize::try_from(wanted.limit)?);
    let (mut objects, mut after) = (Vec::new(), Some(i64::from(wanted.after)));
    while let Some(at) = after.filter(|_| objects.len() < limit) {
        let left = u32::try_from(limit - objects.len())?.min(ROWS_PER_PAGE);
        let page = [("after", at.to_string()), ("per_page", left.to_string())];
        let parameters = [wanted.filters.clone(), page.to_vec()].concat();
        let query = borrowed(&parameters);
        let slice = desk.get(Ask::with(&path, &query)).await.map_err(|error| missing(error, &wanted.job))?;
        let Slice { data, next } = read::<Slice<i64>>(&slice)?;
        objects.extend(data);
        after = next;
    }
    Ok(Told::all(objects, lists::rows_table).or_none("no rows found"))
}

async fn find(desk: &Desk, text: &str, limit: u32) -> Result<Told> {
    let (mut objects, mut next, limit) = (Vec::new(), None::<String>, usize::try_from(limit)?);
    loop {
        let mut query = vec![("q", text)];
        query.extend(next.as_deref().map(|cursor| ("next", cursor)));
        let found = desk.get(Ask::with("/app/lookup", &query)).await.map_err(refused)?;
        let slice = read::<Slice<String>>(&found)?;
        objects.extend(slice.data);
        next = slice.next;
        if next.is_none() || objects.len() >= limit {
            break;
        }
    }
    objects.truncate(limit);
    Ok(Told::all(objects, lists::places).or_none("not found in any list whose rows are kept"))
}

async fn cancel(desk: &Desk, job: &str) -> Result<Told> {
    let path = format!("{}/cancel", of_batch(job));
    let cancelled: Value = read(&desk.send("POST", &*path, None).await.map_err(|error| missing(error, job))?)?;
    if cancelled["status"] != "success" {
        bail!("{job} is already completed");
    }
    progress(desk, job).await
}

/// Writes a temporary file beside the target first, so that the target never shows a partial file.
async fn download(desk: &Desk, wanted: &Download) -> Result<Told> {
    let (path, query) = (format!("{}/download", of_batch(&wanted.job)), borrowed(&wanted.parameters));
    let ask = Ask::with(&path, &query);
    let Some(out) = &wanted.out else {
        desk.download(ask, &mut std::io::stdout()).await.map_err(|error| missing(error, &wanted.job))?;
        return Ok(Told::all(Vec::new(), |_| String::new()));
    };
    let part = PathBuf::from(format!("{}.part", out.display()));
    let written = match whole(desk, ask, &part, out).await {
        Ok(bytes) => bytes,
        Err(error) => {
            // The file may not exist.
            let _ = std::fs::remove_file(&part);
            return Err(match error.downcast::<DeskError>() {
                Ok(error) => missing(error, &wanted.job),
                Err(other) => other,
            });
        }
    };
    let told = json!({ "job": wanted.job, "file": out.display().to_string(), "bytes": written });
    Told::one(told.to_string(), lists::written)
}

async fn whole(desk: &Desk, ask: Ask<'_>, part: &Path, out: &Path) -> Result<u64> {
    let local = || Ends(Exit::Local);
    let mut file = std::fs::File::create(part).with_context(|| format!("cannot write {}", part.display()))?;
    let written = desk.download(ask, &mut file).await?;
    file.sync_all().with_context(|| format!("cannot write {}", part.display())).context(local())?;
    std::fs::rename(part, out).with_context(|| format!("cannot write {}", out.display())).context(local())?;
    Ok(written)
}

fn of_pages(job: &str) -> String {
    format!("/app/jobs/{}", segment(job))
}

fn of_batch(job: &str) -> String {
    format!("/v1/batch-verify/{}", segment(job))
}

/// Encodes an ID, so that it is always one segment of a path.
fn segment(job: &str) -> String {
    job.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
}

fn missing(error: DeskError, job: &str) -> anyhow::Error {
    match error {
        DeskError::Refused { status: NOT_FOUND, .. } => {
            anyhow!("there is no list {job}; to list all: `probity lists list`, for lists of test keys with --test")
        }
        other => refused(other),
    }
}
