/** File uploads: dropped, chosen by keyboard, previewed, started, and downloaded with their own columns. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { afterEach, test } from "node:test";
import { HOSTILE } from "./hostile.mjs";
import { asOwner, reader, server } from "./owner.mjs";
import { becomes, downloadAs, notByBiDi, settled } from "./reader.mjs";

const LARGE_ROWS = 200_000;
const LARGE_MS = 600_000;

asOwner();
afterEach(() => reader.nothingWrong());

const heading = (page, name) => page.getByRole("heading", { name, exact: true }).waitFor();
const file = (name, content) => ({ name, mimeType: "application/octet-stream", buffer: Buffer.from(content) });

/** Uploads a file and waits for the forecast. */
async function put(page, it) {
  await page.locator("#list-file").setInputFiles(it);
  await heading(page, "Forecast");
  await settled(page);
}

/** Starts the upload; returns the completed job's ID. */
async function run(page) {
  await page.getByRole("button", { name: "Start" }).click();
  await page.waitForURL(/lists\/job_/);
  const job = /lists\/(job_\w+)/.exec(page.url())?.[1];
  await server.finished(String(job));
  await page.getByText("Completed", { exact: true }).waitFor();
  return job;
}

/** Downloads the results; returns their path. */
async function take(page, format) {
  const link = await downloadAs(page, format);
  await page.getByLabel("Include the file's columns").waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), link.click()]);
  return download.path();
}

/** Name of the address column. */
const chosen = (page, name) => page.getByRole("button", { name, exact: true, pressed: true });

/** Cells of a preview column. */
const column = (page, name) => page.locator(`.preview td[data-title="${name}"]`).allTextContents();

test("a CSV in Windows-1252 is read, its column chosen again, and given back with all of its columns", async () => {
  const { page, go } = reader;
  await go("lists/new");
  const text = "Kunde;E-Mail-Adresse;Zweite\r\nJ\xf6rg;valid@sandbox.test;inbox_full@sandbox.test\r\n\"A; B\";valid@sandbox.test;\r\nC;;\r\n";
  await put(page, { name: "kunden.csv", mimeType: "text/csv", buffer: Buffer.from(text, "latin1") });
  await page.getByText("read as Windows-1252").waitFor();
  await page.locator(".meta").getByText(/^\d+ bytes$/).waitFor();
  await becomes(() => column(page, "Kunde"), ["Jörg", "A; B", "C"]);
  await chosen(page, "E-Mail-Adresse").waitFor();
  const figure = (name) => page.locator(".figure", { hasText: name }).first().locator(".value").innerText();
  await becomes(async () => [await figure("Unique addresses"), await figure("Duplicates"), await figure("Rows without")], ["1", "1", "1"]);
  // A click on a cell selects its column, like a click on the name.
  await page.getByRole("cell", { name: "inbox_full@sandbox.test" }).click();
  await chosen(page, "Zweite").waitFor();
  await page.getByLabel("The first row contains").uncheck();
  await page.getByRole("cell", { name: "Kunde", exact: true }).waitFor();
  await settled(page);
  await page.getByLabel("The first row contains").check();
  await page.getByRole("cell", { name: "Kunde", exact: true }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "E-Mail-Adresse", exact: true }).press("Enter");
  await chosen(page, "E-Mail-Adresse").waitFor();
  await settled(page);
  await run(page);
  const lines = readFileSync(await take(page, "CSV"), "utf8").split("\r\n");
  assert.match(lines[0], /^\ufeffKunde;E-Mail-Adresse;Zweite;probity_domain;/);
  assert.match(lines[1], /^Jörg;valid@sandbox\.test;inbox_full@sandbox\.test;sandbox\.test;true;true;passed;valid;/);
  assert.match(lines[2], /^"A; B";/);
});

test("a workbook goes in and comes out as one, and nothing in it is a formula", async () => {
  const { page, go } = reader;
  await go("lists/new");
  const cells = [["Name", "E-Mail"], ["=1+1", "valid@sandbox.test"], ["+49 221", "nonexistent@sandbox.test"]];
  const sheet = cells.map((row, r) => `<row r="${r + 1}">${row.map((cell, c) => `<c r="${"AB"[c]}${r + 1}" t="inlineStr"><is><t>${cell}</t></is></c>`).join("")}</row>`);
  await put(page, { name: "people.xlsx", mimeType: "", buffer: workbook(sheet.join("")) });
  await becomes(() => column(page, "Name"), ["=1+1", "+49 221"]);
  await run(page);
  const path = await take(page, "Excel");
  const inside = (part) => execFileSync("python3", ["-c", "import sys, zipfile; sys.stdout.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]).decode())", path, part], { encoding: "utf8", maxBuffer: 1 << 28 });
  assert.doesNotMatch(inside("xl/worksheets/sheet1.xml"), /<f[ >]/);
  assert.match(inside("xl/worksheets/sheet1.xml"), /<is><t[^>]*>=1\+1<\/t><\/is>/);
});

