//! Blocks: how the addresses of a job are kept, a thousand together.
//!
//! Addresses of one list share domains and patterns, so a thousand of them compress to less than half; one at a time they would
//! not. An address is bytes here: whatever was submitted is given back, though it be no address at all.
//!
//! ```text
//! block   = %x01 size lz4        ; size: of what lz4 (block format) unpacks to, 4 bytes, the lowest first
//! content = 0*1000(length text)  ; length: 0 to 1,024 in one or two bytes, seven bits each, the lowest first (LEB128)
//! ```
//!
//! Reading trusts nothing: what claims more than [`CONTENT_MAX_BYTES`] is refused before memory is taken for it, and whatever
//! does not come out exactly is a [`BlockError`], never half a block.

pub mod results;
pub mod table;

use thiserror::Error;

/// The most addresses in a block.
pub const ROWS_MAX: usize = 1_000;
/// The longest address that a block keeps, in bytes; the API takes no longer ones either.
pub const ADDRESS_MAX_BYTES: usize = 1_024;
/// The most that a block can unpack to: each address with the two bytes of its length.
pub const CONTENT_MAX_BYTES: usize = ROWS_MAX * (ADDRESS_MAX_BYTES + 2);

/// What stands in the place of an address that was erased. No text has this byte, so nothing that was submitted is taken for it.
pub const ERASED: &[u8] = &[0xff];
/// The only form there is so far. Another form gets another first byte, so that old rows stay readable.
const VERSION: u8 = 1;
/// Version and size.
const HEAD_BYTES: usize = 5;
/// The longest number: 63 bits.
const NUMBER_BYTES_MAX: usize = 9;

/// Why something cannot be put into a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum UnfitBlock {
    /// There are [`ROWS_MAX`] addresses in it already.
    #[error("the block is full")]
    Full,
    /// The address has more than [`ADDRESS_MAX_BYTES`].
    #[error("the address is longer than a block keeps")]
    TooLong,
}

/// Why bytes are no block: they were damaged, or written by a later version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BlockError {
    /// The first byte names a form that is not known here.
    #[error("a block of an unknown form")]
    Version,
    /// It would unpack to more than a block can hold.
    #[error("a block that claims more than a block can hold")]
    Size,
    /// It does not unpack to what it says.
    #[error("a block that cannot be unpacked")]
    Packing,
    /// What it unpacks to are not addresses with their lengths.
    #[error("a block whose content is damaged")]
    Content,
}

/// A block in the making.
#[derive(Clone, Debug, Default)]
pub struct Filling {
    content: Vec<u8>,
    rows: usize,
}

/// A block as it is stored, with how many addresses are in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedBlock {
    /// How many addresses, 1 to [`ROWS_MAX`].
    pub rows: usize,
    /// What [`AddressBlock::decode`] reads.
    pub bytes: Vec<u8>,
}

impl Filling {
    /// Adds an address. An error leaves the block as it was.
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

    /// Whether nothing more goes in.
    pub fn is_full(&self) -> bool {
        self.rows >= ROWS_MAX
    }

    /// Packs the rows and starts the next block; `None` without rows.
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

/// What [`pack`] was given, when it was no more than `most` bytes.
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

/// Adds a number as LEB128: seven bits a byte, the lowest first. Of 64 bits it keeps 63.
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

/// What is left to read of a block's content.
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

/// The addresses of a block, in the order in which they were put in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressBlock {
    content: Vec<u8>,
    /// Where each address begins and ends in the content.
    places: Vec<(u32, u32)>,
}

impl AddressBlock {
    /// A block of these addresses, packed, when they fit into one.
    pub fn encode<T: AsRef<[u8]>>(addresses: &[T]) -> Result<Vec<u8>, UnfitBlock> {
        let mut filling = Filling::default();
        addresses.iter().try_for_each(|address| filling.push(address.as_ref()))?;
        Ok(pack(&filling.content))
    }

    /// Unpacks a block; takes at most [`CONTENT_MAX_BYTES`] and 8 bytes for each address.
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

    /// How many addresses there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The address at a place, counted from 0 within the block.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        self.places.get(index).map(|place| self.text(*place))
    }

    /// All addresses, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.places.iter().map(|place| self.text(*place))
    }

    fn text(&self, (start, end): (u32, u32)) -> &[u8] {
        let place = |place: u32| usize::try_from(place).expect("places come from sizes in memory");
        &self.content[place(start)..place(end)]
    }
}

/// The length of an address and where its text begins. The shortest form only, so that equal lists make equal content.
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
        // A modest claim does not help: no more is unpacked than was claimed.
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
