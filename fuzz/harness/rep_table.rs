//! Tables of representations of repositories in stores: what has right sums is read without a panic, and each row of a table is found.

use sapwood_repo_log::table::{Form, Lookup, Table, TableBuilder};

pub fn run(data: &[u8]) {
    let Some((rows, bytes)) = data.split_first_chunk::<8>() else { return };
    let Some(form) = Form::new(u64::from_be_bytes(*rows)) else { return };
    let cut = |range: std::ops::Range<u64>| {
        let place = |at: u64| usize::try_from(at).map_or(bytes.len(), |at| at.min(bytes.len()));
        bytes.get(place(range.start)..place(range.end)).unwrap_or(&[]).to_vec()
    };
    let table = Table::parse(form, &cut(form.end()));
    let mut builder = TableBuilder::default();
    let mut made = Vec::new();
    for number in 0..form.blocks().min(16) {
        let Some(rows) = form.rows_of(number, &cut(form.block(number))) else { continue };
        for row in rows {
            made.extend(builder.add(&row));
            if let Some(table) = &table {
                let found = table.find(&row.sha1, |range| Ok::<_, ()>(cut(range)));
                // A wrong index or filter has a right sum only where it was made so.
                assert!(found.is_ok_and(|found| found != Lookup::Damage));
            }
        }
    }
    let (made_form, end) = builder.finish();
    made.extend(end);
    assert_eq!(u64::try_from(made.len()), Ok(made_form.bytes()));
}
