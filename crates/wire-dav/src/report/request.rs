//! The bodies of the eleven short reports. Unknown elements are skipped, as the
//! reference does.

use sapwood_core::path::{canonical_relpath, is_canonical_fspath};
use sapwood_core::{Depth, Revnum};

use crate::NS_SVN;
use crate::error::{Error, Result};
use crate::xml::Element;

/// The children in Subversion's namespace.
fn parts(root: &Element) -> impl Iterator<Item = (&str, &Element)> {
    root.children.iter().filter(|c| c.namespace == NS_SVN).map(|c| (c.name.as_str(), c))
}

/// A revision number; `None` for -1 and for invalid numbers.
fn revision(element: &Element) -> Option<Revnum> {
    Revnum::parse(element.trimmed().as_bytes())
}

/// A path relative to the address of the report; one that is not in its canonical form is an
/// error.
///
/// # Errors
/// [`Error::NotCanonical`]
pub fn relpath(element: &Element) -> Result<String> {
    let path = element.text.as_str();
    if path.is_empty() || *canonical_relpath(path) == *path {
        return Ok(path.to_owned());
    }
    if is_canonical_fspath(path) {
        return Ok(path.trim_start_matches('/').to_owned());
    }
    Err(Error::NotCanonical(path.to_owned()))
}

/// The paths of a request that has one.
fn only_path(root: &Element) -> Result<Option<String>> {
    parts(root).filter(|(name, _)| *name == "path").map(|(_, e)| relpath(e)).last().transpose()
}

fn only_revision(root: &Element, wanted: &str) -> Option<Revnum> {
    parts(root).filter(|(name, _)| *name == wanted).last().and_then(|(_, e)| revision(e))
}

fn has(root: &Element, wanted: &str) -> bool {
    parts(root).any(|(name, _)| name == wanted)
}

/// `log-report`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// First revision; none for the youngest.
    pub start: Option<Revnum>,
    /// Last revision; none for the youngest.
    pub end: Option<Revnum>,
    /// The most revisions to send; 0 for all.
    pub limit: u64,
    /// Whether changed paths are wanted.
    pub changed_paths: bool,
    /// Whether to stop at copies.
    pub strict: bool,
    /// Whether to send merged revisions.
    pub merged: bool,
    /// Whether the client understands base64.
    pub encode_binary: bool,
    /// Names of revision properties; none for all.
    pub revprops: Option<Vec<String>>,
    /// Relative paths.
    pub paths: Vec<String>,
}

impl Log {
    /// Reads it.
    ///
    /// # Errors
    /// For invalid paths and numbers.
    pub fn read(root: &Element) -> Result<Self> {
        let mut log = Self { revprops: Some(Vec::new()), ..Self::default() };
        let mut any_revprops = false;
        for (name, element) in parts(root) {
            match name {
                "start-revision" => log.start = revision(element),
                "end-revision" => log.end = revision(element),
                "limit" => {
                    // A negative limit means no limit, as over svn://.
                    let limit: i64 =
                        element.trimmed().parse().map_err(|_| Error::Element("limit"))?;
                    log.limit = u64::try_from(limit).unwrap_or(0);
                }
                "discover-changed-paths" => log.changed_paths = true,
                "strict-node-history" => log.strict = true,
                "include-merged-revisions" => log.merged = true,
                "encode-binary-props" => log.encode_binary = true,
                "all-revprops" => (log.revprops, any_revprops) = (None, true),
                "no-revprops" => any_revprops = true,
                "revprop" => {
                    any_revprops = true;
                    if let Some(names) = &mut log.revprops {
                        names.push(element.text.clone());
                    }
                }
                "path" => log.paths.push(relpath(element)?),
                _ => {}
            }
        }
        if !any_revprops {
            // A client from before 1.5.
            log.revprops = Some(["svn:author", "svn:date", "svn:log"].map(str::to_owned).to_vec());
        }
        Ok(log)
    }
}

/// `get-locations`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locations {
    /// The relative path.
    pub path: String,
    /// The peg revision of the path.
    pub peg: Revnum,
    /// The revisions for which locations are wanted.
    pub revisions: Vec<Revnum>,
}

impl Locations {
    /// Reads it.
    ///
    /// # Errors
    /// When path or peg revision are missing or invalid.
    pub fn read(root: &Element) -> Result<Self> {
        Ok(Self {
            path: only_path(root)?.ok_or(Error::Element("path"))?,
            peg: only_revision(root, "peg-revision").ok_or(Error::Element("peg-revision"))?,
            revisions: parts(root)
                .filter(|(name, _)| *name == "location-revision")
                .filter_map(|(_, element)| revision(element))
                .collect(),
        })
    }
}

