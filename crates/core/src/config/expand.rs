//! Expansion of `%(name)s` in values.

use std::borrow::Cow;

use super::{Config, Item, Section};

/// How long an expanded value may get; a value that would be longer is undefined, that is empty.
const MAX_EXPANDED: usize = 1 << 20;
/// How many values may stand in one another.
const MAX_DEPTH: usize = 32;

/// The value of `item` as seen from `section`.
pub(super) fn expand<'a>(
    config: &'a Config,
    section: &'a Section,
    item: &'a Item,
) -> Cow<'a, [u8]> {
    if memchr::memmem::find(&item.value, b"%(").is_none() {
        return Cow::Borrowed(&item.value);
    }
    let mut out = Vec::new();
    let mut work = MAX_EXPANDED;
    match expand_into(config, section, item, &mut Vec::new(), &mut out, &mut work) {
        Some(()) => Cow::Owned(out),
        None => Cow::Borrowed(b""),
    }
}

/// `None` when the value needs itself, or is beyond the limits. `work` counts bytes and
/// references down, so that values that expand to nothing cannot take for ever either.
fn expand_into<'a>(
    config: &'a Config,
    section: &'a Section,
    item: &'a Item,
    open: &mut Vec<&'a Item>,
    out: &mut Vec<u8>,
    work: &mut usize,
) -> Option<()> {
    if open.len() >= MAX_DEPTH || open.iter().any(|other| std::ptr::eq(*other, item)) {
        return None;
    }
    open.push(item);
    let mut rest = item.value.as_slice();
    let mut from = 0;
    while let Some(start) = memchr::memmem::find(rest.get(from..)?, b"%(") {
        let start = from.checked_add(start)?;
        let name = rest.get(start.checked_add(2)?..)?;
        let Some(end) = memchr::memmem::find(name, b")s") else { break };
        let after = start.checked_add(end)?.checked_add(4)?;
        let name = String::from_utf8_lossy(name.get(..end)?);
        match config.item_of(section, &name) {
            Some(other) => {
                let plain = rest.get(..start)?;
                *work = work.checked_sub(plain.len())?.checked_sub(1)?;
                out.extend_from_slice(plain);
                expand_into(config, section, other, open, out, work)?;
                rest = rest.get(after..)?;
                from = 0;
            }
            None => from = after,
        }
    }
    *work = work.checked_sub(rest.len())?;
    out.extend_from_slice(rest);
    open.pop();
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::{Case, Config};

    fn get(text: &str, option: &str) -> String {
        let config = Config::parse(text.as_bytes(), Case::INSENSITIVE).unwrap();
        config.get("s", option).unwrap().into_owned()
    }

    #[test]
    fn plain_and_nested() {
        let text = "[s]\na=1\nb=<%(a)s>\nc=%(b)s%(B)s%(nothing)s\nd=%(a\ne=%(a)s %(\nf=100%\n";
        assert_eq!(get(text, "b"), "<1>");
        assert_eq!(get(text, "c"), "<1><1>%(nothing)s");
        assert_eq!(get(text, "d"), "%(a");
        assert_eq!(get(text, "e"), "1 %(");
        assert_eq!(get(text, "f"), "100%");
    }

    #[test]
    fn cycles_and_giants_are_empty() {
        let text = "[s]\na=x%(b)s\nb=y%(c)s\nc=z%(b)s\n";
        for option in ["a", "b", "c"] {
            assert_eq!(get(text, option), "");
        }
        let mut text = String::from("[s]\nv0=\n");
        for n in 1..30 {
            let below = n - 1;
            text.push_str(&format!("v{n}=%(v{below})s%(v{below})s%(v{below})s\n"));
        }
        assert_eq!(get(&text, "v3"), "");
        assert_eq!(get(&text, "v29"), "");
    }
}
