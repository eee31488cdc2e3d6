//! Which locales this machine has, as the C library finds them: folders below `/usr/lib/locale`, and
//! names in `locale-archive` there. `C` and `POSIX` are always there, and so is UTF-8 for `C`.
//!
//! Where nothing can be known of locales (no such folder, another C library) every name is one.

use sapwood_core::exact::Cut;
use std::path::{Path, PathBuf};

/// Where they are, unless `LOCPATH` says.
const FOLDER: &str = "/usr/lib/locale";
/// The first bytes of the archive.
const MAGIC: u32 = 0xde02_0109;
/// Bytes that the names in an archive may take: all locales of a distribution take some 50 kB.
const MAX_NAMES: usize = 16 << 20;

/// Whether `name` is a locale.
pub(super) fn is_known(name: &str) -> bool {
    let folder = std::env::var_os("LOCPATH").map_or_else(|| PathBuf::from(FOLDER), PathBuf::from);
    is_in(name, &folder)
}

fn is_in(name: &str, folder: &Path) -> bool {
    let normal = normalized(name);
    if matches!(name, "C" | "POSIX") || normal == "C.utf8" || !folder.is_dir() {
        return true;
    }
    if name.contains('/') {
        return Path::new(name).is_dir();
    }
    let names = [name, normal.as_str()];
    names.iter().any(|name| !name.is_empty() && folder.join(name).is_dir())
        || archived(&folder.join("locale-archive"), &names)
}

/// `de_DE.UTF-8@euro` as the C library files it: `de_DE.utf8@euro`.
fn normalized(name: &str) -> String {
    let at = name.find('@').unwrap_or(name.len());
    let (rest, modifier) = (name.head(at), name.tail(at));
    let Some((language, codeset)) = rest.split_once('.') else { return name.to_owned() };
    let codeset: String = codeset
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    let iso = if codeset.bytes().all(|b| b.is_ascii_digit()) { "iso" } else { "" };
    format!("{language}.{iso}{codeset}{modifier}")
}

/// Whether an archive lists one of the names. Its head is numbers of four bytes, of which the first
/// is its mark, and the sixth and seventh are where its names begin and how long they are together.
fn archived(archive: &Path, names: &[&str]) -> bool {
    use std::os::unix::fs::FileExt as _;
    let look = || {
        let file = std::fs::File::open(archive).ok()?;
        let mut head = [0; 28];
        file.read_exact_at(&mut head, 0).ok()?;
        let number = |at: usize| {
            let bytes = head.get(at.checked_mul(4)?..)?.first_chunk::<4>()?;
            Some(u32::from_ne_bytes(*bytes))
        };
        if number(0)? != MAGIC {
            return None;
        }
        let mut text = vec![0; usize::try_from(number(6)?).ok()?.min(MAX_NAMES)];
        file.read_exact_at(&mut text, u64::from(number(5)?)).ok()?;
        let mut words = text.split(|b| *b == 0);
        Some(words.any(|word| names.iter().any(|name| name.as_bytes() == word)))
    };
    look().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_folders() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("de_DE.utf8@euro")).unwrap();
        let mut archive: Vec<u8> =
            [MAGIC, 0, 0, 0, 0, 28, 12].iter().flat_map(|n: &u32| n.to_ne_bytes()).collect();
        archive.extend(b"en_US.utf8\0\0");
        std::fs::write(dir.path().join("locale-archive"), archive).unwrap();
        for (name, known) in [
            ("C", true),
            ("POSIX", true),
            ("C.UTF-8", true),
            ("de_DE.UTF-8@euro", true),
            ("de_DE.UTF-8", false),
            ("en_US.UTF-8", true),
            ("en_US", false),
            ("nonsense", false),
            ("nonsense.UTF-8", false),
        ] {
            assert_eq!(is_in(name, dir.path()), known, "{name}");
        }
        assert!(is_in("nonsense", &dir.path().join("nowhere")));
        assert_eq!(normalized("ja_JP.8859-1"), "ja_JP.iso88591");
    }
}
