//! XML as events, with a bound on its depth.
//!
//! A document type declaration is rejected: spreadsheet programs write none, and entities are declared there.

use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesStart, Event};

use super::package::Bounded;
use crate::bounds::{DEPTH_MAX, WorkbookBound};
use crate::{CELL_MAX_BYTES, FileFault};

/// A part as events.
pub(super) struct Xml<R> {
    reader: Reader<R>,
    buffer: Vec<u8>,
    depth: usize,
}

impl<R: Bounded> Xml<R> {
    pub(super) fn new(part: R) -> Self {
        let mut reader = Reader::from_reader(part);
        reader.config_mut().expand_empty_elements = true;
        Self { reader, buffer: Vec::new(), depth: 0 }
    }

    /// Number of open elements.
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// The next event; empty elements have a start and an end, too.
    pub(super) fn next(&mut self) -> Result<Event<'_>, FileFault> {
        self.buffer.clear();
        self.reader.get_mut().begin();
        let Ok(event) = self.reader.read_event_into(&mut self.buffer) else {
            return Err(self.reader.get_ref().refused().map_or(FileFault::Damaged, FileFault::from));
        };
        match &event {
            Event::Start(_) if self.depth == DEPTH_MAX => return Err(WorkbookBound::Depth.into()),
            Event::Start(_) => self.depth += 1,
            Event::End(_) => self.depth = self.depth.saturating_sub(1),
            Event::DocType(_) => return Err(FileFault::Damaged),
            _ => {}
        }
        Ok(event)
    }

    /// Reads to the end, where the archive verifies that the part is complete.
    pub(super) fn end(&mut self) -> Result<(), FileFault> {
        while self.next()? != Event::Eof {}
        if self.depth == 0 { Ok(()) } else { Err(FileFault::Damaged) }
    }

    /// Appends the text of a shared or an inline text to `out`; the last event was its start. Reads to its end. Texts may have runs
    /// with different styles, and phonetic readings, which are skipped.
    pub(super) fn rich(&mut self, out: &mut CellText) -> Result<(), FileFault> {
        let outside = self.depth - 1;
        let (mut text, mut phonetic) = (None, None);
        let mut run = CellText::default();
        loop {
            let depth = self.depth;
            match self.next()? {
                Event::Start(tag) => match tag.local_name().as_ref() {
                    "rPh" if phonetic.is_none() => phonetic = Some(depth),
                    "t" if phonetic.is_none() && text.is_none() => {
                        let preserved =
                            attributes(&tag, |name, value| (name == "xml:space" && value == "preserve").then_some(()))?;
                        text = Some((depth, preserved.is_some()));
                        run.clear();
                    }
                    _ => {}
                },
                Event::End(_) => {
                    let depth = depth - 1;
                    phonetic = phonetic.filter(|at| *at != depth);
                    if let Some((_, preserved)) = text.filter(|(at, _)| *at == depth) {
                        out.append(&run, preserved);
                        text = None;
                    }
                    if depth == outside {
                        return Ok(());
                    }
                }
                Event::Eof => return Err(FileFault::Damaged),
                event if text.is_some() => run.take(&event)?,
                _ => {}
            }
        }
    }
}

/// The first attribute of a tag for which `wanted` returns a value. It receives raw names and values.
pub(super) fn attributes<T>(
    tag: &BytesStart<'_>,
    mut wanted: impl FnMut(&str, &str) -> Option<T>,
) -> Result<Option<T>, FileFault> {
    for attribute in tag.attributes().with_checks(false) {
        let attribute = attribute.map_err(|_| FileFault::Damaged)?;
        if let Some(found) = wanted(attribute.key.as_ref(), &attribute.value) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Text of a cell being built: text beyond the limit of a cell is not kept.
#[derive(Debug, Default)]
pub(super) struct CellText {
    text: String,
    too_long: bool,
}

impl CellText {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.too_long = false;
    }

    /// The text; `None` if it is too long.
    pub(super) fn text(&self) -> Option<&str> {
        (!self.too_long).then_some(&self.text)
    }

    /// Appends an event's text.
    pub(super) fn take(&mut self, event: &Event<'_>) -> Result<(), FileFault> {
        match event {
            Event::Text(text) => self.push(&text.xml10_content()),
            Event::CData(text) => self.push(&text.xml10_content()),
            Event::GeneralRef(entity) => match resolve_xml_entity(entity.as_ref()) {
                Some(text) => self.push(text),
                None => match entity.resolve_char_ref() {
                    Ok(Some(character)) => self.push(character.encode_utf8(&mut [0; 4])),
                    Ok(None) | Err(_) => return Err(FileFault::Damaged),
                },
            },
            _ => {}
        }
        Ok(())
    }

    fn push(&mut self, text: &str) {
        // Escapes take seven bytes for one, so a text may become shorter.
        self.too_long |= self.text.len() + text.len() > 8 * CELL_MAX_BYTES;
        if !self.too_long {
            self.text.push_str(text);
        }
    }

    /// Appends one run of a text.
    fn append(&mut self, run: &Self, preserved: bool) {
        let text = if preserved { &run.text } else { run.text.trim_matches([' ', '\t', '\r', '\n']) };
        let text = super::escapes::resolved(text);
        self.too_long |= run.too_long || self.text.len() + text.len() > CELL_MAX_BYTES;
        if !self.too_long {
            self.text.push_str(&text);
        }
    }
}
