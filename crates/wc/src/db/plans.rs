//! The query plans of all statements of this crate: none goes through a whole table, or through a whole
//! index, unless it is named here with its reason. The statements are taken out of the source files,
//! so that a new one is found without being named.

use std::path::Path;

use super::*;

/// What stands for parts of statements that are put together: each is planned with every value. A name
/// in capitals is a constant of the same file.
const PARTS: [(&str, &[&str]); 9] = [
    ("from", &["SELECT {COLUMNS} FROM nodes WHERE"]),
    ("kinds", &["", "AND kind != 'dir'"]),
    ("below", &["OR (local_relpath > ?3 AND local_relpath < ?4)", "AND ?3 < ?4"]),
    ("rows", &[ALL_ROWS, ROWS_BELOW, "wc_id = ?1 AND local_relpath = ?2 AND ?3 < ?4"]),
    ("keep", &["", "{KEEP_CHANGELIST}"]),
    (
        "filter",
        &[
            "",
            "AND local_relpath = ''",
            "AND (local_relpath = '' OR parent_relpath = '')",
            "AND (local_relpath = ?1 OR (local_relpath > ?1 || '/' AND local_relpath < ?1 || '0'))",
        ],
    ),
    ("table", &["nodes", "actual_node"]),
    ("column", &["revision", "changed_revision"]),
    ("condition", &["op_depth > 0", "op_depth = 0 AND file_external IS NULL"]),
];

/// Statements that need all rows: how they end, and why.
const WHOLE: [(&str, &str); 23] = [
    ("FROM nodes WHERE +wc_id = 1", "status of everything, in the order of the rows"),
    ("FROM actual_node WHERE wc_id = 1 ", "the same"),
    ("FROM nodes WHERE wc_id = ?1 ORDER BY local_relpath, op_depth DESC", "all nodes"),
    ("FROM actual_node WHERE wc_id = ?1 ORDER BY local_relpath", "all local properties"),
    (
        "+wc_id = ?1 AND op_depth = 0 AND revision <> ?2 AND file_external IS NULL",
        "an update of everything to another revision, in the order of the rows",
    ),
    ("FROM externals WHERE wc_id = ?1 ORDER BY local_relpath", "all externals"),
    ("def_local_relpath FROM externals WHERE wc_id = 1 ORDER BY local_relpath", "all externals"),
    ("FROM lock ORDER BY repos_id, repos_relpath", "all locks"),
    ("lock_comment, lock_date FROM lock", "all locks"),
    ("SELECT local_dir_relpath, locked_levels FROM wc_lock", "all locks of the working copy"),
    ("FROM repository ORDER BY id", "all repositories"),
    ("SELECT id FROM work_queue LIMIT 1", "the first row, whichever"),
    ("SELECT checksum FROM pristine WHERE refcount = 0", "the format has no index for it"),
    (
        "w.local_relpath = n.local_relpath) ORDER BY local_relpath",
        "nodes by name or origin, for a tree conflict: the format has no index for them",
    ),
    (
        "UPDATE nodes SET repos_id = ?3, dav_cache = NULL WHERE wc_id = ?1 AND repos_id = ?2",
        "relocate",
    ),
    ("UPDATE externals SET repos_id = ?3 WHERE wc_id = ?1 AND repos_id = ?2", "relocate"),
    ("AND tbl_name = 'NODES' COLLATE NOCASE ORDER BY rowid", "the schema, which is small"),
    (
        "FROM nodes WHERE +wc_id = ?1 AND ?2 = '' AND ?3 < ?4 AND (op_depth > 0 OR instr(properties, ?5) > 0)",
        "all properties, in the order of the rows",
    ),
    (
        "FROM actual_node WHERE +wc_id = ?1 AND ?2 = '' AND ?3 < ?4 AND properties IS NOT NULL",
        "the same",
    ),
    (
        "FROM actual_node WHERE +wc_id = ?1 AND ?2 = '' AND ?3 < ?4 AND properties IS NOT NULL LIMIT 1",
        "whether there is any",
    ),
    ("FROM actual_node a WHERE +wc_id = ?1 AND ?2 = '' AND ?3 < ?4", "what a revert takes back"),
    (
        "SELECT MIN(revision), MAX(revision) FROM nodes WHERE +wc_id = ?1 AND ?2 = '' AND ?3 < ?4 \
         AND presence IN ('normal', 'incomplete') AND file_external IS NULL AND op_depth = 0",
        "the revisions of everything, in the order of the rows",
    ),
    (
        "FROM nodes WHERE +wc_id = ?1 AND ?2 = '' AND ?3 < ?4",
        "what is out of the ordinary anywhere, in the order of the rows",
    ),
];

