//! One base path in place of another, in addresses.

use sapwood_core::uri;

/// A path that others are below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Base {
    /// With a slash before each name; empty for the top.
    decoded: String,
    /// The same, percent-encoded.
    encoded: String,
}

impl Base {
    /// Of names with slashes between them.
    pub(super) fn of(names: &str) -> Self {
        let names = names.trim_matches('/');
        let decoded = if names.is_empty() { String::new() } else { format!("/{names}") };
        let encoded = uri::encode(&decoded).into_owned();
        Self { decoded, encoded }
    }

    /// What of a percent-encoded path is below it, with the slash; nothing of its own path. Escapes
    /// need not be written as we write them, and in XML `&` is not written as it is.
    fn below<'p>(&self, path: &'p str) -> Option<&'p str> {
        let levels = self.decoded.matches('/').count();
        let below = match path.match_indices('/').nth(levels) {
            Some((at, _)) => path.get(at..)?,
            None => "",
        };
        let named = path.strip_suffix(below)?.replace("&amp;", "&");
        (uri::decode_utf8(&named)? == self.decoded).then_some(below)
    }
}

/// Addresses below one base become those below another.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddressMap<'b> {
    pub(super) from: &'b Base,
    pub(super) to: &'b Base,
}

/// The scheme and authority of an address, if it has them, and its path.
fn split(address: &str) -> (&str, &str) {
    let Some((scheme, rest)) = address.split_once("://") else { return ("", address) };
    if scheme.contains('/') {
        return ("", address);
    }
    let path = rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("");
    (address.strip_suffix(path).unwrap_or(""), path)
}

impl AddressMap<'_> {
    /// The other path.
    pub(super) fn path(&self, path: &str) -> Option<String> {
        let below = self.from.below(path)?;
        let moved = format!("{}{below}", self.to.encoded);
        Some(if moved.is_empty() { "/".to_owned() } else { moved })
    }

    /// The other address. One that names a server then names that of `origin`.
    pub(super) fn address(&self, address: &str, origin: &str) -> Option<String> {
        let (server, path) = split(address);
        let moved = self.path(path)?;
        Some(if server.is_empty() { moved } else { format!("{origin}{moved}") })
    }

    /// The same for an address in XML.
    pub(super) fn address_in_xml(&self, address: &str, origin: &str) -> Option<String> {
        let (server, path) = split(address);
        let below = self.from.below(path)?;
        let base = self.to.encoded.replace('&', "&amp;");
        let origin = if server.is_empty() { "" } else { origin };
        let slash = if base.is_empty() && below.is_empty() { "/" } else { "" };
        Some(format!("{origin}{base}{below}{slash}"))
    }

    /// The addresses in an `If` header: `<http://host/path> (<token> ["tag"])`.
    pub(super) fn conditions(&self, header: &str, origin: &str) -> String {
        let mut out = String::with_capacity(header.len());
        let mut rest = header;
        while let Some((before, after)) = rest.split_once('<') {
            let Some((inner, after)) = after.split_once('>') else { break };
            let moved = self.address(inner, origin);
            out.push_str(before);
            out.push('<');
            out.push_str(moved.as_deref().unwrap_or(inner));
            out.push('>');
            rest = after;
        }
        out + rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_addresses() {
        let (mirror, master) = (Base::of("mirror/a b"), Base::of("/svn/"));
        let moved = AddressMap { from: &mirror, to: &master };
        for (from, to) in [
            ("/mirror/a%20b/repo/!svn/txr/1-1/x", "/svn/repo/!svn/txr/1-1/x"),
            ("/m%69rror/a%20b/%2e", "/svn/%2e"),
            ("/mirror/a%20b", "/svn"),
        ] {
            assert_eq!(moved.path(from).as_deref(), Some(to), "{from}");
        }
        for elsewhere in ["/mirror/a%20bc/x", "/mirror", "/", "", "/svn/repo"] {
            assert_eq!(moved.path(elsewhere), None, "{elsewhere}");
        }
        let to = |address| moved.address(address, "https://m:444");
        assert_eq!(to("http://h/mirror/a%20b/x").as_deref(), Some("https://m:444/svn/x"));
        assert_eq!(to("/mirror/a%20b/x").as_deref(), Some("/svn/x"));
        assert_eq!(to("http://h"), None);
        let top = Base::of("");
        assert_eq!(AddressMap { from: &top, to: &master }.path("/x").as_deref(), Some("/svn/x"));
        assert_eq!(AddressMap { from: &master, to: &top }.path("/svn").as_deref(), Some("/"));
        assert_eq!(AddressMap { from: &master, to: &top }.path("/svn/x").as_deref(), Some("/x"));
    }

    #[test]
    fn conditions() {
        let (mirror, master) = (Base::of("mirror"), Base::of("svn"));
        let moved = AddressMap { from: &mirror, to: &master };
        let header =
            "<http://h/mirror/r/f> (<opaquelocktoken:1> [\"5//f\"]) </mirror/g> (Not <x:y>)";
        assert_eq!(
            moved.conditions(header, "http://m"),
            "<http://m/svn/r/f> (<opaquelocktoken:1> [\"5//f\"]) </svn/g> (Not <x:y>)"
        );
        assert_eq!(moved.conditions("(<a> <b", ""), "(<a> <b");
    }
}
