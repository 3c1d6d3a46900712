//! Blocks: storage of a job's addresses, 1,000 per block.
//!
//! Addresses of one list share domains and patterns, so 1,000 of them compress to less than half; single addresses would not. An
//! address is bytes here: submitted text is returned unchanged, even if it is not an address.
//!
//! ```text
//! block   = %x01 size lz4        ; size: of the content that lz4 (block format) unpacks to, 4 bytes, lowest first
//! content = 0*1000(length text)  ; length: 0 to 1,024 in one or two bytes, seven bits each, lowest first (LEB128)
//! ```
//!
//! Decoding does not trust its input: a claim of more than [`CONTENT_MAX_BYTES`] is refused before memory is allocated, and a
//! block that does not decode exactly is a [`BlockError`], never half a block.

pub mod results;
pub mod table;

use thiserror::Error;

/// Maximum number of addresses in a block.
pub const ROWS_MAX: usize = 1_000;
/// Maximum length of an address in a block, in bytes; the API has the same limit.
pub const ADDRESS_MAX_BYTES: usize = 1_024;
/// Maximum unpacked size: every address with the two bytes of its length.
pub const CONTENT_MAX_BYTES: usize = ROWS_MAX * (ADDRESS_MAX_BYTES + 2);

/// Replaces an erased address. No text has this byte, so a submitted address cannot be taken for it.
pub const ERASED: &[u8] = &[0xff];
/// Version of the encoding, in the first byte: old rows stay readable after a change.
const VERSION: u8 = 1;
/// Version and size.
const HEAD_BYTES: usize = 5;
/// The longest number: 63 bits.
const NUMBER_BYTES_MAX: usize = 9;

/// Reason why a row does not fit into a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UnfitBlock {
    /// The block already has [`ROWS_MAX`] addresses.
    #[error("the block is full")]
    Full,
    /// The address has more than [`ADDRESS_MAX_BYTES`].
    #[error("the address is longer than a block keeps")]
    TooLong,
}

/// Reason why bytes are not a block: they are damaged, or from a later version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BlockError {
    /// The first byte is an unknown version.
    #[error("a block of an unknown form")]
    Version,
    /// The unpacked size would exceed that of a block.
    #[error("a block that claims more than a block can hold")]
    Size,
    /// The unpacked size is not the stated one.
    #[error("a block that cannot be unpacked")]
    Packing,
    /// The unpacked content is not a list of addresses with their lengths.
    #[error("a block whose content is damaged")]
    Content,
}

/// Block under construction.
#[derive(Clone, Debug, Default)]
pub struct Filling {
    content: Vec<u8>,
    rows: usize,
}

/// Block as stored, with its number of addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedBlock {
    /// Number of addresses, 1 to [`ROWS_MAX`].
    pub rows: usize,
    /// Input of [`AddressBlock::decode`].
    pub bytes: Vec<u8>,
}

impl Filling {
    /// Adds an address. On an error, the block stays unchanged.
    pub fn push(&mut self, address: &[u8]) -> Result<(), UnfitBlock> {
        if self.is_full() {
            return Err(UnfitBlock::Full);
        }
        if address.len() > ADDRESS_MAX_BYTES {
            return Err(UnfitBlock::TooLong);
        }
        put_bytes(&mut self.content, address);
        self.rows += 1;
        Ok(())
    }

    /// Returns whether the block is full.
    pub fn is_full(&self) -> bool {
        self.rows >= ROWS_MAX
    }

    /// Packs the rows and starts the next block; returns `None` if there are no rows.
    pub fn take(&mut self) -> Option<PackedBlock> {
        if self.rows == 0 {
            return None;
        }
        let packed = PackedBlock { rows: self.rows, bytes: pack(&self.content) };
        self.content.clear();
        self.rows = 0;
        Some(packed)
    }
}

fn pack(content: &[u8]) -> Vec<u8> {
    let size = u32::try_from(content.len()).expect("a block's content is bounded");
    let most = lz4_flex::block::get_maximum_output_size(content.len());
    let mut bytes = vec![0; HEAD_BYTES + most];
    bytes[0] = VERSION;
    bytes[1..HEAD_BYTES].copy_from_slice(&size.to_le_bytes());
    let written =
        lz4_flex::block::compress_into(content, &mut bytes[HEAD_BYTES..]).expect("the room is the most needed");
    bytes.truncate(HEAD_BYTES + written);
    bytes.shrink_to_fit();
    bytes
}