test("the sheet with the most addresses is read, and another one takes its place", async () => {
  const { page, go } = reader;
  await go("lists/new");
  const sheet = (...emails) => emails.map((email, r) => `<row r="${r + 1}"><c r="A${r + 1}" t="inlineStr"><is><t>${email}</t></is></c></row>`).join("");
  const buffer = workbook(sheet("mail", "one@sandbox.test", "two@sandbox.test"), sheet("email", "valid@sandbox.test", "Ann &lt;ann@sandbox.test&gt;", "bob@sandbox.test"), "");
  await put(page, { name: "sheets.xlsx", mimeType: "", buffer });
  await page.getByText("The sheet “People 2” was read, one of 3.").waitFor();
  await page.waitForURL(/upload=/);
  const first = page.url();
  await page.getByLabel("Sheet").selectOption("People");
  await page.getByText("The sheet “People” was read, one of 3.").waitFor();
  await settled(page);
  await becomes(() => column(page, "mail"), ["one@sandbox.test", "two@sandbox.test"]);
  await becomes(() => page.url() === first, false);
  // An empty sheet is no list; the parsed one stays.
  await page.getByLabel("Sheet").selectOption("People 3");
  await page.getByRole("alert").getByText("The file or sheet has no rows.").waitFor();
  await becomes(() => page.getByLabel("Sheet").inputValue(), "People");
  await becomes(() => column(page, "mail"), ["one@sandbox.test", "two@sandbox.test"]);
  // A reload discards the file in memory.
  const second = page.url();
  await page.reload();
  await page.getByText("To read another sheet, upload the workbook again.").waitFor();
  await page.goto(first);
  await page.getByText("Not found. It may have been deleted.").waitFor();
  await page.goto(second);
  await run(page);
});

test("an encoding that is a guess is chosen by its letters, and rows that are left out are named", async () => {
  const { page, go } = reader;
  await go("lists/new");
  const text = "sep=;\r\nn;email\r\n1;valid@sandbox.test\r\n2;x\xe6@sandbox.test\r\n3;\r\n4;a@sandbox.test, b@sandbox.test\r\n";
  await put(page, { name: "guess.csv", mimeType: "text/csv", buffer: Buffer.from(text, "latin1") });
  await page.getByText("Line 4: address in an unknown encoding").waitFor();
  await page.getByText("Line 5: no address").waitFor();
  await page.getByText("Line 6: 2 addresses in one cell").waitFor();
  await page.getByLabel("Encoding").selectOption("windows-1250");
  await page.getByText("Read as Windows-1250, as you chose.").waitFor();
  await page.getByText("Line 4: x\u0107@sandbox.test").waitFor();
  await settled(page);
  await page.getByText("address in an unknown encoding").waitFor({ state: "detached" });
  await run(page);
  const lines = readFileSync(await take(page, "CSV"), "utf8").split("\r\n");
  assert.equal(lines[0], "\ufeffsep=;");
  assert.match(lines[5], /^4;a@sandbox\.test, b@sandbox\.test;;false;/);
});

test("rows of a sheet are named as the spreadsheet shows them, and what was changed or comes back otherwise is said", async () => {
  const { page, go } = reader;
  await go("lists/new");
  const cell = (place, text) => `<c r="${place}" t="inlineStr"><is><t>${text}</t></is></c>`;
  const rows = `<row r="3">${cell("A3", "Name")}${cell("B3", "E-Mail")}</row><row r="4">${cell("A4", "Ann")}${cell("B4", "valid@sandbox.test")}</row><row r="9">${cell("A9", "Bob")}</row>`;
  await put(page, { name: "gaps.xlsx", mimeType: "", buffer: workbook(rows) });
  await page.getByText("Row 9 of the sheet “People”: no address").waitFor();
  await go("lists/new");
  await put(page, file("twice.csv", '"Name,Email"\r\n"Ann,valid@sandbox.test"\r\n"Bob,bob@sandbox.test"\r\n'));
  await page.getByText("Each row was one cell in quotation marks.").waitFor();
  await becomes(() => column(page, "Name"), ["Ann", "Bob"]);
  await go("lists/new");
  await put(page, { name: "wide.csv", mimeType: "", buffer: Buffer.from("\ufeffName\tE-Mail\nAnn\tvalid@sandbox.test\n", "utf16le") });
  await page.getByText("Read as UTF-16. The download is UTF-8 with a byte order mark").waitFor();
});

