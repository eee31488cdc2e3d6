//! Hash dumps: what is read is written back, and read again the same.

use sapwood_core::hashdump::{END, PROPS_END, parse, parse_incremental, write, write_incremental};

/// Runs one input.
pub fn run(data: &[u8]) {
    for terminator in [None, Some(END), Some(PROPS_END)] {
        let Ok(props) = parse(data, terminator) else { continue };
        let mut out = Vec::new();
        write(&mut out, &props, terminator);
        assert_eq!(parse(&out, terminator).as_ref(), Ok(&props));
        let mut changed = props.clone();
        changed.set("new", "value");
        out.clear();
        write_incremental(&mut out, &props, &changed, Some(END));
        let mut made = props;
        parse_incremental(&mut made, &out, Some(END)).expect("own form");
        assert_eq!(made, changed);
    }
    let mut props = sapwood_core::PropList::new();
    let _ = parse_incremental(&mut props, data, Some(END));
}