/// Returns the input of [`pack`], if it had at most `most` bytes.
fn unpack(bytes: &[u8], most: usize) -> Result<Vec<u8>, BlockError> {
    let (&version, rest) = bytes.split_first().ok_or(BlockError::Packing)?;
    if version != VERSION {
        return Err(BlockError::Version);
    }
    let (size, packed) = rest.split_first_chunk().ok_or(BlockError::Packing)?;
    let size = usize::try_from(u32::from_le_bytes(*size)).map_err(|_| BlockError::Size)?;
    if size > most {
        return Err(BlockError::Size);
    }
    let mut content = vec![0; size];
    match lz4_flex::block::decompress_into(packed, &mut content) {
        Ok(written) if written == size => Ok(content),
        _ => Err(BlockError::Packing),
    }
}

/// Appends a number as LEB128: seven bits per byte, lowest first. Only the lower 63 bits are kept.
fn put(content: &mut Vec<u8>, number: u64) {
    let mut left = number & (u64::MAX >> 1);
    while left > 0x7f {
        content.push(left.to_le_bytes()[0] | 0x80);
        left >>= 7;
    }
    content.push(left.to_le_bytes()[0]);
}

fn put_length(content: &mut Vec<u8>, length: usize) {
    put(content, u64::try_from(length).expect("sizes in memory are small"));
}

fn put_bytes(content: &mut Vec<u8>, bytes: &[u8]) {
    put_length(content, bytes.len());
    content.extend_from_slice(bytes);
}

/// Unread content of a block.
struct Content<'a>(&'a [u8]);

impl<'a> Content<'a> {
    fn number(&mut self) -> Option<u64> {
        let length = 1 + self.0.iter().take(NUMBER_BYTES_MAX).position(|byte| byte & 0x80 == 0)?;
        let (number, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(number.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f)))
    }

    fn length(&mut self) -> Option<usize> {
        self.number().and_then(|length| usize::try_from(length).ok())
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }
}

/// Addresses of a block, in insertion order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressBlock {
    content: Vec<u8>,
    /// Start and end of each address in the content.
    places: Vec<(u32, u32)>,
}

impl AddressBlock {
    /// Packs these addresses into one block, if they fit.
    pub fn encode<T: AsRef<[u8]>>(addresses: &[T]) -> Result<Vec<u8>, UnfitBlock> {
        let mut filling = Filling::default();
        addresses.iter().try_for_each(|address| filling.push(address.as_ref()))?;
        Ok(pack(&filling.content))
    }

    /// Unpacks a block. Uses at most [`CONTENT_MAX_BYTES`] and 8 bytes per address.
    pub fn decode(bytes: &[u8]) -> Result<Self, BlockError> {
        Self::of(unpack(bytes, CONTENT_MAX_BYTES)?)
    }

    fn of(content: Vec<u8>) -> Result<Self, BlockError> {
        let mut places = Vec::new();
        let mut at = 0;
        while at < content.len() {
            let (length, text) = length(&content, at).ok_or(BlockError::Content)?;
            let end = text + length;
            if end > content.len() || places.len() == ROWS_MAX {
                return Err(BlockError::Content);
            }
            let place = |place: usize| u32::try_from(place).expect("a block's content is bounded");
            places.push((place(text), place(end)));
            at = end;
        }
        Ok(Self { content, places })
    }

    /// Returns the number of addresses.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns whether the block is empty.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the address at an index within the block, from 0.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        self.places.get(index).map(|place| self.text(*place))
    }

    /// Iterates over the addresses, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.places.iter().map(|place| self.text(*place))
    }

    fn text(&self, (start, end): (u32, u32)) -> &[u8] {
        let place = |place: u32| usize::try_from(place).expect("places come from sizes in memory");
        &self.content[place(start)..place(end)]
    }
}

