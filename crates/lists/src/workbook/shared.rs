//! Shared texts: all are in memory while a sheet is read, packed so that a text costs its bytes plus seven.

use quick_xml::events::Event;

use super::package::Bounded;
use super::xml::{CellText, Xml};
use crate::FileFault;
use crate::bounds::{TEXT_BYTES_MAX, TEXTS_MAX, WorkbookBound};

/// Size of an allocation: a single growing buffer would be in memory twice. No text is split.
const PIECE_BYTES: usize = 1 << 20;
/// Bytes of the length before each text.
const LENGTH_BYTES: usize = 3;
/// Position of a text that is longer than a cell may be.
const TOO_LONG: u32 = u32::MAX;

#[derive(Debug, Default)]
pub(super) struct SharedTexts {
    pieces: Vec<Vec<u8>>,
    /// Start of each text, counted over all allocations.
    places: Vec<u32>,
}

/// Look-up result of a number.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SharedText<'a> {
    Text(&'a str),
    TooLong,
    Nothing,
}

impl SharedTexts {
    /// Reads the part that contains them.
    pub(super) fn read(mut part: Xml<impl Bounded>) -> Result<Self, FileFault> {
        let (mut texts, mut content) = (Self::default(), CellText::default());
        loop {
            let depth = part.depth();
            let item = match part.next()? {
                Event::Start(tag) => tag.local_name().as_ref() == "si",
                // Without its end, texts are missing.
                Event::Eof if depth > 0 => return Err(FileFault::Damaged),
                Event::Eof => return Ok(texts),
                _ => false,
            };
            if item {
                content.clear();
                part.rich(&mut content)?;
                texts.add(content.text())?;
            }
        }
    }

    fn add(&mut self, text: Option<&str>) -> Result<(), FileFault> {
        if self.places.len() == TEXTS_MAX {
            return Err(WorkbookBound::Texts.into());
        }
        // A blank text is stored as empty. 20,000,000 cells may refer to it, so only the first look at it may cost its length.
        let text = text.map(|text| if text.trim().is_empty() { "" } else { text });
        let place = text.map_or(Ok(TOO_LONG), |text| self.put(text))?;
        self.places.push(place);
        Ok(())
    }

    fn put(&mut self, text: &str) -> Result<u32, FileFault> {
        let bytes = LENGTH_BYTES + text.len();
        if self.pieces.last().is_none_or(|piece| piece.len() + bytes > PIECE_BYTES) {
            if (self.pieces.len() + 1) * PIECE_BYTES > TEXT_BYTES_MAX {
                return Err(WorkbookBound::TextBytes.into());
            }
            self.pieces.push(Vec::with_capacity(PIECE_BYTES));
        }
        let before = (self.pieces.len() - 1) * PIECE_BYTES;
        let piece = self.pieces.last_mut().expect("pushed above");
        let place = u32::try_from(before + piece.len()).map_err(|_| WorkbookBound::TextBytes)?;
        piece.extend_from_slice(&text.len().to_le_bytes()[..LENGTH_BYTES]);
        piece.extend_from_slice(text.as_bytes());
        Ok(place)
    }

    pub(super) fn get(&self, number: usize) -> SharedText<'_> {
        match self.places.get(number) {
            None => SharedText::Nothing,
            Some(&TOO_LONG) => SharedText::TooLong,
            Some(&place) => self.at(place as usize).map_or(SharedText::Nothing, SharedText::Text),
        }
    }

    fn at(&self, place: usize) -> Option<&str> {
        let from = self.pieces.get(place / PIECE_BYTES)?.get(place % PIECE_BYTES..)?;
        let (length, text) = from.split_at_checked(LENGTH_BYTES)?;
        let length = usize::from(length[0]) | usize::from(length[1]) << 8 | usize::from(length[2]) << 16;
        std::str::from_utf8(text.get(..length)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_is_found_under_its_number() {
        let mut texts = SharedTexts::default();
        let long = "ü".repeat(30_000);
        for number in 0..100_usize {
            texts.add(Some(if number % 3 == 0 { "" } else { &long[..2 * number] })).unwrap();
            texts.add(Some(&long)).unwrap();
            texts.add(None).unwrap();
        }
        for number in 0..100 {
            let expected = if number % 3 == 0 { "" } else { &long[..2 * number] };
            assert_eq!(texts.get(3 * number), SharedText::Text(expected));
            assert_eq!(texts.get(3 * number + 1), SharedText::Text(&long));
            assert_eq!(texts.get(3 * number + 2), SharedText::TooLong);
        }
        assert_eq!(texts.get(300), SharedText::Nothing);
    }

    #[test]
    fn a_blank_text_is_kept_as_none() {
        let mut texts = SharedTexts::default();
        for (number, blank) in ["", " ", "\u{a0}\t", &" ".repeat(60_000)].into_iter().enumerate() {
            texts.add(Some(blank)).unwrap();
            assert_eq!(texts.get(number), SharedText::Text(""));
        }
        texts.add(Some(" x ")).unwrap();
        assert_eq!(texts.get(4), SharedText::Text(" x "));
    }

    #[test]
    fn memory_is_bounded_by_number_and_by_length() {
        let mut texts = SharedTexts::default();
        let bound = |texts: &mut SharedTexts, text: &str| loop {
            if let Err(FileFault::Unpacks(bound)) = texts.add(Some(text)) {
                return bound;
            }
        };
        assert_eq!(bound(&mut texts, ""), WorkbookBound::Texts);
        assert_eq!(bound(&mut SharedTexts::default(), &"x".repeat(50_000)), WorkbookBound::TextBytes);
    }
}