/** Minimal workbook with these rows on its sheets. */
function workbook(...sheets) {
  const main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
  const links = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
  const types = "application/vnd.openxmlformats-officedocument.spreadsheetml";
  const each = (write) => sheets.map((_, n) => write(n + 1)).join("");
  const parts = {
    "[Content_Types].xml": `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="${types}.sheet.main+xml"/>${each((n) => `<Override PartName="/xl/worksheets/sheet${n}.xml" ContentType="${types}.worksheet+xml"/>`)}</Types>`,
    "_rels/.rels": `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="${links}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    "xl/workbook.xml": `<workbook xmlns="${main}" xmlns:r="${links}"><sheets>${each((n) => `<sheet name="${n === 1 ? "People" : `People ${n}`}" sheetId="${n}" r:id="r${n}"/>`)}</sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${each((n) => `<Relationship Id="r${n}" Type="${links}/worksheet" Target="worksheets/sheet${n}.xml"/>`)}</Relationships>`,
    ...Object.fromEntries(sheets.map((rows, n) => [`xl/worksheets/sheet${n + 1}.xml`, `<worksheet xmlns="${main}"><sheetData>${rows}</sheetData></worksheet>`])),
  };
  const write = "import io, json, sys, zipfile\nout = io.BytesIO()\nwith zipfile.ZipFile(out, 'w', zipfile.ZIP_DEFLATED) as file:\n  for name, text in json.load(sys.stdin).items(): file.writestr(name, text)\nsys.stdout.buffer.write(out.getvalue())";
  return execFileSync("python3", ["-c", write], { input: JSON.stringify(parts) });
}

test("JSON lines come back with all of their fields", async () => {
  const { page, go } = reader;
  await go("lists/new");
  await put(page, file("people.jsonl", '{"id":1.50,"mail":"valid@sandbox.test","tags":["a"]}\n{"mail":"no address"}\n'));
  await run(page);
  const [first, second] = readFileSync(await take(page, "JSON lines"), "utf8").trim().split("\n");
  assert.match(first, /^\{"id":1\.50,"mail":"valid@sandbox\.test","tags":\["a"\],"probity":\{/);
  assert.equal(JSON.parse(second).probity.reason, "invalid");
});

test("a file is chosen, looked at and started with nothing but the keyboard", { skip: notByBiDi("a choice of files by key") }, async () => {
  const { page, go } = reader;
  await go("lists/new");
  await page.getByText("At most").waitFor();
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.locator("#list-file").press("Enter")]);
  await chooser.setFiles(file("list.txt", "valid@sandbox.test\nrole_based@sandbox.test\n"));
  await heading(page, "Forecast");
  await settled(page);
  await page.getByRole("button", { name: "Start" }).focus();
  await page.keyboard.press("Enter");
  await heading(page, "list.txt");
});

test("a long name is cut between characters, and a server that cannot answer is no fault of the file", async () => {
  const { page, go } = reader;
  await go("lists/new");
  const name = `${"x".repeat(99)}${"\u{1f4e7}".repeat(60)}.csv`;
  await put(page, file(name, "email\nvalid@sandbox.test\n"));
  await page.getByRole("heading", { name: `${"x".repeat(99)}${"\u{1f4e7}".repeat(39)}`, exact: true }).waitFor();
  await go("lists/new");
  const refuse = (route) => route.fulfill({ status: 200, contentType: "application/json", body: "{" });
  await page.route(/\/app\/uploads\?/, refuse);
  await page.locator("#list-file").setInputFiles(file("list.csv", "valid@sandbox.test\n"));
  await page.getByRole("alert").getByText("The response couldn't be read").waitFor();
  await page.unroute(/\/app\/uploads\?/, refuse);
});

test("what is no list is refused in words, and the next one taken", async () => {
  const { page, go } = reader;
  await go("lists/new");
  for (const [content, words] of [["%PDF-1.7", "This is a PDF."], ['email,n\n"a@x.org,1\n', "opened in line 2"], ["", "The file or sheet has no rows"]]) {
    await page.locator("#list-file").setInputFiles(file("list.csv", content));
    await page.getByRole("alert").getByText(words).waitFor();
  }
  await put(page, file("list.csv", "email\nvalid@sandbox.test\n"));
  await page.getByRole("link", { name: "Another list" }).click();
  await page.getByRole("button", { name: "Delete list.csv" }).click();
  await page.getByRole("button", { name: "Delete list.csv" }).waitFor({ state: "detached" });
});

test("a file is dropped anywhere on the pages of lists, and its forecast stays in sight", async () => {
  const { page, go } = reader;
  const drop = async (name) => {
    const data = await page.evaluateHandle((of) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(["n,email\n", ...Array.from({ length: 40 }, (_, n) => `${n},valid${n}@sandbox.test\n`)], of, { type: "text/csv" }));
      return transfer;
    }, name);
    await page.dispatchEvent("h1", "dragover", { dataTransfer: data });
    await page.getByText("Drop the file to see its forecast").waitFor();
    await page.dispatchEvent("h1", "drop", { dataTransfer: data });
    await page.getByRole("heading", { name, exact: true }).waitFor();
    await heading(page, "Forecast");
  };
  await go("lists");
  await page.getByText("Drop a file anywhere on this page").waitFor();
  await drop("first.csv");
  await becomes(() => page.locator(".preview tbody tr").count(), 5);
  await page.getByText("5 of 40 rows.").waitFor();
  for (const [width, height] of [[1_440, 900], [1_000, 900], [390, 844]]) {
    await page.setViewportSize({ width, height });
    for (const top of [0, 100_000]) {
      await page.evaluate((to) => scrollTo(0, to), top);
      const box = await page.getByRole("button", { name: "Start verifying 40 addresses" }).boundingBox();
      assert.ok(box && box.y >= 0 && box.y + box.height <= height, `${width} px, scrolled to ${top}: ${JSON.stringify(box)}`);
    }
  }
  await page.setViewportSize({ width: 1_440, height: 900 });
  await drop("second.csv");
  await page.getByRole("button", { name: "Discard" }).click();
  await page.getByRole("link", { name: "first.csv" }).waitFor();
  await becomes(() => page.getByRole("link", { name: "second.csv" }).count(), 0);
});

test("hostile names and cells are shown as they are", async () => {
  const { page, go } = reader;
  const quoted = (cell) => `"${cell.replaceAll('"', '""')}"`;
  const cells = HOSTILE.filter((text) => text.trim() !== "" && !/[\r\n\0]/.test(text)).slice(0, 18);
  assert.ok(cells.length >= 10);
  for (let from = 0; from + 5 <= cells.length; from += 5) {
    const some = cells.slice(from, from + 5);
    const rows = some.map((cell, n) => `${quoted(cell)},a${n}@sandbox.test`);
    await go("lists/new");
    await put(page, file(`${some[0].replaceAll("/", "")}.csv`, [`${quoted(some[1])},email`, ...rows].join("\n")));
    await becomes(() => page.locator(".preview tbody tr td:first-child").allTextContents(), some);
    await page.getByRole("button", { name: "Discard" }).click();
    await page.locator("#list-file").waitFor();
  }
});