/// Reads the length of an address, and returns it with the start of the text. Only the shortest form is valid, so that equal
/// lists have equal content.
fn length(content: &[u8], at: usize) -> Option<(usize, usize)> {
    let low = *content.get(at)?;
    if low < 0x80 {
        return Some((usize::from(low), at + 1));
    }
    let high = *content.get(at + 1)?;
    let length = usize::from(low & 0x7f) | usize::from(high) << 7;
    (0x80..=ADDRESS_MAX_BYTES).contains(&length).then_some((length, at + 2))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn addresses(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("first.last{number}@example{}.com", number % 7)).collect()
    }

    #[test]
    fn every_length_comes_back() {
        for length in [0, 1, 127, 128, 129, 255, 256, 1_000, 1_023, 1_024] {
            let rows = [vec![b'x'; length], vec![0xff; 1024 - length]];
            let block = AddressBlock::decode(&AddressBlock::encode(&rows).unwrap()).unwrap();
            assert_eq!(block.iter().collect::<Vec<_>>(), rows, "{length}");
        }
    }

    #[test]
    fn a_block_has_its_bounds() {
        assert_eq!(AddressBlock::encode(&addresses(ROWS_MAX + 1)), Err(UnfitBlock::Full));
        assert_eq!(AddressBlock::encode(&[[b'x'; ADDRESS_MAX_BYTES + 1]]), Err(UnfitBlock::TooLong));
        assert_eq!(AddressBlock::encode(&[vec![b'x'; 0x1_0000]]), Err(UnfitBlock::TooLong), "no length wraps around");
        let most = vec![[b'x'; ADDRESS_MAX_BYTES]; ROWS_MAX];
        let block = AddressBlock::decode(&AddressBlock::encode(&most).unwrap()).unwrap();
        assert_eq!((block.len(), block.get(ROWS_MAX - 1), block.get(ROWS_MAX)), (ROWS_MAX, Some(&most[0][..]), None));
    }

    #[test]
    fn a_filling_is_empty_after_it_was_taken() {
        let mut filling = Filling::default();
        assert_eq!(filling.take(), None);
        filling.push(b"a@example.com").unwrap();
        let taken = filling.take().unwrap();
        assert_eq!((taken.rows, &taken.bytes), (1, &AddressBlock::encode(&["a@example.com"]).unwrap()));
        assert_eq!(filling.take(), None);
        for row in addresses(ROWS_MAX) {
            assert!(!filling.is_full());
            filling.push(row.as_bytes()).unwrap();
        }
        assert!(filling.is_full());
        assert_eq!(filling.push(b""), Err(UnfitBlock::Full));
        assert_eq!(filling.take().unwrap().rows, ROWS_MAX);
    }

    #[test]
    fn addresses_of_one_list_take_less_than_half() {
        let rows = addresses(ROWS_MAX);
        let plain: usize = rows.iter().map(String::len).sum();
        assert!(AddressBlock::encode(&rows).unwrap().len() * 2 < plain);
    }

    #[test]
    fn what_is_no_block_is_refused() {
        let good = AddressBlock::encode(&addresses(50)).unwrap();
        let changed = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            bytes
        };
        let one_too_many = vec![0; ROWS_MAX + 1];
        let table: [(Vec<u8>, BlockError); 12] = [
            (vec![], BlockError::Packing),
            (vec![VERSION], BlockError::Packing),
            (vec![VERSION, 0, 0, 0], BlockError::Packing),
            (changed(0, 2), BlockError::Version),
            (changed(4, 0xff), BlockError::Size),
            (changed(1, good[1].wrapping_add(1)), BlockError::Packing),
            (changed(1, good[1].wrapping_sub(1)), BlockError::Packing),
            (good[..good.len() - 1].to_vec(), BlockError::Packing),
            (pack(&[5, b'a']), BlockError::Content),
            (pack(&[0x80]), BlockError::Content),
            (pack(&[0x81, 0, b'a']), BlockError::Content),
            (pack(&one_too_many), BlockError::Content),
        ];
        for (at, (bytes, error)) in table.into_iter().enumerate() {
            assert_eq!(AddressBlock::decode(&bytes), Err(error), "row {at}");
        }
        assert!(AddressBlock::decode(&pack(&[])).unwrap().is_empty());
    }

    #[test]
    fn a_bomb_is_refused_before_it_takes_memory() {
        let mut bomb = lz4_flex::block::compress(&vec![0; 64 << 20]);
        bomb.splice(0..0, [VERSION, 0, 0, 0, 4]);
        assert_eq!(AddressBlock::decode(&bomb), Err(BlockError::Size));
        // A small claim does not help: no more is unpacked than was claimed.
        bomb[1..5].copy_from_slice(&1_000_u32.to_le_bytes());
        assert_eq!(AddressBlock::decode(&bomb), Err(BlockError::Packing));
    }

    proptest! {
        #[test]
        fn any_rows_come_back(rows in vec(vec(any::<u8>(), 0..=300), 0..40)) {
            let block = AddressBlock::decode(&AddressBlock::encode(&rows).unwrap()).unwrap();
            prop_assert_eq!(block.len(), rows.len());
            prop_assert_eq!(block.iter().collect::<Vec<_>>(), rows);
        }

        #[test]
        fn any_bytes_are_read_without_harm(bytes in vec(any::<u8>(), 0..400), claim in 0..2_000_u32) {
            let mut framed = vec![VERSION];
            framed.extend(claim.to_le_bytes());
            framed.extend(&bytes);
            for input in [&bytes, &framed] {
                if let Ok(block) = AddressBlock::decode(input) {
                    prop_assert!(block.iter().all(|row| row.len() <= ADDRESS_MAX_BYTES));
                }
            }
        }

        #[test]
        fn a_damaged_block_is_read_without_harm(at in 0..200_usize, flip in 1..=255_u8) {
            let mut bytes = AddressBlock::encode(&addresses(20)).unwrap();
            let at = at % bytes.len();
            bytes[at] ^= flip;
            if let Ok(block) = AddressBlock::decode(&bytes) {
                prop_assert!(block.len() <= ROWS_MAX);
            }
        }
    }
}