/// `get-location-segments`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocationSegments {
    /// The relative path.
    pub path: String,
    /// The peg revision of the path.
    pub peg: Option<Revnum>,
    /// The younger end.
    pub start: Option<Revnum>,
    /// The older end.
    pub end: Option<Revnum>,
}

impl LocationSegments {
    /// Reads it.
    ///
    /// # Errors
    /// When the path is missing or invalid.
    pub fn read(root: &Element) -> Result<Self> {
        Ok(Self {
            path: only_path(root)?.ok_or(Error::Element("path"))?,
            peg: only_revision(root, "peg-revision"),
            start: only_revision(root, "start-revision"),
            end: only_revision(root, "end-revision"),
        })
    }
}

/// `file-revs-report`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileRevs {
    /// The relative path.
    pub path: String,
    /// First revision.
    pub start: Option<Revnum>,
    /// Last revision.
    pub end: Option<Revnum>,
    /// Whether to send merged revisions.
    pub merged: bool,
}

impl FileRevs {
    /// Reads it.
    ///
    /// # Errors
    /// When the path is invalid.
    pub fn read(root: &Element) -> Result<Self> {
        Ok(Self {
            // Without one the resource itself is meant.
            path: only_path(root)?.unwrap_or_default(),
            start: only_revision(root, "start-revision"),
            end: only_revision(root, "end-revision"),
            merged: has(root, "include-merged-revisions"),
        })
    }
}

/// `replay-report`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// The revision, unless the address holds it.
    pub revision: Option<Revnum>,
    /// Copies from before this revision are sent as full additions.
    pub low_water_mark: Revnum,
    /// Whether to send texts and values of properties.
    pub send_deltas: bool,
    /// Only what is at and below this relative path.
    pub include_path: Option<String>,
}

impl Replay {
    /// Reads it.
    ///
    /// # Errors
    /// For missing or invalid elements.
    pub fn read(root: &Element) -> Result<Self> {
        let mut replay = Self { send_deltas: true, ..Self::default() };
        let mut mark = None;
        for (name, element) in parts(root) {
            match name {
                "revision" => replay.revision = revision(element),
                "low-water-mark" => mark = revision(element),
                "send-deltas" => {
                    replay.send_deltas = match element.trimmed() {
                        "0" => false,
                        "1" => true,
                        _ => return Err(Error::Element("send-deltas")),
                    }
                }
                "include-path" => replay.include_path = Some(relpath(element)?),
                _ => {}
            }
        }
        replay.low_water_mark = mark.ok_or(Error::Element("low-water-mark"))?;
        Ok(replay)
    }
}

/// `mergeinfo-report`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mergeinfo {
    /// The revision; none for the youngest.
    pub revision: Option<Revnum>,
    /// How mergeinfo is inherited, as a word.
    pub inherit: Option<String>,
    /// Relative paths.
    pub paths: Vec<String>,
    /// Whether everything below is sent too.
    pub descendants: bool,
}

impl Mergeinfo {
    /// Reads it.
    ///
    /// # Errors
    /// For invalid paths.
    pub fn read(root: &Element) -> Result<Self> {
        let mut mergeinfo = Self::default();
        for (name, element) in parts(root) {
            match name {
                "revision" => mergeinfo.revision = revision(element),
                "inherit" => mergeinfo.inherit = Some(element.trimmed().to_owned()),
                "path" => mergeinfo.paths.push(relpath(element)?),
                "include-descendants" => mergeinfo.descendants = element.trimmed() == "yes",
                _ => {}
            }
        }
        Ok(mergeinfo)
    }
}

/// `get-deleted-rev-report`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeletedRev {
    /// The relative path.
    pub path: String,
    /// A revision in which it existed.
    pub peg: Revnum,
    /// The last revision to search.
    pub end: Revnum,
}

impl DeletedRev {
    /// Reads it.
    ///
    /// # Errors
    /// For missing or invalid elements.
    pub fn read(root: &Element) -> Result<Self> {
        Ok(Self {
            path: only_path(root)?.ok_or(Error::Element("path"))?,
            peg: only_revision(root, "peg-revision").ok_or(Error::Element("peg-revision"))?,
            end: only_revision(root, "end-revision").ok_or(Error::Element("end-revision"))?,
        })
    }
}

/// `inherited-props-report`
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InheritedProps {
    /// The relative path.
    pub path: String,
    /// The revision.
    pub revision: Option<Revnum>,
}

impl InheritedProps {
    /// Reads it.
    ///
    /// # Errors
    /// When the path is invalid.
    pub fn read(root: &Element) -> Result<Self> {
        // Without one the resource itself is meant.
        let path = only_path(root)?.unwrap_or_default();
        Ok(Self { path, revision: only_revision(root, "revision") })
    }
}

