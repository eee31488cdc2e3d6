//! Dump streams, loaded: whatever the stream, what was committed before it failed is whole, and can be
//! dumped. The first two bytes choose the repository and the options.

use sapwood_core::paths::FsPathBuf;
use sapwood_core::CancelToken;
use sapwood_repos::load::{LoadOptions, UuidAction, load};

#[path = "fixture.rs"]
mod fixture;

/// Runs one input.
pub fn run(data: &[u8]) {
    let Some((&[kind, flags], stream)) = data.split_first_chunk() else { return };
    let fixture = fixture::Fixture::new(kind, flags & 1 != 0);
    let repository = fixture.open();
    let before = repository.fs().youngest().expect("the youngest revision");
    let options = LoadOptions {
        uuid: if flags & 2 == 0 { UuidAction::Ignore } else { UuidAction::Force },
        parent_dir: (flags & 5 == 5).then(|| FsPathBuf::canonicalize("/trunk")),
        bypass_validation: flags & 8 != 0,
        ignore_dates: flags & 16 != 0,
        normalize_props: flags & 32 != 0,
        no_flush: true,
        ..LoadOptions::default()
    };
    let input = Box::new(std::io::Cursor::new(stream.to_vec()));
    let _ = load(&repository, input, options, &mut |_| Ok(()), &CancelToken::new());
    // Another may have come to be revision 0's properties alone; then there is little to verify.
    if repository.fs().youngest().expect("the youngest revision") > before {
        fixture.assert_whole(flags & 8 != 0);
    }
}
