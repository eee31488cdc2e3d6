//! Names in archives that are safe to unpack on every system.
//!
//! Invariants: a name is one name wherever it is unpacked, never a path; two different names stay different.

use sapwood_core::exact::Exact as _;

use crate::archive_form::ArchiveForm;

/// A name without what would be more than a name: control characters and `\` are percent-encoded, for Windows also `:` and
/// an ending that it drops.
pub(super) fn safe(name: &str, form: ArchiveForm) -> String {
    let for_windows = form == ArchiveForm::Zip;
    let mut safe = String::with_capacity(name.len());
    let mut rest = name.chars();
    while let Some(c) = rest.next() {
        let is_last = rest.as_str().is_empty();
        let is_unsafe = c.is_control()
            || c == '\\'
            || (c == '%' && begins_with_digits(rest.as_str()))
            || (for_windows && (c == ':' || (is_last && matches!(c, '.' | ' '))));
        if !is_unsafe {
            safe.push(c);
            continue;
        }
        let mut bytes = [0; 4];
        for byte in c.encode_utf8(&mut bytes).bytes() {
            safe.push_str(&format!("%{byte:02X}"));
        }
    }
    safe
}

/// Whether what follows a `%` would be read as an encoded byte.
fn begins_with_digits(rest: &str) -> bool {
    let mut next = rest.bytes();
    let mut is_digit = || next.next().is_some_and(|byte| byte.is_ascii_hexdigit());
    is_digit() && is_digit()
}

/// Whether a link that is so many levels below the top of a tree (1 in the top itself) stays within it. `..` counts at the
/// beginning only: after a name it may lead back through another link.
pub(super) fn stays_inside(target: &str, levels: usize) -> bool {
    if target.is_empty() || target.starts_with('/') || target.contains(['\\', '\0', ':']) {
        return false;
    }
    let mut parts = target.split('/').filter(|part| !matches!(*part, "" | ".")).peekable();
    let mut up = 0usize;
    while parts.next_if_eq(&"..").is_some() {
        up = up.plus(1);
    }
    up < levels && parts.all(|part| part != ".." && !part.chars().any(char::is_control))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_name_and_stay_different() {
        for (name, tar, zip) in [
            ("plain ü.txt", "plain ü.txt", "plain ü.txt"),
            ("..\\..\\evil", "..%5C..%5Cevil", "..%5C..%5Cevil"),
            ("a\nb\u{9b}", "a%0Ab%C2%9B", "a%0Ab%C2%9B"),
            ("C:x", "C:x", "C%3Ax"),
            (".. ", ".. ", "..%20"),
            ("100%", "100%", "100%"),
            ("a%5Cb", "a%255Cb", "a%255Cb"),
        ] {
            assert_eq!(
                (&*safe(name, ArchiveForm::TarGz), &*safe(name, ArchiveForm::Zip)),
                (tar, zip),
                "{name:?}"
            );
        }
        assert_ne!(safe("a\\b", ArchiveForm::Zip), safe("a%5Cb", ArchiveForm::Zip));
    }

    #[test]
    fn links_that_lead_out_are_known() {
        for (target, levels) in [("x", 1), ("./d/x", 1), ("../x", 2), ("../../x", 3), ("..", 2)] {
            assert!(stays_inside(target, levels), "{target}");
        }
        for (target, levels) in [
            ("/etc/passwd", 3),
            ("../x", 1),
            ("../../x", 2),
            ("d/../x", 3),
            ("C:x", 1),
            ("..\\x", 2),
            ("a\nb", 1),
            ("", 1),
        ] {
            assert!(!stays_inside(target, levels), "{target}");
        }
    }
}
