//! Moves that meet incoming changes, and how their conflicts are settled, by ours and by the reference.

use crate::common::sides;

use sides::compare;

/// A tree, and a second revision of it that `wc` has not yet: texts and properties changed, a file and
/// a directory gone, others new, a file that became a directory.
const START: &str = r"
mkdir -p A/B/E A/C; for f in A/f A/B/g A/B/E/h A/B/E/i A/C/j A/C/k; do printf 'a\nb\nc\nd\ne\n' > $f; done
svn add -q A
svn ps -q p v A/B/E
svn ps -q p v A/f
svn ci -q -m one
svn up -q
svn up -q ../wc2
sed -i 's/^a$/A/' ../wc2/A/f ../wc2/A/B/g ../wc2/A/B/E/h ../wc2/A/C/j
svn ps -q p w ../wc2/A/B/E
svn ps -q p w ../wc2/A/f
svn rm -q ../wc2/A/B/E/i
mkdir ../wc2/A/B/E/new; echo n > ../wc2/A/B/E/new/n; svn add -q ../wc2/A/B/E/new
svn rm -q ../wc2/A/C/k
mkdir ../wc2/A/C/k
svn add -q ../wc2/A/C/k
svn ci -q -m two ../wc2
";

fn run(steps: &str) {
    compare(&format!("{START}{steps}"));
}

#[test]
fn a_moved_file_follows() {
    run(r"
= mv A/f A/moved
= up --accept postpone
= resolve --accept theirs-full A/f
= resolve --accept mine-conflict A/f
svn st
svn ci -q -m moved
");
}

#[test]
fn a_moved_directory_follows() {
    run(r"
= mv A/B/E E
= up --accept postpone
= resolve --accept mine-conflict A/B/E
svn st
= revert -R E
= mv A/C C
svn st
");
}

#[test]
fn local_changes_at_the_destination() {
    run(r"
= mv A B
printf 'x\nb\nc\nd\ne\n' > B/f; sed -i 's/^e$/E/' B/B/g; echo u > B/B/E/new
svn ps -q p x B/f
svn rm -q B/B/E/h
sed -i 's/^e$/E/' B/B/E/i
= up --accept postpone
= resolve --accept mine-conflict A
svn st
= resolve --accept working -R B
svn st
");
}

#[test]
fn what_is_here_is_accepted() {
    run(r"
= mv A/B/E E
= mv A/f A/C/f
= up --accept postpone
= resolve --accept working A/B/E A/f
svn st
");
}

#[test]
fn moved_out_of_a_deleted_directory() {
    run(r"
= mv A/B/E E
= rm -q A/B
= up --accept postpone
= resolve --accept mine-conflict A/B
svn st
= resolve --accept mine-conflict A/B/E
svn st
");
}

#[test]
fn all_at_once() {
    run(r"
= mv A/B/E E
= mv A/C/j j
= rm -q A/B
= rm -q A/C
= up --accept postpone
= resolve -R --accept mine-conflict .
svn st
");
}

#[test]
fn a_deletion_with_a_move_is_reverted() {
    run(r"
= mv A/B/E E
= rm -q A/B
= up --accept postpone
= revert --depth empty A/B
svn st
= resolve --accept mine-conflict A/B/E
svn st
");
}

#[test]
fn texts_and_properties() {
    run(r"
printf 'x\nb\nc\nd\ne\n' > A/f; printf 'x\nb\nc\nd\ne\n' > A/B/g; printf 'x\nb\nc\nd\nE\n' > A/C/j
svn ps -q p x A/f
svn ps -q p x A/B/E
echo i >> A/B/E/i
= up --accept postpone
= resolve --accept base A/f
= resolve --accept mine-full A/B/g
= resolve --accept theirs-conflict A/C/j
= resolve --accept theirs-full A/B/E
= resolve --accept mine-full A/B/E/i
= resolve --accept working A/B/E/i
= resolve --accept working A
= resolve --accept working nothing
= resolved A/f
svn st
");
}
