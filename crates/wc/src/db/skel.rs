//! Property lists and inherited properties as the skels of columns.

use sapwood_core::PropList;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::skel::Skel;

use crate::error::{Error, Result};

fn malformed() -> Error {
    sapwood_core::skel::Error.into()
}

impl From<sapwood_core::skel::Error> for Error {
    fn from(error: sapwood_core::skel::Error) -> Self {
        Self::Svn(error.into())
    }
}

/// The skel of a property list: names and values in turn, in a list.
#[must_use]
pub fn write_props(props: &PropList) -> Vec<u8> {
    let mut out = Vec::new();
    props_skel(props).write(&mut out);
    out
}

fn props_skel(props: &PropList) -> Skel<'_> {
    let atoms = props.iter().flat_map(|(name, value)| [name.as_bytes(), value]);
    Skel::List(atoms.map(Skel::Atom).collect())
}

/// The property list of a skel; no bytes are no properties.
///
/// # Errors
/// When it is not such a skel.
pub fn read_props(bytes: &[u8]) -> Result<PropList> {
    if bytes.is_empty() {
        return Ok(PropList::new());
    }
    props_of(&Skel::parse(bytes)?)
}

fn props_of(skel: &Skel<'_>) -> Result<PropList> {
    let mut props = PropList::new();
    let members = skel.list().ok_or_else(malformed)?;
    for pair in members.chunks(2) {
        let [name, value] = pair else { return Err(malformed()) };
        let name = name.atom().and_then(|n| std::str::from_utf8(n).ok()).ok_or_else(malformed)?;
        props.set(name, value.atom().ok_or_else(malformed)?);
    }
    Ok(props)
}

/// Properties that a working copy's root inherits in its repository: pairs of path below the
/// repository's root and properties, the root's first.
pub type InheritedProps = Vec<(RelPathBuf, PropList)>;

/// The skel of inherited properties.
#[must_use]
pub fn write_inherited(list: &[(RelPathBuf, PropList)]) -> Vec<u8> {
    let members = list
        .iter()
        .flat_map(|(path, props)| [Skel::Atom(path.as_bytes()), props_skel(props)])
        .collect();
    let mut out = Vec::new();
    Skel::List(members).write(&mut out);
    out
}

/// The inverse of [`write_inherited`].
///
/// # Errors
/// When it is not such a skel.
pub(crate) fn read_inherited(bytes: &[u8]) -> Result<InheritedProps> {
    let skel = Skel::parse(bytes)?;
    let mut out = Vec::new();
    for pair in skel.list().ok_or_else(malformed)?.chunks(2) {
        let [path, props] = pair else { return Err(malformed()) };
        let path = path.atom().and_then(|p| std::str::from_utf8(p).ok()).ok_or_else(malformed)?;
        let path = RelPath::new(path).map_err(|_| malformed())?;
        out.push((path.to_owned(), props_of(props)?));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_there_and_back() {
        let props: PropList = [("a", "1 2"), ("svn:eol-style", "native")].into_iter().collect();
        assert_eq!(write_props(&props), b"(a 3 1 2 svn:eol-style native)");
        assert_eq!(read_props(&write_props(&props)).unwrap(), props);
        assert_eq!(write_props(&PropList::new()), b"()");
        assert!(read_props(b"(a)").is_err());
        let inherited = vec![
            (RelPathBuf::default(), props.clone()),
            (RelPath::new("trunk").unwrap().to_owned(), props),
        ];
        assert_eq!(read_inherited(&write_inherited(&inherited)).unwrap(), inherited);
    }
}
