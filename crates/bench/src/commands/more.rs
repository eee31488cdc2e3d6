//! More commands and combinations of options that are measured: what people run less often.
//!
//! The words of the lines are those of [`rows`](super::rows); a row leaves its working copy as it found it.

use super::rows::Floor;
use super::rows::Order::{Hash, NotCompared};
use super::rows::{REVERT, Row, top, w};

/// A line of each file of two folders is changed.
const CHANGE: &str = "sed -i '3s/.*/changed/' d0/*.txt d1/*.txt";
/// Files that are not versioned, in four folders.
const UNVERSIONED: &str =
    "for d in d0 d1 d2 d3; do for i in $(seq 250); do : > $d/unversioned$i; done; done";
/// What `svnmucc` reads, an argument a line: files that are put, and files that are copied.
const PUTS: &str = "(printf 'mkdir\\nputs\\n'; \
    for i in $(seq 0 199); do printf 'put\\n%s\\nputs/f%s\\n' $D/two $i; done) > y";
const COPIES: &str = "(printf 'mkdir\\ncopies\\n'; for i in $(seq 0 199); \
    do printf 'cp\\nHEAD\\ntrunk/d1/f1.txt\\ncopies/f%s\\n' $i; done) > y";

/// The rows, in the order in which they are run.
pub(super) const MORE: &[Row] = &[
    top("log -g -v", "svn log -g -v $U").before("svn up -q w").remote(),
    top("log -q --with-all-revprops --xml", "svn log -q --with-all-revprops --xml $U")
        .order(Hash)
        .remote(),
    w("log -l of a folder", "svn log -q -l 3 d1").remote(),
    w("blame -g", "svn blame -g d1/f1.txt").remote(),
    w("blame -v", "svn blame -v d1/f1.txt").remote(),
    w("diff --old --new", "svn diff --old=$U/trunk@3 --new=$U/trunk@5").remote(),
    w("diff -x -w", "svn diff -x -w").before(CHANGE).floor(Floor::Stat),
    w("diff -x -U0", "svn diff -x -U0").floor(Floor::Stat),
    w("diff --patch-compatible", "svn diff --patch-compatible").floor(Floor::Stat),
    w("diff --diff-cmd", "svn diff --diff-cmd /bin/true d0"),
    w("diff of targets", "svn diff $(cat $D/two)").after(REVERT),
    w("diff --show-copies-as-adds", "svn diff --show-copies-as-adds")
        .before("svn cp -q d1 e1")
        .after("svn revert -q -R .; rm -rf e1"),
    w("mergeinfo --show-revs -R --log", "svn mergeinfo --show-revs eligible -R --log ^/tag .")
        .remote(),
    w("merge --record-only", "svn merge -q --record-only -c4 ^/trunk")
        .before("svn up -q")
        .after(REVERT)
        .remote(),
    w("merge of two URLs", "svn merge -q --ignore-ancestry ^/trunk@5 ^/trunk@3")
        .after(REVERT)
        .remote(),
    w("merge --depth files", "svn merge -q --depth files -c-5 .").after(REVERT).remote(),
    w("switch --ignore-ancestry", "svn switch -q --ignore-ancestry ^/tag")
        .after("svn switch -q ^/trunk")
        .remote(),
    w("status of unversioned files", "svn status").before(UNVERSIONED).floor(Floor::Stat),
    w("status --no-ignore --xml", "svn status --no-ignore --xml").order(Hash).floor(Floor::Stat),
    w("cleanup --remove-unversioned", "svn cleanup --remove-unversioned").floor(Floor::Stat),
    w("status -u -v --xml", "svn status -u -v --xml").order(Hash).remote().floor(Floor::Stat),
    w("status --depth immediates", "svn status --depth immediates").floor(Floor::Start),
    w("status of targets", "svn status $(cat $D/two)").before(CHANGE),
    w("status of folders", "svn status d*").after(REVERT).floor(Floor::Stat),
    w("status of a large copy", "svn status")
        .before("svn cp -q d1 e1; svn ps -q -R p v e1")
        .after("svn revert -q -R .; rm -rf e1")
        .floor(Floor::Stat),
    w("info --show-item of targets", "svn info --show-item revision $(cat $D/two)"),
    w("proplist of targets", "svn pl -v $(cat $D/two)").before("svn ps -q -R p v d1").after(REVERT),
    w("resolve of targets", "svn resolve -q --accept working $(cat $D/two)"),
    w("info --show-item -R", "svn info --show-item revision -R"),
    w("propget --show-inherited-props", "svn pg --show-inherited-props -R r .")
        .before("svn ps -q r value .")
        .after(REVERT),
    w("proplist -v -R --xml", "svn pl -v -R --xml").before("svn ps -q -R p v .").after(REVERT),
    w("propset svn:needs-lock -R", "svn ps -q svn:needs-lock x -R d0 d1").after(REVERT),
    w("propset svn:keywords -R", "svn ps -q svn:keywords Id -R d0 d1").after(REVERT),
    w("revert of targets", "svn revert -q $(cat $D/two)").before(CHANGE),
    w("revert of missing files", REVERT).before("rm -f d0/*.txt d1/*.txt"),
    w("revert --remove-added", "svn revert -q --remove-added -R n")
        .before("rm -rf n; mkdir n; cp -r $D/src/d1 n; svn add -q n")
        .after("rm -rf n"),
    w("update of missing files", "svn up -q").before("rm -f d0/*.txt d1/*.txt").remote(),
    w("update of folders", "svn up -q d*").remote(),
    w("update --depth files", "svn up -q --depth files -r4 d0 d1").after("svn up -q").remote(),
    w("update --set-depth exclude", "svn up -q --set-depth exclude d0")
        .after("svn up -q --set-depth infinity d0")
        .remote(),
    w("resolve --accept mine-full", "svn resolve -q -R --accept mine-full d0")
        .before(
            "svn up -q -r3; for f in d0/*.txt; do echo local >> $f; done; \
             svn up -q --accept postpone",
        )
        .after(REVERT),
    w("add --auto-props", "svn add -q --auto-props n")
        .before("rm -rf n; mkdir n; cp -r $D/src/d1 n")
        .after("svn revert -q -R n; rm -rf n"),
    w("delete --force", "svn rm -q --force d0 d1 d2 d3").after(REVERT).floor(Floor::RemoveFour),
    w("move of files", "svn mv -q $(grep ^d0 $D/two | head -200) q")
        .before("svn mkdir -q q")
        .after("svn revert -q -R .; rm -rf q"),
    w("lock --force", "svn lock -q --force --targets $D/two")
        .before("svn lock -q --targets $D/two")
        .after("svn unlock -q --force --targets $D/two"),
    w("copy of a working copy to a URL", "svn cp -q -m c . $U/copied")
        .after("svn rm -q -m gone $U/copied")
        .remote(),
    w("copy of a URL to a working copy", "svn cp -q $U/trunk/d1 e1")
        .after("svn revert -q -R .; rm -rf e1")
        .remote(),
    w("patch --dry-run", "svn patch -q --dry-run --reverse-diff ../p")
        .before("svn diff -r3 > ../p"),
    w("export --native-eol", "svn export -q --native-eol LF . ../ex")
        .after("rm -rf ../ex")
        .floor(Floor::Write),
    w("shelf-diff", "svn x-shelf-diff s")
        .before("sed -i '3s/.*/changed/' d0/*.txt; svn x-shelf-save s")
        .after("svn x-shelf-drop s; svn revert -q -R .")
        .order(Hash),
    top(
        "import --no-ignore --auto-props",
        "svn import -q --no-ignore --auto-props -m i $D/src/d1 $U/imp",
    )
    .after("svn rm -q --force-log -m gone $U/imp")
    .remote(),
    top("cat of revisions", "svn cat $U/trunk/d1/f1.txt@3 $U/trunk/d1/f2.txt@4").remote(),
    top("propget -R of a URL", "svn pg -R -v p $U/trunk").order(Hash).remote(),
    top("svnlook changed --copy-info", "svnlook changed --copy-info -r2 r").floor(Floor::Start),
    top("svnlook tree --full-paths", "svnlook tree --full-paths r trunk"),
    top("svnlook proplist -v", "svnlook proplist -v r trunk/d1/f1.txt").floor(Floor::Start),
    top("svnlook diff -x -w", "svnlook diff -x -w -r4 r"),
    top("svnlook diff --no-diff-added", "svnlook diff --no-diff-added -r1 r"),
    top("svnadmin dump -r --deltas", "svnadmin dump -q --deltas -r3:5 r").order(NotCompared),
    top("svnadmin dump --incremental", "svnadmin dump -q --incremental -r3:5 r").order(NotCompared),
    top("svnadmin dump-revprops", "svnadmin dump-revprops -q r")
        .order(NotCompared)
        .floor(Floor::Start),
    top("svnadmin load --ignore-uuid", "svnadmin load -q --ignore-uuid --normalize-props rl -F d")
        .before("svnadmin dump -q r > d; rm -rf rl; svnadmin create rl")
        .after("rm -rf rl d"),
    top("svndumpfilter exclude of targets", "svndumpfilter exclude --quiet --targets paths < d")
        .before("svnadmin dump -q r > d; seq -f /trunk/d%g 4 9 > paths")
        .after("rm d paths")
        .order(NotCompared),
    top(
        "svnadmin verify --check-normalization",
        "svnadmin verify -q --check-normalization --keep-going r",
    ),
    top("svnadmin verify --metadata-only", "svnadmin verify -q --metadata-only r"),
    top("svnadmin rmlocks", "svnadmin rmlocks -q r $(sed 's,^,/trunk/,' $D/two)")
        .before("cd w; svn lock -q --targets $D/two"),
    top("svnadmin freeze", "svnadmin freeze r true").floor(Floor::Start),
    top("svnadmin build-repcache", "svnadmin build-repcache -q r")
        .order(NotCompared)
        .floor(Floor::EnterTexts),
    top("svnrdump dump --incremental", "svnrdump dump -q --incremental -r4:5 $U")
        .order(NotCompared)
        .remote(),
    top("svnsync copy-revprops", "svnsync copy-revprops -q file://$PWD/rs")
        .before(
            "rm -rf rs; svnadmin create rs; cp $D/base/hooks/pre-revprop-change rs/hooks/; \
             svnsync init -q file://$PWD/rs $U; svnsync sync -q file://$PWD/rs",
        )
        .after("rm -rf rs"),
    top("svnmucc put", "svnmucc -m x -U $U -X y")
        .before(PUTS)
        .after("svnmucc -m y -U $U rm puts")
        .remote(),
    top("svnmucc cp", "svnmucc -m x -U $U -X y")
        .before(COPIES)
        .after("svnmucc -m y -U $U rm copies; rm y")
        .remote(),
    w("svnversion -c", "svnversion -c").floor(Floor::Stat),
];
