//! The skel of a conflict: `(WHY CONFLICTS)`.
//!
//! WHY is `(operation (location location))`, a location
//! `(subversion root-url uuid repos-relpath revision kind)` or `()`. CONFLICTS holds at most one of
//!
//! - `(text (OLD MINE THEIRS))`, paths below the working copy's root, `()` where there is none;
//! - `(prop (MARKER) (NAME...) OLD-PROPS MINE-PROPS THEIR-PROPS)`, property lists, an empty atom
//!   where they are not known;
//! - `(tree () REASON ACTION [MOVE-SOURCE [MOVE-DESTINATION]])`.

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::skel::Skel;
use sapwood_core::{ErrorCode, NodeKind, PropList, Revnum};

use crate::db::{read_props, write_props};
use crate::error::{Error, Result};

/// The operation that caused the conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// An update.
    Update,
    /// A switch.
    Switch,
    /// A merge or a patch.
    Merge,
}

impl Operation {
    /// All of them, in the order of the format.
    pub const ALL: [Self; 3] = [Self::Update, Self::Switch, Self::Merge];

    /// The word in the skel, and the one for users.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Update => "update",
            Self::Switch => "switch",
            Self::Merge => "merge",
        }
    }
}

/// One of the nodes that were merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// URL of the repository's root, encoded.
    pub root: String,
    /// The repository's UUID.
    pub uuid: Option<String>,
    /// The path in the repository.
    pub relpath: RelPathBuf,
    /// The revision; `None` is written as -1.
    pub revision: Option<Revnum>,
    /// What it is; `None` when there is nothing (`none`).
    pub kind: Option<NodeKind>,
}

/// A conflict of texts: the files that it left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextConflict {
    /// The text that both sides come from.
    pub old: Option<RelPathBuf>,
    /// The local text; `None` when the working file itself is it.
    pub mine: Option<RelPathBuf>,
    /// The incoming text.
    pub theirs: Option<RelPathBuf>,
}

/// A conflict of properties.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PropConflict {
    /// The `.prej` file.
    pub marker: Option<RelPathBuf>,
    /// Names of the properties in conflict.
    pub names: Vec<String>,
    /// All properties of the old incoming node.
    pub old: Option<PropList>,
    /// All local properties.
    pub mine: Option<PropList>,
    /// All properties of the new incoming node.
    pub theirs: Option<PropList>,
}

/// What is the matter with the local node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It was edited.
    Edited,
    /// Something else is in its place.
    Obstructed,
    /// It was deleted.
    Deleted,
    /// It is missing.
    Missing,
    /// It is not versioned.
    Unversioned,
    /// It was added.
    Added,
    /// It was replaced.
    Replaced,
    /// It was moved away.
    MovedAway,
    /// It was moved here.
    MovedHere,
}

impl Reason {
    /// All of them, in the order of the format.
    pub const ALL: [Self; 9] = [
        Self::Edited,
        Self::Obstructed,
        Self::Deleted,
        Self::Missing,
        Self::Unversioned,
        Self::Added,
        Self::Replaced,
        Self::MovedAway,
        Self::MovedHere,
    ];

    /// The word in the skel.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Edited => "edited",
            Self::Obstructed => "obstructed",
            Self::Deleted => "deleted",
            Self::Missing => "missing",
            Self::Unversioned => "unversioned",
            Self::Added => "added",
            Self::Replaced => "replaced",
            Self::MovedAway => "moved-away",
            Self::MovedHere => "moved-here",
        }
    }
}

/// What the incoming change would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Edit the node.
    Edit,
    /// Add it.
    Add,
    /// Delete it.
    Delete,
    /// Replace it.
    Replace,
}

impl Action {
    /// All of them, in the order of the format.
    pub const ALL: [Self; 4] = [Self::Edit, Self::Add, Self::Delete, Self::Replace];

    /// The word in the skel.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Edit => "edited",
            Self::Add => "added",
            Self::Delete => "deleted",
            Self::Replace => "replaced",
        }
    }
}

/// A conflict of trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeConflict {
    /// What is the matter here.
    pub reason: Reason,
    /// What was to be done.
    pub action: Action,
    /// With [`Reason::MovedAway`]: the root of the move's source.
    pub move_source: Option<RelPathBuf>,
    /// With [`Reason::MovedAway`]: the root of its destination.
    pub move_destination: Option<RelPathBuf>,
}

/// The conflict of a node. Of each kind there is at most one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conflict {
    /// What was being done; `None` where it is not known (as in skels of patches).
    pub operation: Option<Operation>,
    /// The nodes that were merged: old and new of an update, left and right of a merge.
    pub locations: Vec<Option<Location>>,
    /// The conflict of texts.
    pub text: Option<TextConflict>,
    /// The conflict of properties.
    pub prop: Option<PropConflict>,
    /// The conflict of trees.
    pub tree: Option<TreeConflict>,
}

