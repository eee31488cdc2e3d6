//! Made-up commits, and what each kind of rule says of them.

use sapwood_core::SvnResult;

use super::*;

/// A commit that a test makes up.
#[derive(Default)]
struct Example {
    user: Option<&'static str>,
    message: &'static str,
    /// Paths with `A`, `M`, `D` or `R`, and the size of a file.
    changes: Vec<(&'static str, char, Option<u64>)>,
    before: Vec<&'static str>,
    properties: Vec<(&'static str, &'static str)>,
    /// All paths after the commit.
    after: Vec<&'static str>,
    bytes: u64,
}

impl Commit for Example {
    fn repository(&self) -> &str {
        "game"
    }

    fn user(&self) -> Option<&str> {
        self.user
    }

    fn is_in_group(&self, group: &str) -> bool {
        group == "group:admins" && self.user == Some("root")
    }

    fn message(&self) -> &str {
        self.message
    }

    fn changes(&self, visit: &mut dyn FnMut(Change<'_>) -> SvnResult<()>) -> SvnResult<()> {
        for (path, kind, size) in &self.changes {
            visit(Change {
                path: FsPath::new(path).unwrap(),
                is_new: matches!(kind, 'A' | 'R'),
                is_gone: matches!(kind, 'D' | 'R'),
                is_file: size.is_some(),
            })?;
        }
        Ok(())
    }

    fn was_there(&self, path: &FsPath) -> SvnResult<bool> {
        Ok(self.before.contains(&path.as_str()))
    }

    fn size(&self, path: &FsPath) -> SvnResult<u64> {
        let found = self.changes.iter().find(|(own, ..)| *own == path.as_str());
        Ok(found.and_then(|(_, _, size)| *size).unwrap())
    }

    fn repository_size(&self) -> SvnResult<u64> {
        Ok(self.bytes)
    }

    fn has_property(&self, path: &FsPath, name: &str) -> SvnResult<bool> {
        Ok(self.properties.contains(&(path.as_str(), name)))
    }

    fn names(&self, directory: &FsPath, visit: &mut dyn FnMut(&str)) -> SvnResult<()> {
        for path in &self.after {
            let (parent, name) = FsPath::new(path).unwrap().parent_and_name();
            if parent == directory {
                visit(name);
            }
        }
        Ok(())
    }
}

/// Why a rule with these lines refuses a commit; empty if it does not.
fn said(lines: &str, commit: &Example) -> String {
    let text = format!("format = 1\n[[rule]]\nname = 'r'\n{lines}\n");
    let rules = Rules::parse("r", &text).unwrap();
    assert!(rules.has_rules_for_commits("game") || lines.contains("repositories"));
    rules.check(commit).unwrap().map_or(String::new(), |refusal| refusal.why)
}

fn changes(changes: &[(&'static str, char, Option<u64>)]) -> Example {
    Example { changes: changes.to_vec(), ..Example::default() }
}

#[test]
fn quotas() {
    let of = |bytes| Example { bytes, ..changes(&[("/trunk/a", 'A', Some(1))]) };
    assert_eq!(said("repository-size = '2K'", &of(2048)), "");
    let full = "The repository is full: it may have 2K.";
    assert_eq!(said("repository-size = '2K'", &of(2049)), full);
    assert_eq!(said("repository-size = '2K'\npaths = ['/tags/**']", &of(9999)), "");
    let root = Example { user: Some("root"), ..of(9999) };
    assert_eq!(said("repository-size = 0\nexcept = ['group:admins']", &root), "");
}

#[test]
fn messages() {
    let with = |message| Example { message, ..changes(&[("/trunk/a", 'M', Some(1))]) };
    let ticket = "message = '^[A-Z]+-[0-9]+: '\nsay = 'Begin with a ticket.'";
    assert_eq!(said(ticket, &with("GAME-7: more")), "");
    let refused = said(ticket, &with("more, as GAME-7 says"));
    assert!(refused.ends_with("'^[A-Z]+-[0-9]+: '.\nBegin with a ticket."), "{refused}");
    assert_eq!(said("message-length = 3", &with(" é é ")), "");
    assert!(said("message-length = 4", &with(" é é ")).contains("less than 4"));
}

#[test]
fn a_rule_is_about_what_it_names() {
    let commit = Example { user: Some("ada"), ..changes(&[("/trunk/a", 'M', Some(1))]) };
    let root = Example { user: Some("root"), ..changes(&[("/trunk/a", 'M', Some(1))]) };
    let is_refused = |lines: &str, commit: &Example| {
        !said(&format!("message-length = 1\n{lines}"), commit).is_empty()
    };
    assert!(is_refused("", &commit));
    assert!(is_refused("repositories = ['x', 'g*']", &commit));
    assert!(!is_refused("repositories = ['x']", &commit));
    assert!(is_refused("paths = ['/trunk/**']", &commit));
    assert!(!is_refused("paths = ['/tags/**']", &commit));
    assert!(!is_refused("except = ['bob', 'ada']", &commit));
    let admins = "except = ['group:admins']";
    assert!(is_refused(admins, &commit) && !is_refused(admins, &root));
    assert!(is_refused("except = ['']", &changes(&[("/a", 'M', Some(1))])), "anonymous");
}

#[test]
fn sizes_and_numbers() {
    let commit = changes(&[
        ("/a", 'A', Some(1024)),
        ("/b", 'M', Some(1025)),
        ("/c", 'D', None),
        ("/d", 'R', Some(9000)),
    ]);
    assert_eq!(said("file-size = 9000", &commit), "");
    assert_eq!(said("file-size = '1K'", &commit), "A file may have 1K: /b, /d");
    assert_eq!(said("changed-paths = 4", &commit), "");
    assert!(said("changed-paths = 3", &commit).contains("4 paths"));
    let many: Vec<_> = ["/1", "/2", "/3", "/4", "/5", "/6", "/7"].map(|p| (p, 'A', Some(9))).into();
    assert!(said("file-size = 1", &changes(&many)).ends_with("/5, and 2 more"));
}

#[test]
fn names() {
    let commit = changes(&[
        ("/x/Thumbs.db", 'A', Some(1)),
        ("/x/old.exe", 'M', Some(1)),
        ("/x/new.exe", 'A', Some(1)),
        ("/x/gone.exe", 'D', None),
    ]);
    let refused = said("forbidden-names = ['*.exe', 'Thumbs.db']", &commit);
    assert!(refused.ends_with(": /x/Thumbs.db, /x/new.exe"), "{refused}");
    let clash = |new: &'static str, after: &[&'static str]| {
        let commit = Example { after: after.to_vec(), ..changes(&[(new, 'A', Some(1))]) };
        !said("distinct-names = true", &commit).is_empty()
    };
    assert!(!clash("/d/a", &["/d/a", "/d/b", "/A"]));
    assert!(clash("/d/README", &["/d/README", "/d/Readme"]));
    assert!(clash("/d/\u{e9}", &["/d/\u{e9}", "/d/e\u{301}"]));
    assert!(!clash("/d/e", &["/d/e", "/d/\u{e9}"]), "an accent is a difference");
    assert!(clash("/D", &["/D", "/d"]), "at the top");
}

#[test]
fn what_is_protected_can_be_made_and_stays() {
    let refused = |change: &[(&'static str, char, Option<u64>)]| {
        let commit =
            Example { before: vec!["/", "/tags", "/tags/1", "/tags/1/a"], ..changes(change) };
        !said("protected = true\npaths = ['/tags/*']", &commit).is_empty()
    };
    assert!(!refused(&[("/tags/2", 'A', None), ("/tags/2/a", 'M', Some(1))]), "made and mended");
    assert!(!refused(&[("/trunk/a", 'M', Some(1)), ("/trunk", 'D', None)]));
    assert!(!refused(&[("/tags", 'M', None)]), "a property of the folder of tags");
    for change in [
        ("/tags/1", 'M', None),
        ("/tags/1", 'D', None),
        ("/tags/1", 'R', None),
        ("/tags/1/a", 'M', Some(1)),
        ("/tags/1/b", 'A', Some(1)),
        ("/tags/1/a", 'D', None),
        ("/tags", 'D', None),
        ("/tags", 'R', None),
    ] {
        assert!(refused(&[change]), "{change:?}");
    }
}

#[test]
fn properties_of_files() {
    let rule = "required-properties = { '*.psd' = ['svn:needs-lock'], '*.sh' = ['svn:executable', 'owner'] }";
    let commit = Example {
        properties: vec![("/a.psd", "svn:needs-lock"), ("/c.sh", "owner")],
        ..changes(&[
            ("/a.psd", 'A', Some(1)),
            ("/b.psd", 'M', Some(1)),
            ("/c.sh", 'A', Some(1)),
            ("/d.psd", 'A', None),
            ("/e.psd", 'D', None),
        ])
    };
    assert_eq!(
        said(rule, &commit),
        "A file '*.psd' needs the property svn:needs-lock: /b.psd\n\
         A file '*.sh' needs the property svn:executable: /c.sh"
    );
}

#[test]
fn who_may_change_properties_of_revisions() {
    let rules = Rules::parse(
        "r",
        "format = 1\n[[revision-properties]]\nnames = ['svn:log', 'x:*']\nusers = ['author', 'group:admins']\n\
         [[revision-properties]]\nnames = ['*']\nusers = ['root']\nrepositories = ['game*']\n",
    )
    .unwrap();
    let may = |name, user, groups: &[&str], author| {
        let groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
        let request = RevpropRequest { repository: "game", name, user, groups: &groups, author };
        rules.may_change_revprop(&request)
    };
    assert!(
        may("svn:log", Some("ada"), &[], Some("ada")) && may("x:y", Some("ada"), &[], Some("ada"))
    );
    assert!(may("svn:log", Some("bob"), &["group:admins"], Some("ada")));
    assert!(may("svn:author", Some("root"), &[], Some("ada")));
    assert!(!may("svn:log", Some("bob"), &["group:devs"], Some("ada")));
    assert!(!may("svn:author", Some("ada"), &[], Some("ada")));
    assert!(!may("svn:log", None, &[], None), "no user is the author of a revision without one");
    assert!(!may("svn:log", Some("author"), &[], Some("ada")));
}
