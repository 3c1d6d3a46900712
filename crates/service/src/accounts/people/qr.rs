//! QR codes as paths that pages draw themselves, because their policy allows no external images.

use std::fmt::Write as _;

use qrcode::{Color, EcLevel, QrCode};

/// Dark modules of a code as a path in a square of `size` modules, without the quiet zone.
pub(super) struct QrPath {
    pub(super) size: usize,
    /// SVG path of one rectangle per run of dark modules.
    pub(super) path: String,
}

/// Draws a text; `None` if it is too long for a code.
pub(super) fn path(text: &str) -> Option<QrPath> {
    let code = QrCode::with_error_correction_level(text, EcLevel::M).ok()?;
    let (size, colors) = (code.width(), code.to_colors());
    let mut path = String::new();
    for (y, row) in colors.chunks(size).enumerate() {
        let mut x = 0;
        for run in row.chunk_by(|one, next| one == next) {
            if run.first() == Some(&Color::Dark) {
                let _ = write!(path, "M{x} {y}h{0}v1h-{0}z", run.len());
            }
            x += run.len();
        }
    }
    Some(QrPath { size, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dark modules of a path, as rows of text.
    fn drawn(QrPath { size, path }: &QrPath) -> Vec<String> {
        let mut rows = vec![vec!['.'; *size]; *size];
        for part in path.split('M').skip(1) {
            let (x, rest) = part.split_once(' ').unwrap();
            let (y, rest) = rest.split_once('h').unwrap();
            let (length, _) = rest.split_once('v').unwrap();
            let (x, y, length): (usize, usize, usize) =
                (x.parse().unwrap(), y.parse().unwrap(), length.parse().unwrap());
            rows[y][x..x + length].fill('#');
        }
        rows.into_iter().map(String::from_iter).collect()
    }

    #[test]
    fn a_path_draws_the_modules_of_the_code() {
        let text = "otpauth://totp/Probity:ann%40example%2Ecom?secret=ABC";
        let drawn = drawn(&path(text).unwrap());
        let corner = ["#######", "#.....#", "#.###.#", "#.###.#", "#.###.#", "#.....#", "#######"];
        let width = drawn.len();
        for (y, row) in corner.iter().enumerate() {
            assert_eq!((&drawn[y][..7], &drawn[y][width - 7..]), (*row, *row), "finder patterns in line {y}");
        }
        let code = QrCode::with_error_correction_level(text, EcLevel::M).unwrap();
        let dark = |(color, at): (&Color, &str)| (*color == Color::Dark) == (at == "#");
        let modules: Vec<&str> = drawn.iter().flat_map(|row| row.split("").filter(|at| !at.is_empty())).collect();
        assert_eq!(modules.len(), width * width);
        assert!(code.to_colors().iter().zip(modules).all(dark));
    }

    #[test]
    fn what_is_too_long_has_no_code() {
        assert!(path(&"x".repeat(5_000)).is_none());
    }
}