fn malformed() -> Error {
    Error::new(ErrorCode::INCOMPLETE_DATA, "Not a conflict skel")
}

fn text_of(skel: &Skel<'_>) -> Option<String> {
    Some(std::str::from_utf8(skel.atom()?).ok()?.to_owned())
}

fn required(skel: Option<&Skel<'_>>) -> Result<String> {
    skel.and_then(text_of).ok_or_else(malformed)
}

/// A path, which must not lead out of the working copy.
fn path_of(skel: &Skel<'_>) -> Result<Option<RelPathBuf>> {
    let Some(path) = text_of(skel) else { return Ok(None) };
    let path = RelPathBuf::new(path).map_err(|_| malformed())?;
    if path.names().all(|name| name != "..") { Ok(Some(path)) } else { Err(malformed()) }
}

fn list<'s, 'a>(skel: Option<&'s Skel<'a>>) -> Result<&'s [Skel<'a>]> {
    skel.and_then(Skel::list).ok_or_else(malformed)
}

impl Conflict {
    /// A conflict that an operation between two nodes caused, still without details.
    #[must_use]
    pub fn new(operation: Operation, old: Option<Location>, new: Option<Location>) -> Self {
        Self { operation: Some(operation), locations: vec![old, new], ..Self::default() }
    }

    /// Whether no details are left.
    #[must_use]
    pub(crate) const fn is_resolved(&self) -> bool {
        self.text.is_none() && self.prop.is_none() && self.tree.is_none()
    }

    /// Reads conflict_data.
    ///
    /// # Errors
    /// `E200003` when it is not a conflict, or names a path outside of the working copy.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let skel = Skel::parse(bytes)?;
        let members = skel.list().ok_or_else(malformed)?;
        let why = list(members.first())?;
        let mut conflict = Self::default();
        if let Some(word) = why.first() {
            let word = word.atom();
            conflict.operation =
                Operation::ALL.into_iter().find(|o| Some(o.word().as_bytes()) == word);
            let locations = list(why.get(1))?.iter().map(read_location);
            let locations = locations.collect::<Result<Vec<_>>>()?;
            // Those of an operation that is not known say nothing, and could not be written again.
            if conflict.operation.is_some() {
                conflict.locations = locations;
            }
        }
        for member in list(members.get(1))? {
            let member = list(Some(member))?;
            match member.first().and_then(Skel::atom) {
                Some(b"text") => conflict.text = Some(read_text(member)?),
                Some(b"prop") => conflict.prop = Some(read_prop(member)?),
                Some(b"tree") => conflict.tree = Some(read_tree(member)?),
                // Kinds that a later program may add ("reject", "obstructed" are reserved).
                Some(_) => {}
                None => return Err(malformed()),
            }
        }
        Ok(conflict)
    }

    /// The bytes of conflict_data.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        self.write_parts([self.write_text(), self.write_prop(), self.write_tree()])
    }

    /// The same in the order in which the reference's upgrade has it.
    #[must_use]
    pub(crate) fn write_upgraded(&self) -> Vec<u8> {
        self.write_parts([self.write_tree(), self.write_prop(), self.write_text()])
    }

    /// The same with properties first: where 1.14 adds them to a conflict of texts that is recorded.
    #[must_use]
    pub(crate) fn write_prop_first(&self) -> Vec<u8> {
        self.write_parts([self.write_prop(), self.write_text(), self.write_tree()])
    }

    fn write_text(&self) -> Option<Vec<u8>> {
        self.text.as_ref().map(write_text)
    }

    fn write_prop(&self) -> Option<Vec<u8>> {
        self.prop.as_ref().map(write_prop)
    }

    fn write_tree(&self) -> Option<Vec<u8>> {
        self.tree.as_ref().map(write_tree)
    }

    fn write_parts(&self, parts: [Option<Vec<u8>>; 3]) -> Vec<u8> {
        let mut out = vec![b'('];
        self.write_why(&mut out);
        out.extend_from_slice(b" (");
        out.extend(parts.into_iter().flatten().collect::<Vec<_>>().join(&b' '));
        out.extend_from_slice(b"))");
        out
    }

    fn write_why(&self, out: &mut Vec<u8>) {
        out.push(b'(');
        if let Some(operation) = self.operation {
            out.extend_from_slice(operation.word().as_bytes());
            let locations: Vec<_> = self.locations.iter().map(write_location).collect();
            out.extend_from_slice(b" (");
            out.extend(locations.join(&b' '));
            out.push(b')');
        }
        out.push(b')');
    }

    /// The files that the conflict left beside the node, as paths below the working copy's root.
    #[must_use]
    pub fn files(&self) -> Vec<&RelPath> {
        let text = self.text.iter().flat_map(|t| [&t.old, &t.mine, &t.theirs]);
        let prop = self.prop.iter().map(|p| &p.marker);
        text.chain(prop).filter_map(|f| f.as_deref()).collect()
    }
}