test("a file of two hundred thousand rows goes from the drop to its downloaded results", { timeout: LARGE_MS }, async () => {
  const { page, go } = reader;
  await go("lists/new");
  const began = Date.now();
  const data = await page.evaluateHandle((rows) => {
    const lines = ["id,email,name"];
    for (let n = 0; n < rows; n += 1) lines.push(`${n},user${n}@${n % 3 === 0 ? "sandbox.test" : `d${n % 500}.sandbox.test`},"Person, ${n}"`);
    const transfer = new DataTransfer();
    transfer.items.add(new File([lines.join("\n")], "large.csv", { type: "text/csv" }));
    return transfer;
  }, LARGE_ROWS);
  await page.dispatchEvent(".drop", "drop", { dataTransfer: data });
  await page.getByRole("heading", { name: "Forecast", exact: true }).waitFor({ timeout: LARGE_MS });
  await settled(page);
  const read = Date.now();
  await page.getByRole("button", { name: "Start" }).click();
  await page.waitForURL(/lists\/job_/, { timeout: LARGE_MS });
  const started = Date.now();
  const job = String(/lists\/(job_\w+)/.exec(page.url())?.[1]);
  await server.finished(job);
  await page.getByText("Completed", { exact: true }).waitFor({ timeout: LARGE_MS });
  const done = Date.now();
  const path = await take(page, "CSV");
  const rows = readFileSync(path, "utf8").trimEnd().split("\n");
  assert.equal(rows.length, LARGE_ROWS + 1);
  assert.match(rows[0], /^id,email,name,probity_domain,/);
  rows.slice(1).forEach((row, n) => assert.ok(row.startsWith(`${n},user${n}@`) && row.includes(`"Person, ${n}"`), row));
  const s = (ms) => (ms / 1000).toFixed(1);
  console.log(`# ${LARGE_ROWS} rows: read and forecast ${s(read - began)} s, started ${s(started - read)} s, verified ${s(done - started)} s, downloaded ${s(Date.now() - done)} s (${statSync(path).size} bytes)`);
});