/// The string literals of a source file, before its tests, with what stands before each on its line.
fn literals(source: &str) -> Vec<(String, String)> {
    let source = source.split("#[cfg(test)]").next().unwrap();
    let bytes = source.as_bytes();
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'\n' => line = at + 1,
            b'/' if bytes[at..].starts_with(b"//") => {
                at += bytes[at..].iter().position(|b| *b == b'\n').unwrap_or(0);
                continue;
            }
            b'\'' if bytes[at..].starts_with(b"'\"'") => at += 2,
            b'"' => {
                let begin = at + 1;
                at += 1;
                while bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                let mut text = String::new();
                let mut rest = &source[begin..at];
                while let Some((before, after)) = rest.split_once("\\\n") {
                    text.push_str(before);
                    rest = after.trim_start();
                }
                text.push_str(rest);
                found.push((source[line..begin - 1].to_owned(), text));
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// All forms of a statement with placeholders.
fn forms(sql: String, constants: &[(String, String)]) -> Vec<String> {
    let Some((before, rest)) = sql.split_once('{') else { return vec![sql] };
    let (name, after) = rest.split_once('}').unwrap();
    let constant: Vec<&str> =
        constants.iter().filter(|(c, _)| c == name).map(|(_, value)| value.as_str()).collect();
    let part = PARTS.iter().find(|(part, _)| *part == name).map(|(_, values)| values.to_vec());
    let values = part.unwrap_or(constant);
    assert!(!values.is_empty(), "say in PARTS what {{{name}}} can be, in: {sql}");
    values.into_iter().flat_map(|v| forms(format!("{before}{v}{after}"), constants)).collect()
}

fn statements_of(source: &str) -> Vec<String> {
    let all = literals(source);
    let mut constants = Vec::new();
    let (mut statements, mut columns) = (Vec::new(), None);
    let mut in_macro = source.contains("macro_rules! select");
    for (before, text) in all {
        let first = text.split_ascii_whitespace().next().unwrap_or_default();
        let is_statement = matches!(first, "SELECT" | "UPDATE" | "DELETE" | "INSERT");
        if let Some((_, name)) = before.split_once("const ")
            && let Some((name, _)) = name.split_once(':')
        {
            constants.push((name.to_owned(), text));
        } else if in_macro && is_statement {
            // The columns come first in such a file; what is selected from them follows.
            columns = Some(text);
            in_macro = false;
        } else if first == "WHERE"
            && let Some(columns) = &columns
        {
            statements.push(format!("{columns}{text}"));
        } else if is_statement || text.starts_with("{from}") || text.starts_with("{CLEAR}") {
            statements.push(text);
        }
    }
    // A statement's beginning that others go on from is planned with them.
    statements.retain(|sql| !sql.ends_with("FROM nodes WHERE"));
    statements.into_iter().flat_map(|sql| forms(sql, &constants)).collect()
}

fn sources(folder: &Path, each: &mut dyn FnMut(&Path, &str)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        // An upgrade goes through everything, once in a working copy's life; what `touched` and
        // `listed` ask of whole tables ends at the first row.
        let apart = [
            "schema.rs",
            "tests.rs",
            "plans.rs",
            "upgrade",
            "upgrade.rs",
            "touched.rs",
            "listed.rs",
        ];
        if apart.contains(&name) {
            continue;
        }
        if path.is_dir() {
            sources(&path, each);
        } else if name.ends_with(".rs") {
            each(&path, &std::fs::read_to_string(&path).unwrap());
        }
    }
}

fn plan(db: &Db, sql: &str) -> Vec<String> {
    let explained = format!("EXPLAIN QUERY PLAN {sql}");
    let mut statement = db.connection.prepare(&explained).unwrap_or_else(|e| panic!("{sql}: {e}"));
    let count = statement.parameter_count();
    let params = rusqlite::params_from_iter((0..count).map(|_| ""));
    let rows = statement.query_map(params, |row| row.get(3)).unwrap();
    rows.collect::<std::result::Result<_, _>>().unwrap()
}

/// Whether a line of a plan goes through all rows of a table, or of an index.
fn is_whole(line: &str) -> bool {
    (line.contains("SCAN") && !line.contains("CONSTANT ROW"))
        || line.contains("AUTOMATIC")
        || line.contains("(wc_id=?)")
}

#[test]
fn no_statement_goes_through_a_table_that_it_need_not() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("wc.db");
    drop(Db::create(&path, Access::default()).unwrap());
    // The made-up statistics count from the next opening on.
    let db = Db::open(&path, Access::default()).unwrap();
    let later = dir.path().join("32.db");
    Db::create(&later, Access::default()).unwrap().allow_missing_pristines().unwrap();
    let later = Db::open(&later, Access::default()).unwrap();
    let (mut count, mut wrong) = (0, Vec::new());
    let mut needed = [false; WHOLE.len()];
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut |file, source| {
        for sql in statements_of(source) {
            count += 1;
            let of_32 =
                ["hydrated", "textbase_refs", "settings"].iter().any(|name| sql.contains(name));
            let plan = plan(if of_32 { &later } else { &db }, &sql);
            if plan.iter().any(|line| is_whole(line)) {
                match WHOLE.iter().position(|(end, _)| sql.ends_with(end)) {
                    Some(at) => needed[at] = true,
                    None => wrong.push(format!("{}: {sql}\n  {}", file.display(), plan.join("; "))),
                }
            }
        }
    });
    assert!(count > 100, "only {count} statements were found in the sources");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let idle: Vec<_> = WHOLE.iter().zip(needed).filter(|(_, used)| !used).collect();
    assert!(idle.is_empty(), "these need all rows no longer: {idle:?}");
}

#[test]
fn a_scan_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    let db = Db::create(&dir.path().join("wc.db"), Access::default()).unwrap();
    for sql in [
        "SELECT 1 FROM nodes WHERE kind = ?1",
        "SELECT 1 FROM nodes WHERE wc_id = ?1 AND (?2 = '' OR local_relpath = ?2)",
        "DELETE FROM actual_node WHERE wc_id = ?1 AND changelist = ?2",
    ] {
        assert!(plan(&db, sql).iter().any(|line| is_whole(line)), "{sql}");
    }
    let source = "const A: &str = \"kind = 1\";\n// \"SELECT no\"\nfn f() { let _ = '\"'; \
                  x(\"SELECT 1 \\\n    FROM nodes WHERE {A}\") }\n#[cfg(test)] \"SELECT 2\"";
    assert_eq!(statements_of(source), ["SELECT 1 FROM nodes WHERE kind = 1"]);
}