fn read_location(skel: &Skel<'_>) -> Result<Option<Location>> {
    let members = list(Some(skel))?;
    if members.first().and_then(Skel::atom) != Some(b"subversion") {
        return Ok(None);
    }
    let revision = required(members.get(4))?.parse::<i64>().map_err(|_| malformed())?;
    Ok(Some(Location {
        root: required(members.get(1))?,
        uuid: members.get(2).and_then(text_of),
        relpath: RelPathBuf::new(required(members.get(3))?).map_err(|_| malformed())?,
        revision: u64::try_from(revision).ok().map(Revnum),
        kind: match members.get(5).and_then(Skel::atom) {
            Some(b"file") => Some(NodeKind::File),
            Some(b"dir") => Some(NodeKind::Dir),
            Some(_) => None,
            None => return Err(malformed()),
        },
    }))
}

fn read_text(member: &[Skel<'_>]) -> Result<TextConflict> {
    let [old, mine, theirs] = list(member.get(1))? else { return Err(malformed()) };
    Ok(TextConflict { old: path_of(old)?, mine: path_of(mine)?, theirs: path_of(theirs)? })
}

fn read_prop(member: &[Skel<'_>]) -> Result<PropConflict> {
    let [_, markers, names, old, mine, theirs] = member else { return Err(malformed()) };
    let props = |skel: &Skel<'_>| -> Result<Option<PropList>> {
        if skel.list().is_none() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        skel.write(&mut bytes);
        read_props(&bytes).map(Some)
    };
    Ok(PropConflict {
        marker: list(Some(markers))?.first().map(path_of).transpose()?.flatten(),
        names: list(Some(names))?.iter().map(|n| required(Some(n))).collect::<Result<_>>()?,
        old: props(old)?,
        mine: props(mine)?,
        theirs: props(theirs)?,
    })
}

fn read_tree(member: &[Skel<'_>]) -> Result<TreeConflict> {
    let word = |at: usize| member.get(at).and_then(Skel::atom).ok_or_else(malformed);
    let (reason, action) = (word(2)?, word(3)?);
    let path = |at: usize| member.get(at).map(path_of).transpose().map(Option::flatten);
    let known = Reason::ALL.into_iter().find(|r| r.word().as_bytes() == reason);
    let reason = known.unwrap_or(Reason::Edited);
    let moved = reason == Reason::MovedAway;
    let known = Action::ALL.into_iter().find(|a| a.word().as_bytes() == action);
    Ok(TreeConflict {
        reason,
        action: known.unwrap_or(Action::Edit),
        move_source: path(4)?.filter(|_| moved),
        move_destination: path(5)?.filter(|_| moved),
    })
}

fn bytes_of(members: Vec<Skel<'_>>) -> Vec<u8> {
    let mut out = Vec::new();
    Skel::List(members).write(&mut out);
    out
}

fn optional(text: Option<&str>) -> Skel<'_> {
    text.map_or(Skel::List(Vec::new()), |text| Skel::Atom(text.as_bytes()))
}

fn write_location(location: &Option<Location>) -> Vec<u8> {
    let Some(location) = location else { return b"()".to_vec() };
    let revision = location.revision.map_or("-1".to_owned(), |r| r.to_string());
    bytes_of(vec![
        Skel::Atom(b"subversion"),
        Skel::Atom(location.root.as_bytes()),
        optional(location.uuid.as_deref()),
        Skel::Atom(location.relpath.as_bytes()),
        Skel::Atom(revision.as_bytes()),
        Skel::Atom(location.kind.map_or("none", NodeKind::word).as_bytes()),
    ])
}

fn write_text(text: &TextConflict) -> Vec<u8> {
    let files =
        [&text.old, &text.mine, &text.theirs].map(|f| optional(f.as_deref().map(RelPath::as_str)));
    bytes_of(vec![Skel::Atom(b"text"), Skel::List(files.into())])
}

fn write_prop(prop: &PropConflict) -> Vec<u8> {
    let marker = prop.marker.iter().map(|m| Skel::Atom(m.as_bytes())).collect();
    let names = prop.names.iter().map(|n| Skel::Atom(n.as_bytes())).collect();
    let mut out = b"(prop ".to_vec();
    Skel::List(marker).write(&mut out);
    out.push(b' ');
    Skel::List(names).write(&mut out);
    for props in [&prop.old, &prop.mine, &prop.theirs] {
        out.push(b' ');
        match props {
            Some(props) => out.extend(write_props(props)),
            None => Skel::Atom(b"").write(&mut out),
        }
    }
    out.push(b')');
    out
}

fn write_tree(tree: &TreeConflict) -> Vec<u8> {
    let mut members = vec![
        Skel::Atom(b"tree"),
        Skel::List(Vec::new()),
        Skel::Atom(tree.reason.word().as_bytes()),
        Skel::Atom(tree.action.word().as_bytes()),
    ];
    if tree.reason == Reason::MovedAway {
        let paths = [&tree.move_source, &tree.move_destination];
        members.extend(paths.into_iter().flatten().map(|p| Skel::Atom(p.as_bytes())));
    }
    bytes_of(members)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn location() -> impl Strategy<Value = Option<Location>> {
        proptest::option::of(
            ("[a-z:/]{1,9}", proptest::option::of("[0-9a-f-]{1,9}"), "[a-z /]{0,9}", 0i64..9)
                .prop_map(|(root, uuid, relpath, number)| Location {
                    root,
                    uuid,
                    relpath: RelPathBuf::canonicalize(&relpath),
                    revision: u64::try_from(number.saturating_sub(1)).ok().map(Revnum),
                    kind: [None, Some(NodeKind::File), Some(NodeKind::Dir)]
                        [usize::try_from(number % 3).unwrap()],
                }),
        )
    }

    fn path() -> impl Strategy<Value = Option<RelPathBuf>> {
        proptest::option::of("[a-z]([a-z ()/.é]{0,9}[a-z])?")
            .prop_map(|path| path.map(|path| RelPathBuf::canonicalize(&path)))
            .prop_filter("inside", |p| !p.as_deref().unwrap_or_default().contains(".."))
    }

    fn props() -> impl Strategy<Value = Option<PropList>> {
        proptest::option::of(
            proptest::collection::vec(("[a-z:]{1,4}", "[a-z\n ()é]{0,9}"), 0..4)
                .prop_map(|pairs| pairs.into_iter().collect()),
        )
    }

    proptest! {
        #[test]
        fn there_and_back(
            operation in 0usize..3,
            locations in (location(), location()),
            text in proptest::option::of((path(), path(), path())),
            prop in proptest::option::of((path(), props(), props(), props())),
            tree in proptest::option::of((0usize..9, 0usize..4, path())),
        ) {
            let mut conflict =
                Conflict::new(Operation::ALL[operation], locations.0, locations.1);
            conflict.text = text.map(|(old, mine, theirs)| TextConflict { old, mine, theirs });
            conflict.prop = prop.map(|(marker, old, mine, theirs)| PropConflict {
                marker,
                names: vec!["a".into(), "b c".into()],
                old,
                mine,
                theirs,
            });
            conflict.tree = tree.map(|(reason, action, source)| TreeConflict {
                reason: Reason::ALL[reason],
                action: Action::ALL[action],
                move_source: source.filter(|_| Reason::ALL[reason] == Reason::MovedAway),
                move_destination: None,
            });
            prop_assert_eq!(Conflict::parse(&conflict.write()).unwrap(), conflict);
        }

        #[test]
        fn any_bytes(text in "[ ()a-e0-3]{0,60}") {
            let _result = Conflict::parse(text.as_bytes());
        }
    }

    #[test]
    fn as_the_reference_writes_it() {
        // Out of a wc.db after an update with 1.14.
        for bytes in [
            &b"((update ((subversion file:///r d8e6542a-c2c2-495c-9868-a598c5c86b29 f 1 1 file) \
            (subversion file:///r d8e6542a-c2c2-495c-9868-a598c5c86b29 f 1 2 file))) ((text (f.r1 \
            f.mine f.r2)) (prop (f.prej) (p) (p base) (p theirs) (p mine))))"[..],
            b"((update ((subversion file:///r d8e6542a-c2c2-495c-9868-a598c5c86b29 d 1 1 dir) \
            (subversion file:///r d8e6542a-c2c2-495c-9868-a598c5c86b29 d 1 2 none))) ((tree () \
            edited deleted)))",
        ] {
            let conflict = Conflict::parse(bytes).unwrap();
            assert_eq!(conflict.operation, Some(Operation::Update));
            assert_eq!(conflict.write(), bytes);
        }
        let unknown = Conflict::parse(b"((backdate (() ())) ())").unwrap();
        assert_eq!(unknown, Conflict::default());
        assert!(Conflict::parse(b"(() ((text (5 ../.x () ()))))").is_err());
        assert!(Conflict::parse(b"()").is_err());
    }
}
