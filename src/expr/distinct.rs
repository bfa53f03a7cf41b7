//! Distinct items, numbered in the order they came: the symbols and the literals of a graph.
//!
//! An item is hashed once: literals may be arrays, and graphs grow and are copied often.

use hashbrown::HashTable;

/// Distinct items by number. Who asks brings the hash of the item.
#[derive(Clone)]
pub struct Distinct<T> {
    items: Vec<T>,
    /// Hash of each item.
    hashes: Vec<u64>,
    table: HashTable<u32>,
}

impl<T> Distinct<T> {
    /// No items.
    pub fn new() -> Distinct<T> {
        Distinct { items: Vec::new(), hashes: Vec::new(), table: HashTable::new() }
    }

    /// Items there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// The item with a number.
    pub fn get(&self, number: u32) -> &T {
        &self.items[number as usize]
    }

    /// The number of the item that has this hash and is the wanted one.
    pub fn find(&self, hash: u64, is_wanted: impl Fn(&T) -> bool) -> Option<u32> {
        self.table.find(hash, |number| is_wanted(self.get(*number))).copied()
    }

    /// Adds an item that is not there yet; gives its number.
    pub fn add(&mut self, hash: u64, item: T) -> u32 {
        let number = self.items.len() as u32;
        self.items.push(item);
        self.hashes.push(hash);
        let hashes = &self.hashes;
        self.table.insert_unique(hash, number, |number| hashes[*number as usize]);
        number
    }
}