/// `get-locks-report`: the depth. Only infinity in clients before 1.7.
#[must_use]
pub fn locks_depth(root: &Element) -> Depth {
    match root.attribute("depth") {
        Some(word) => Depth::from_word(word.as_bytes()),
        None => Depth::Infinity,
    }
}

/// `dated-rev-report`: the date.
///
/// # Errors
/// When there is no valid date.
pub fn dated_rev(root: &Element) -> Result<&str> {
    root.child(crate::NS_DAV, "creationdate")
        .map(Element::trimmed)
        .ok_or(Error::Element("creationdate"))
}

/// Which parts of an entry a listing has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListFields {
    /// File or directory.
    pub kind: bool,
    /// A file's length.
    pub size: bool,
    /// Whether there are properties.
    pub has_props: bool,
    /// The revision of the last change.
    pub created_rev: bool,
    /// Its date.
    pub date: bool,
    /// Its author.
    pub author: bool,
}

/// `list-report`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// The relative path.
    pub path: String,
    /// The revision; none for the youngest.
    pub revision: Option<Revnum>,
    /// The depth.
    pub depth: Depth,
    /// Glob patterns of names; none for all names.
    pub patterns: Option<Vec<String>>,
    /// The fields to send.
    pub fields: ListFields,
}

impl List {
    /// Reads it.
    ///
    /// # Errors
    /// For missing or invalid elements.
    pub fn read(root: &Element) -> Result<Self> {
        let mut list = Self {
            path: only_path(root)?.ok_or(Error::Element("path"))?,
            revision: None,
            depth: Depth::Unknown,
            patterns: None,
            fields: ListFields::default(),
        };
        for (name, element) in parts(root) {
            match name {
                "revision" => list.revision = revision(element),
                "depth" => list.depth = Depth::from_word(element.trimmed().as_bytes()),
                "no-patterns" => list.patterns = Some(Vec::new()),
                "pattern" => {
                    list.patterns.get_or_insert_default().push(element.text.clone());
                }
                "prop" => {
                    let fields = &mut list.fields;
                    match element.trimmed() {
                        "DAV:resourcetype" => fields.kind = true,
                        "DAV:getcontentlength" => fields.size = true,
                        "http://subversion.tigris.org/xmlns/dav/deadprop-count" => {
                            fields.has_props = true;
                        }
                        "DAV:version-name" => fields.created_rev = true,
                        "DAV:creationdate" => fields.date = true,
                        "DAV:creator-displayname" => fields.author = true,
                        "DAV:allprop" => {
                            *fields = ListFields {
                                kind: true,
                                size: true,
                                has_props: true,
                                created_rev: true,
                                date: true,
                                author: true,
                            };
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::{Document, Limits};

    fn root(inner: &str) -> Element {
        let text = format!("<S:x xmlns:S=\"svn:\" xmlns:D=\"DAV:\">{inner}</S:x>");
        Document::open(text.as_bytes(), Limits::default()).unwrap().into_root().unwrap()
    }

    #[test]
    fn a_log() {
        let log = Log::read(&root(
            "<S:start-revision>12</S:start-revision><S:end-revision>0</S:end-revision>\
             <S:limit>-1</S:limit><S:discover-changed-paths/><S:revprop>a b</S:revprop>\
             <S:path>trunk/x y</S:path><S:path></S:path><S:unheard-of/>",
        ))
        .unwrap();
        assert_eq!((log.start, log.end, log.limit), (Some(Revnum(12)), Some(Revnum(0)), 0));
        assert_eq!(log.paths, ["trunk/x y", ""]);
        assert_eq!(log.revprops.unwrap(), ["a b"]);
        assert!(log.changed_paths && !log.strict);
        assert!(Log::read(&root("<S:path>a/../b//</S:path>")).is_err());
        assert_eq!(Log::read(&root("")).unwrap().revprops.unwrap().len(), 3);
    }

    #[test]
    fn missing_parts() {
        assert!(Locations::read(&root("<S:path/>")).is_err());
        assert!(DeletedRev::read(&root("<S:path/><S:peg-revision>1</S:peg-revision>")).is_err());
        assert!(Replay::read(&root("<S:revision>1</S:revision>")).is_err());
        assert!(List::read(&root("<S:depth>empty</S:depth>")).is_err());
        assert!(dated_rev(&root("")).is_err());
    }

    #[test]
    fn a_listing() {
        let list = List::read(&root(
            "<S:path/><S:depth>immediates</S:depth><S:prop>DAV:allprop</S:prop>\
             <S:pattern>*.c</S:pattern>",
        ))
        .unwrap();
        assert!(list.fields.size && list.fields.author);
        assert_eq!((list.depth, list.patterns.unwrap().len()), (Depth::Immediates, 1));
    }
}
