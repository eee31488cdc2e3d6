//! The one style sheet, the one script, and the icon. Their addresses hold a digest of them, so that browsers keep them for ever.
//!
//! Invariant: these are of the program; nothing that is stored is in them.

use crate::address::Address;
use crate::fault::{Fault, Result};
use crate::reply::Reply;

const STYLE: &str = include_str!("style.css");
const ICON: &str = include_str!("icon.svg");
const SCRIPT: &str = include_str!("script.js");

/// The digest of a text (FNV-1a, 64 bits): it only has to differ between versions of the program.
const fn digest(text: &str) -> u64 {
    let mut rest = text.as_bytes();
    let mut sum: u64 = 0xcbf2_9ce4_8422_2325;
    while let [first, more @ ..] = rest {
        let [a, b, c, d, e, f, g, h] = sum.to_le_bytes();
        sum = u64::from_le_bytes([a ^ *first, b, c, d, e, f, g, h]).wrapping_mul(0x0100_0000_01b3);
        rest = more;
    }
    sum
}

const DIGEST: u64 = digest(STYLE);
const DIGEST_OF_ICON: u64 = digest(ICON);
const DIGEST_OF_SCRIPT: u64 = digest(SCRIPT);
/// The media type of the icon.
const SVG: &str = "image/svg+xml";

/// The name of the sheet.
pub(crate) fn name() -> String {
    format!("{DIGEST:016x}.css")
}

/// The name of the icon.
pub(crate) fn icon_name() -> String {
    format!("{DIGEST_OF_ICON:016x}.svg")
}

/// The name of the script.
pub(crate) fn script_name() -> String {
    format!("{DIGEST_OF_SCRIPT:016x}.js")
}

/// The tag of what has this name: the name itself, for it has a digest.
pub(crate) fn tag(wanted: &str) -> Option<String> {
    let is_one = [name(), icon_name(), script_name()].iter().any(|name| name == wanted);
    is_one.then(|| format!("\"{wanted}\""))
}

pub(crate) fn reply(address: &Address) -> Result<Reply> {
    named(address.name()).ok_or(Fault::Missing)
}

/// What has this name.
pub(crate) fn named(wanted: &str) -> Option<Reply> {
    let for_ever =
        |reply: Reply| reply.with("cache-control", "public, max-age=31536000, immutable");
    match wanted {
        _ if wanted == name() => {
            Some(for_ever(Reply::of("text/css; charset=utf-8", STYLE.to_owned())))
        }
        _ if wanted == icon_name() => Some(for_ever(icon())),
        _ if wanted == script_name() => {
            Some(for_ever(Reply::of("text/javascript; charset=utf-8", SCRIPT.to_owned())))
        }
        _ => None,
    }
}

/// The icon, under any name.
pub(crate) fn icon() -> Reply {
    Reply::of(SVG, ICON.to_owned()).with("cache-control", "public, max-age=86400")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_sheet_has_another_name() {
        assert_ne!(digest("a{}"), digest("b{}"));
        assert_eq!(digest("a"), 0xaf63_dc4c_8601_ec8c);
        assert!(!STYLE.contains("url("), "the sheet asks for nothing else");
        assert!(named(&name()).is_some_and(|sheet| sheet.body == STYLE));
        assert!(named(&icon_name()).is_some_and(|icon| icon.body == ICON));
        assert!(named(&script_name()).is_some_and(|script| script.body == SCRIPT));
        assert!(tag(&script_name()).is_some() && tag("x.js").is_none());
        assert!(named("x.css").is_none() && !ICON.contains("script") && ICON.len() < 1_000);
    }
    /// It makes elements and text, never markup; it is short; and its words are those of `words.rs`.
    #[test]
    fn the_script_is_small_and_makes_no_markup() {
        assert!(SCRIPT.len() < 20 << 10, "{}", SCRIPT.len());
        let makers = [
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "document.write",
            "DOMParser",
            "eval(",
            "Function(",
        ];
        for maker in makers.into_iter().chain(["javascript:", "setTimeout", "http:"]) {
            assert!(!SCRIPT.contains(maker), "{maker}");
        }
        let words: serde_json::Value = serde_json::from_str(&crate::words::of_script()).unwrap();
        let words = words.as_object().unwrap();
        for (word, _) in words {
            assert!(SCRIPT.contains(&format!("words.{word}")), "{word} is not used");
        }
        for used in SCRIPT.split("words.").skip(1) {
            let end = used.find(|c: char| !c.is_alphanumeric()).unwrap_or(used.len());
            assert!(words.contains_key(&used[..end]), "{} has no words", &used[..end]);
        }
        for key in words["keyList"].as_object().unwrap().keys() {
            let known = [format!("'{key}': "), format!("\n    {key}: ")];
            assert!(known.iter().any(|known| SCRIPT.contains(known)), "{key} does nothing");
        }
    }
}
