//! The commands that are measured, each a line of shell.
//!
//! `$U` is the URL of the repository of many files, `$B` that of the large ones, `$D` the folder that all systems read
//! from, `$N` the number of the run. Working folders are below the folder of a system: `w` is a working copy of many files,
//! `wb` one of large files, `r` and `big` the repositories. A row leaves its working copy as it found it.

/// How a repository is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// In the client's process.
    File,
    /// By `svnserve`.
    Svn,
    /// By our http server, or httpd.
    Http,
}

impl Wire {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::File, Self::Svn, Self::Http];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Svn => "svn",
            Self::Http => "http",
        }
    }
}

/// The calls to the kernel that a row cannot do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Floor {
    /// A program that does nothing, started from a shell as each row is.
    Start,
    /// A `stat` a file.
    Stat,
    /// Each file written once.
    Write,
    /// Each file written twice, to the working copy and its store.
    WriteTwice,
    /// One change of wc.db with a row for each file.
    Rows,
    /// One change of wc.db with a row for each file of four directories.
    RowsOfFour,
    /// The same, and these files removed.
    RemoveFour,
    /// A large file read.
    ReadLarge,
    /// A large file read, and its MD5 computed, by which each text is checked that leaves a repository.
    SumLarge,
    /// A large file read and written.
    CopyLarge,
    /// The files of the repository copied.
    CopyRepository,
    /// The rows of two databases of equal texts counted.
    CountTwice,
    /// Each row of a database of equal texts entered where it is.
    EnterTexts,
}

/// How the outputs of both systems are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// They must be the same.
    Promised,
    /// Lines, and words of XML, come in the order of a hash table of the reference.
    Hash,
    /// They name what differs by nature: sizes of databases, numbers of our own formats.
    NotCompared,
}

/// A command that is measured.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its name in the table.
    pub name: &'static str,
    /// The working folder, below the folder of a system.
    pub(super) folder: &'static str,
    pub(super) before: &'static str,
    pub(super) command: &'static str,
    pub(super) after: &'static str,
    /// Whether a server takes part.
    pub(super) remote: bool,
    pub(super) order: Order,
    pub(super) floor: Option<Floor>,
}

impl Row {
    pub(super) const fn before(mut self, line: &'static str) -> Self {
        self.before = line;
        self
    }

    pub(super) const fn after(mut self, line: &'static str) -> Self {
        self.after = line;
        self
    }

    pub(super) const fn remote(mut self) -> Self {
        self.remote = true;
        self
    }

    pub(super) const fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    pub(super) const fn floor(mut self, floor: Floor) -> Self {
        self.floor = Some(floor);
        self
    }

    /// Whether the row is measured over a wire: one without a server only once.
    #[must_use]
    pub fn is_on(&self, wire: Wire) -> bool {
        self.remote || wire == Wire::File
    }
}

const fn row(name: &'static str, folder: &'static str, command: &'static str) -> Row {
    Row {
        name,
        folder,
        before: "",
        command,
        after: "",
        remote: false,
        order: Order::Promised,
        floor: None,
    }
}

/// A row in the working copy of many files.
pub(super) const fn w(name: &'static str, command: &'static str) -> Row {
    row(name, "w", command)
}

/// A row in the folder of the system.
pub(super) const fn top(name: &'static str, command: &'static str) -> Row {
    row(name, ".", command)
}

/// A row in the working copy of large files.
const fn big(name: &'static str, command: &'static str) -> Row {
    row(name, "wb", command)
}

pub(super) const REVERT: &str = "svn revert -q -R .";
const CHANGE_LARGE: &str = "sed -i \"1000s/.*/changed $N/\" text.txt; printf $N | dd of=bin.bin bs=1 seek=999 conv=notrunc 2>/dev/null";
use Order::{Hash, NotCompared};

