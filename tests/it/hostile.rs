//! Hostile input: files that are damaged or lie, names that clash, outputs that go away. Every one is an error that
//! says what is wrong and where; none takes more than its size justifies.

mod files;
