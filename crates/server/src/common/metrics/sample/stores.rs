//! What object stores were asked for, and the cache of their blocks on this machine.
//!
//! Invariant: a server that has used no store shows none of it; nothing is opened to be counted.

use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use sapwood_objects::Requests;

type Counters<const N: usize> = Family<[(&'static str, &'static str); N], Counter>;

/// Adds the values of this moment.
pub(super) fn register(registry: &mut Registry) {
    let stores = sapwood_objects::addresses::counts();
    if stores.is_empty() {
        return;
    }
    of_stores(&stores, registry);
    if let Some(cache) = sapwood_block_cache::opened() {
        of_blocks(cache.counts(), registry);
    }
}

fn of_stores(stores: &[(&'static str, Requests)], registry: &mut Registry) {
    let (requests, bytes) = (Counters::<2>::default(), Counters::<2>::default());
    let (failures, taken) = (Counters::<1>::default(), Counters::<1>::default());
    for (scheme, of) in stores {
        let kinds = [
            ("get", of.gets),
            ("put", of.puts),
            ("list", of.lists),
            ("delete", of.deletes),
            ("read", of.reads),
            ("claim", of.claims),
        ];
        for (kind, count) in kinds {
            requests.get_or_create(&[("store", scheme), ("kind", kind)]).inc_by(count);
        }
        for (direction, count) in [("read", of.bytes_in), ("written", of.bytes_out)] {
            bytes.get_or_create(&[("store", scheme), ("direction", direction)]).inc_by(count);
        }
        failures.get_or_create(&[("store", scheme)]).inc_by(of.failures);
        taken.get_or_create(&[("store", scheme)]).inc_by(of.taken);
    }
    let name = "sapwood_store_requests";
    registry.register(name, "What object stores were asked for, by kind", requests);
    let name = "sapwood_store_transferred_bytes";
    registry.register(name, "Bytes read from object stores, and written there", bytes);
    let name = "sapwood_store_failures";
    registry.register(name, "Requests to object stores that failed or got no answer", failures);
    let name = "sapwood_store_claims_taken";
    registry.register(name, "Claims that met an entry of another server", taken);
}

fn of_blocks(counts: sapwood_block_cache::Counts, registry: &mut Registry) {
    let mut counter = |name: &str, help: &str, value: u64| {
        registry.register(name, help, ConstCounter::new(value));
    };
    counter("sapwood_store_block_hits", "Blocks of stores found on this machine", counts.hits);
    counter("sapwood_store_block_misses", "Blocks that a store was asked for", counts.misses);
    let found = "Bytes of blocks of stores found on this machine";
    counter("sapwood_store_block_hit_bytes", found, counts.bytes_found);
    let fetched = "Bytes of blocks that a store sent";
    counter("sapwood_store_block_miss_bytes", fetched, counts.bytes_fetched);
    counter("sapwood_store_blocks_damaged", "Files without their block", counts.damaged);
    counter("sapwood_store_blocks_evicted", "Files removed to hold the limit", counts.evicted);
    let help = "Files of blocks that could not be read or written";
    counter("sapwood_store_block_failures", help, counts.failures);
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::prometheus_text::encode;

    use super::*;

    #[test]
    fn what_was_counted_is_in_the_text() {
        let asked = Requests { gets: 3, claims: 2, taken: 1, bytes_in: 5, ..Requests::default() };
        let blocks = sapwood_block_cache::Counts { hits: 7, misses: 4, ..Default::default() };
        let mut registry = Registry::default();
        of_stores(&[("s3", asked)], &mut registry);
        of_blocks(blocks, &mut registry);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for line in [
            "sapwood_store_requests_total{store=\"s3\",kind=\"get\"} 3\n",
            "sapwood_store_requests_total{store=\"s3\",kind=\"delete\"} 0\n",
            "sapwood_store_transferred_bytes_total{store=\"s3\",direction=\"read\"} 5\n",
            "sapwood_store_claims_taken_total{store=\"s3\"} 1\n",
            "sapwood_store_block_hits_total 7\n",
            "sapwood_store_block_misses_total 4\n",
        ] {
            assert!(text.contains(line), "{line} is missing in {text}");
        }
    }
}
