//! NameMap: values by agent name, in the order of names, of which a changed copy is cheap.
//!
//! Promises: a copy shares everything with its original; a change copies one chunk of at most [`MAX_CHUNK`]
//! values and the list of chunks, not all values. So a list that is swapped whole costs some microseconds for
//! each change with 10,000 agents, where a copy of a tree costs milliseconds. It does not lock: whoever
//! shares it swaps it.

use std::sync::Arc;

use agentsite_protocol::AgentName;

/// Most values of a chunk. With 10,000 agents a change copies at most this many of them and a list of about
/// as many chunks.
const MAX_CHUNK: usize = 128;

/// Values by name.
#[derive(Debug, Clone)]
pub(super) struct NameMap<V> {
    /// Sorted, each without a gap to the next; no chunk is empty.
    chunks: Vec<Arc<Vec<(AgentName, V)>>>,
}

impl<V> Default for NameMap<V> {
    fn default() -> Self {
        Self { chunks: Vec::new() }
    }
}

impl<V: Clone> NameMap<V> {
    /// The value of a name.
    pub(super) fn get(&self, name: &AgentName) -> Option<&V> {
        let chunk = self.chunks.get(self.chunk_of(name))?;
        let at = chunk.binary_search_by(|(known, _)| known.cmp(name)).ok()?;
        Some(&chunk[at].1)
    }

    /// All values, by name.
    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.chunks.iter().flat_map(|chunk| chunk.iter().map(|(_, value)| value))
    }

    /// Puts a value, in the place of the one that the name had.
    pub(super) fn insert(&mut self, name: AgentName, value: V) {
        if self.chunks.is_empty() {
            self.chunks.push(Arc::default());
        }
        // A name behind all others belongs into the last chunk.
        let place = self.chunk_of(&name).min(self.chunks.len() - 1);
        let chunk = Arc::make_mut(&mut self.chunks[place]);
        match chunk.binary_search_by(|(known, _)| known.cmp(&name)) {
            Ok(at) => chunk[at].1 = value,
            Err(at) => chunk.insert(at, (name, value)),
        }
        if chunk.len() > MAX_CHUNK {
            let behind = chunk.split_off(MAX_CHUNK / 2);
            self.chunks.insert(place + 1, Arc::new(behind));
        }
    }

    /// Takes a value out.
    pub(super) fn remove(&mut self, name: &AgentName) {
        let place = self.chunk_of(name);
        let Some(chunk) = self.chunks.get_mut(place) else { return };
        let Ok(at) = chunk.binary_search_by(|(known, _)| known.cmp(name)) else { return };
        let chunk = Arc::make_mut(chunk);
        chunk.remove(at);
        if chunk.is_empty() {
            self.chunks.remove(place);
        } else {
            self.join_next(place);
        }
    }

    /// Joins a chunk with the next one where both have become small, so that there are never many of them.
    fn join_next(&mut self, place: usize) {
        let Some(next) = self.chunks.get(place + 1).cloned() else { return };
        if self.chunks[place].len() + next.len() <= MAX_CHUNK / 2 {
            Arc::make_mut(&mut self.chunks[place]).extend(next.iter().cloned());
            self.chunks.remove(place + 1);
        }
    }

    /// The chunk in which a name is, if it is in one.
    fn chunk_of(&self, name: &AgentName) -> usize {
        self.chunks.partition_point(|chunk| chunk.last().is_some_and(|(last, _)| last < name))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn name(number: u16) -> AgentName {
        format!("a{number}").parse().unwrap()
    }

    proptest! {
        #[test]
        fn it_holds_what_a_tree_holds_and_copies_keep_what_they_had(
            changes in proptest::collection::vec((0_u16..600, any::<bool>()), 0..1_500)
        ) {
            let (mut map, mut tree) = (NameMap::default(), BTreeMap::new());
            for (step, (number, put)) in changes.into_iter().enumerate() {
                let (before, len) = (map.clone(), tree.len());
                if put {
                    map.insert(name(number), step);
                    tree.insert(name(number), step);
                } else {
                    map.remove(&name(number));
                    tree.remove(&name(number));
                }
                prop_assert_eq!(map.get(&name(number)), tree.get(&name(number)));
                prop_assert_eq!(before.values().count(), len);
            }
            prop_assert!(map.values().eq(tree.values()));
            prop_assert!(map.chunks.iter().all(|chunk| (1..=MAX_CHUNK).contains(&chunk.len())));
            prop_assert!(tree.iter().all(|(name, value)| map.get(name) == Some(value)));
        }
    }

    #[test]
    fn a_change_copies_one_chunk() {
        let mut map = NameMap::default();
        for number in 0..10_000 {
            map.insert(name(number), number);
        }
        let before = map.clone();
        map.insert(name(5_000), 0);
        let shared =
            before.chunks.iter().filter(|chunk| map.chunks.iter().any(|new| Arc::ptr_eq(chunk, new)));
        assert_eq!((shared.count(), before.get(&name(5_000))), (before.chunks.len() - 1, Some(&5_000)));
    }
}
