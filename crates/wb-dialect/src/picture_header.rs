//! The format and the sides of a picture, from the first bytes of its base64.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use imagesize::{Compression, ImageType};

/// The media types of the pictures whose sides are read.
pub(crate) const MEDIA_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// A decoder that accepts missing padding.
const DECODER: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The characters of base64 that hold every header except long ones of JPEG.
const N_CHARS: usize = 128;

/// Returns the media type of a picture in base64; `None` if its format is unknown.
pub(crate) fn media_type(data: &str) -> Option<&'static str> {
    match imagesize::image_type(&decoded(data, N_CHARS)?).ok()? {
        ImageType::Jpeg => Some("image/jpeg"),
        ImageType::Png => Some("image/png"),
        ImageType::Gif => Some("image/gif"),
        ImageType::Webp => Some("image/webp"),
        ImageType::Bmp => Some("image/bmp"),
        ImageType::Tiff => Some("image/tiff"),
        ImageType::Ico => Some("image/x-icon"),
        ImageType::Heif(Compression::Av1) => Some("image/avif"),
        ImageType::Heif(_) => Some("image/heic"),
        _ => None,
    }
}

/// Returns the width and the height of a picture in base64; `None` if its header cannot be read.
pub(crate) fn sides(data: &str) -> Option<(usize, usize)> {
    let media_type = media_type(data).filter(|kind| MEDIA_TYPES.contains(kind))?;
    let is_jpeg = media_type == "image/jpeg";
    let mut n_chars = N_CHARS;
    loop {
        let bytes = decoded(data, n_chars)?;
        let has_sides = !bytes.starts_with(b"\x89PNG") || bytes.get(12..16) == Some(b"IHDR");
        if let Some(size) = imagesize::blob_size(&bytes).ok().filter(|_| has_sides) {
            return Some((size.width, size.height));
        }
        // The sides of a JPEG follow its comments, profiles and thumbnails.
        if !is_jpeg || n_chars >= data.len() {
            return None;
        }
        n_chars *= 16;
    }
}

/// Decodes the first characters, whose number is a multiple of four.
fn decoded(data: &str, n_chars: usize) -> Option<Vec<u8>> {
    let chars = data.bytes().filter(|byte| !byte.is_ascii_whitespace());
    DECODER.decode(chars.take(n_chars).collect::<Vec<u8>>()).ok()
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    fn read(bytes: &[u8]) -> (Option<&'static str>, Option<(usize, usize)>) {
        let data = STANDARD.encode(bytes);
        (media_type(&data), sides(&data))
    }

    /// A WebP of one chunk.
    fn webp(kind: &str, chunk: &[u8]) -> Vec<u8> {
        [b"RIFF\0\0\0\0WEBP", kind.as_bytes(), b"\0\0\0\0", chunk].concat()
    }

    /// A JPEG whose frame has a marker, after a comment of a length.
    fn jpeg(marker: u8, n_comment: usize) -> Vec<u8> {
        let mut bytes = b"\xff\xd8".to_vec();
        for _ in 0..n_comment.div_ceil(60_000) {
            bytes.extend(b"\xff\xfe\xea\x62");
            bytes.extend(vec![b'x'; 60_000]);
        }
        bytes.extend([0xff, marker, 0, 17, 8, 0x23, 0x28, 0, 9, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]);
        bytes
    }

    #[test]
    fn the_header_of_each_format_is_read() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x23\x28\0\0\0\x09";
        let sides = Some((9000, 9));
        assert_eq!(read(png), (Some("image/png"), sides));
        assert_eq!(read(b"GIF89a\x28\x23\x09\0\0\0\0"), (Some("image/gif"), sides));
        let of_webp = (Some("image/webp"), sides);
        assert_eq!(read(&webp("VP8 ", b"\0\0\0\x9d\x01\x2a\x28\x23\x09\0")), of_webp);
        assert_eq!(read(&webp("VP8L", &[0x2f, 0x27, 0x23, 2, 0, 0])), of_webp);
        assert_eq!(read(&webp("VP8X", &[0, 0, 0, 0, 0x27, 0x23, 0, 8, 0, 0])), of_webp);
        for (marker, n_comment) in [(0xc0, 0), (0xc2, 0), (0xc2, 3), (0xc0, 100_000)] {
            assert_eq!(read(&jpeg(marker, n_comment)), (Some("image/jpeg"), Some((9, 9000))));
        }
    }

    #[test]
    fn other_bytes_have_no_sides() {
        assert_eq!(read(b"\x89PNG\r\n\x1a\n\x89PNG\r\n\x1a\n\x89PNG\r\n\x1a\n"), (Some("image/png"), None));
        assert_eq!(read(b"\xff\xd8\xff\xe0 and then no frame"), (Some("image/jpeg"), None));
        for bytes in [&b""[..], b"GIF", b"<html>Not found, sorry</html>", b"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"] {
            assert_eq!(read(bytes), (None, None));
        }
        for (bytes, media_type) in [
            (&b"BM\0\0\0\0\0\0\0\0\0\0\0\0"[..], "image/bmp"),
            (b"II*\0\x08\0\0\0\0\0\0\0", "image/tiff"),
            (b"\0\0\x01\0\x01\0\x10\x10\0\0\0\0\0\0", "image/x-icon"),
            (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "image/heic"),
            (b"\0\0\0\x18ftypavif\0\0\0\0avifmif1", "image/avif"),
        ] {
            assert_eq!(read(bytes), (Some(media_type), None));
        }
        for data in ["!", "iVBORw0KGgo", "https://example.com/a.png", "é"] {
            assert_eq!((media_type(data), sides(data)), (None, None), "{data}");
        }
    }

    #[test]
    fn lines_and_missing_padding_are_accepted() {
        let data = STANDARD.encode(b"GIF89a\x28\x23\x09\0\0\0\0");
        let data = format!("{}\r\n {}", &data[..8], data[8..].trim_end_matches('='));
        assert_eq!((media_type(&data), sides(&data)), (Some("image/gif"), Some((9000, 9))));
    }
}