/// The rows of the commands that people run most, and of large files.
pub(super) const ROWS: &[Row] = &[
    top("checkout", "svn co -q $U/trunk wx").after("rm -rf wx").remote().floor(Floor::WriteTwice),
    top("checkout sparse", "svn co -q --depth immediates $U/trunk wx").after("rm -rf wx").remote(),
    top("export URL", "svn export -q $U/trunk ex").after("rm -rf ex").remote().floor(Floor::Write),
    w("export", "svn export -q . ../ex").after("rm -rf ../ex").floor(Floor::Write),
    w("export -r BASE", "svn export -q -r BASE . ../ex").after("rm -rf ../ex").floor(Floor::Write),
    w("status", "svn status").floor(Floor::Stat),
    w("status -v", "svn status -v").floor(Floor::Stat),
    w("status -v --xml", "svn status -v --xml").order(Hash).floor(Floor::Stat),
    w("status -u", "svn status -u").remote().floor(Floor::Stat),
    w("svnversion", "svnversion").floor(Floor::Stat),
    w("info -R", "svn info -R"),
    w("info -R --xml", "svn info -R --xml").order(Hash),
    w("info targets", "svn info --targets $D/half")
        .floor(Floor::Stat),
    w("update, nothing new", "svn up -q").remote(),
    w("update back", "svn up -q -r3").before("svn up -q").after("svn up -q").remote(),
    w("update targets", "svn up -q $(cat $D/two)").remote(),
    w("update --set-depth", "svn up -q --set-depth empty d0 d1 d2 d3")
        .before("svn up -q --set-depth infinity")
        .after("svn up -q --set-depth infinity d0 d1 d2 d3")
        .remote(),
    w("update with externals", "svn up -q")
        .before("svn ps -q svn:externals '^/tag/d0 x0\n^/tag/d1 x1\n^/tag/d2 x2' .; rm -rf x0 x1 x2")
        .after("svn revert -q .; rm -rf x0 x1 x2; svn cleanup")
        .remote(),
    w("switch", "svn switch -q ^/tag")
        .before("svn switch -q ^/trunk")
        .after("svn switch -q ^/trunk")
        .remote(),
    w("relocate", "svn relocate $U $U")
        .floor(Floor::Rows),
    w("add", "svn add -q n")
        .before("rm -rf n; mkdir n; cp -r $D/src/d1 $D/src/d2 n/")
        .after("svn revert -q -R n; rm -rf n"),
    w("mkdir many", "svn mkdir -q m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11 m12")
        .after("svn revert -q -R .; rm -rf m*"),
    w("propset -R", "svn ps -q -R p v .").after(REVERT),
    w("propset targets", "svn ps -q p v --targets $D/half").after(REVERT),
    w("propdel -R", "svn pd -q -R p .").before("svn ps -q -R p v .").after(REVERT),
    w("proplist -R", "svn pl -v -R .").before("svn ps -q -R p v d1").after(REVERT),
    w("propget -R", "svn pg -R p .").before("svn ps -q -R p v d1").after(REVERT),
    w("propget -R --xml", "svn pg -R --xml p .").before("svn ps -q -R p v d1").after(REVERT),
    w("changelist -R", "svn cl -q -R c .").after("svn cl -q -R --remove .")
        .floor(Floor::Rows),
    w("changelist --remove -R", "svn cl -q -R --remove .").before("svn cl -q -R c .")
        .floor(Floor::Rows),
    w("changelist targets", "svn cl -q c --targets $D/two").after("svn cl -q -R --remove ."),
    w("status by changelist", "svn st --cl c")
        .before("svn cl -q c --targets $D/two")
        .after("svn cl -q -R --remove ."),
    w("copy folder", "svn cp -q d1 e1").after("svn revert -q -R .; rm -rf e1"),
    w("move folders", "svn mv -q d0 d1 d2 d3 m")
        .before("svn mkdir -q m")
        .after("svn revert -q -R .; rm -rf m"),
    w("delete folders", "svn rm -q d0 d1 d2 d3").after(REVERT)
        .floor(Floor::RemoveFour),
    w("delete targets", "svn rm -q --targets $D/two").after(REVERT),
    w("delete --keep-local", "svn rm -q --keep-local d0 d1 d2 d3").after(REVERT)
        .floor(Floor::RowsOfFour),
    w("revert deleted", REVERT).before("svn rm -q d0 d1 d2 d3"),
    w("revert properties", REVERT).before("svn ps -q -R p v ."),
    w("diff, nothing changed", "svn diff").floor(Floor::Stat),
    w("diff of properties", "svn diff").before("svn ps -q -R p v .").after(REVERT),
    w("diff of texts", "svn diff").before("sed -i '3s/.*/changed/' d0/*.txt d1/*.txt")
        .floor(Floor::Stat),
    w("diff --git", "svn diff --git")
        .floor(Floor::Stat),
    w("diff --summarize", "svn diff --summarize")
        .floor(Floor::Stat),
    w("diff --summarize --xml", "svn diff --summarize --xml").order(Hash).after(REVERT)
        .floor(Floor::Stat),
    w("diff after moves", "svn diff --summarize")
        .before("svn mkdir -q m; svn mv -q d0 d1 d2 d3 m")
        .after("svn revert -q -R .; rm -rf m"),
    w("diff -r", "svn diff -r3").remote(),
    w("diff URL URL", "svn diff $U/trunk@3 $U/trunk").remote(),
    w("diff -c URL", "svn diff -c4 $U").remote(),
    w("patch", "svn patch -q --reverse-diff ../p").before("svn diff -r3 > ../p").after(REVERT),
    w("shelve", "svn x-shelve -q s")
        .before("sed -i '3s/.*/changed/' d0/*.txt d1/*.txt")
        .after("svn x-shelf-drop s; svn revert -q -R .")
        .order(NotCompared),
    w("unshelve", "svn x-unshelve -q s")
        .before("sed -i '3s/.*/changed/' d0/*.txt d1/*.txt; svn x-shelve -q s")
        .after("svn x-shelf-drop s; svn revert -q -R .")
        .order(NotCompared),
    w("merge", "svn merge -q -c-5 .").after(REVERT).remote(),
    w("merge -r", "svn merge -q -r5:3 .").after(REVERT).remote(),
    w("merge --dry-run", "svn merge --dry-run -c-5 .").remote(),
    w("merge, nothing new", "svn merge -q ^/tag").after(REVERT).remote(),
    w("mergeinfo", "svn mergeinfo ^/tag .").remote(),
    w("resolve -R", "svn resolve -q -R --accept working ."),
    w("cleanup", "svn cleanup").floor(Floor::Stat),
    w("cleanup --vacuum-pristines", "svn cleanup --vacuum-pristines").floor(Floor::Stat),
    w("lock", "svn lock -q --targets $D/two").after("svn unlock -q --targets $D/two"),
    w("unlock", "svn unlock -q --targets $D/two").before("svn lock -q --targets $D/two"),
    w("commit of properties", "svn ci -q -m kk").before("svn ps -q p v$N --targets $D/two").remote(),
    w("commit of texts", "svn ci -q -m kk")
        .before("for f in d1/*.txt; do echo $N >> $f; done")
        .remote(),
    w("commit of moves", "svn ci -q -m kk")
        .before("svn up -q; svn mv -q d3 d3x")
        .after("svn mv -q d3x d3; svn ci -q -m back; svn up -q")
        .remote(),
    w("cat many", "svn cat $(cat $D/two)"),
    top("cat URL", "svn cat $U/trunk/d1/f1.txt").remote(),
    w("blame", "svn blame d1/f1.txt").remote(),
    w("blame -r --xml", "svn blame -r2:5 --xml d1/f1.txt").order(Hash).remote(),
    w("log -v", "svn log -v -r1:5 $U").remote(),
    w("log -v --xml", "svn log -v --xml -r1:5 $U").order(Hash).remote(),
    w("log of ranges", "svn log -c 2,4 -c 1 d1").remote(),
    w("log --search", "svn log -v --search 'f1*' -r 1:5 $U").remote(),
    w("log --diff", "svn log --diff -r4 $U").remote(),
    top("list -R", "svn ls -R $U/trunk").remote(),
    top("list -v -R", "svn ls -v -R $U/trunk").remote(),
    top("list --xml -R", "svn ls --xml -R $U/trunk").order(Hash).remote(),
    top("list --search", "svn ls -R --search 'f1*' $U/trunk").remote(),
    top("proplist -R URL", "svn pl -v -R $U/trunk").order(Hash).remote(),
    top("info -R URL", "svn info -R $U/trunk").order(Hash).remote(),
    top("import", "svn import -q -m i $D/src $U/imp")
        .after("svn rm -q --force-log -m gone $U/imp")
        .remote(),
    top("svnmucc mkdir", "svnmucc -m x -U $U -X $D/mk")
        .after("svnmucc -m y -U $U $(seq -f 'rm q%g' 0 1999)")
        .remote(),
    top("svnlook tree", "svnlook tree r"),
    top("svnlook changed", "svnlook changed -r1 r"),
    top("svnlook diff", "svnlook diff -r4 r"),
    top("svnlook dirs-changed", "svnlook dirs-changed -r1 r"),
    top("svnlook history", "svnlook history r trunk/d1")
        .floor(Floor::Start),
    top("svnadmin verify", "svnadmin verify -q r"),
    top("svnadmin dump", "svnadmin dump -q r").order(NotCompared),
    top("svnadmin dump --deltas", "svnadmin dump -q --deltas r").order(NotCompared),
    top("svnadmin load", "svnadmin load -q rl -F d")
        .before("svnadmin dump -q r > d; rm -rf rl; svnadmin create rl")
        .after("rm -rf rl d"),
    top("svndumpfilter", "svndumpfilter include --quiet trunk < d")
        .before("svnadmin dump -q r > d")
        .after("rm d")
        .order(NotCompared),
    top("svnadmin hotcopy", "svnadmin hotcopy -q r rh").before("rm -rf rh")
        .floor(Floor::CopyRepository),
    top("svnadmin hotcopy --incremental", "svnadmin hotcopy -q --incremental r rh")
        .floor(Floor::CountTwice),
    top("svnadmin pack", "svnadmin pack -q rp").before("rm -rf rp; cp -a r rp"),
    top("svnadmin upgrade", "svnadmin upgrade ru")
        .before("rm -rf ru; svnadmin create --compatible-version 1.8 ru")
        .floor(Floor::Start),
    top("svnadmin lslocks", "svnadmin lslocks r").floor(Floor::Start),
    top("svnadmin recover", "svnadmin recover r")
        .floor(Floor::Start),
    top("svnadmin setlog", "svnadmin setlog r -r1 --bypass-hooks msg")
        .before("echo m > msg")
        .floor(Floor::Start),
    top("svnfsfs stats", "svnfsfs stats r").order(NotCompared),
    top("svnfsfs dump-index", "svnfsfs dump-index -r1 r").order(NotCompared),
    top("svnrdump dump", "svnrdump dump -q $U").order(NotCompared).remote(),
    top("svnrdump load", "svnrdump load -q file://$PWD/rl < d")
        .before(
            "svnadmin dump -q --deltas r > d; rm -rf rl; svnadmin create rl; \
             cp $D/base/hooks/pre-revprop-change rl/hooks/",
        )
        .after("rm -rf rl d"),
    top("svnsync", "svnsync sync -q file://$PWD/rs")
        .before(
            "rm -rf rs; svnadmin create rs; cp $D/base/hooks/pre-revprop-change rs/hooks/; \
             svnsync init -q file://$PWD/rs $U",
        )
        .after("rm -rf rs"),
    big("add large", "svn add -q text.txt bin.bin")
        .before("svn revert -q text.txt bin.bin; cp $D/text.txt $D/bin.bin ."),
    big("commit large", "svn ci -q -m one")
        .before("[ \"$N\" = 0 ] || { echo $N >> text.txt; echo $N >> bin.bin; }")
        .floor(Floor::CopyLarge),
    big("status of large", "svn status").before("touch *.*").floor(Floor::ReadLarge),
    big("diff of large text", "svn diff text.txt").before(CHANGE_LARGE),
    big("diff of large binary", "svn diff bin.bin"),
    big("diff --summarize of large", "svn diff --summarize"),
    big("revert large", REVERT).before(CHANGE_LARGE).floor(Floor::CopyLarge),
    big("commit of little", "svn ci -q -m two").before(CHANGE_LARGE).remote(),
    big("update large", "svn up -q")
        .before("svn up -q -r1")
        .remote()
        .floor(Floor::CopyLarge),
    // The reference needs minutes for it: it is stopped, and its exit code is a mark.
    big("merge large", "timeout -s KILL 60 svn merge -q -c-2 .")
        .before("svn up -q")
        .after("svn cleanup; svn revert -q -R ."),
    big("patch large", "svn patch -q ../p")
        .before("svn revert -q -R .; sed -i '1000s/.*/changed/' text.txt; svn diff text.txt > ../p; svn revert -q text.txt")
        .after(REVERT),
    top("checkout large", "svn co -q $B wbx").after("rm -rf wbx").remote().floor(Floor::CopyLarge),
    top("cat large", "svn cat $B/bin.bin").remote().floor(Floor::SumLarge),
    top("blame large", "svn blame $B/text.txt").remote(),
    top("blame --force large", "svn blame --force $B/bin.bin").remote(),
    top("diff -r large URL", "svn diff -r1:2 $B").remote(),
    top("import large", "svn import -q -m i $D/bin.bin $B/imp$N.bin").remote(),
    top("svnmucc put large", "svnmucc -m p put $D/bin.bin $B/mucc.bin").remote(),
    top("svnlook cat large", "svnlook cat big bin.bin").floor(Floor::SumLarge),
    top("svnlook diff large", "svnlook diff -r2 big").floor(Floor::SumLarge),
    top("svnadmin verify large", "svnadmin verify -q -M 16 big").floor(Floor::SumLarge),
    top("svnadmin dump large", "svnadmin dump -q -M 16 big").order(NotCompared)
        .floor(Floor::SumLarge),
    top("svnadmin load large", "svnadmin load -q -M 16 rl -F d")
        .before("svnadmin dump -q big > d; rm -rf rl; svnadmin create rl")
        .after("rm -rf rl d"),
    top("svnrdump dump large", "svnrdump dump -q $B").order(NotCompared).remote(),
];
