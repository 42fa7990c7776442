package archive

// schema5 lets the index of words gather 32 pieces of a size before it makes them
// one, so that most words of a million items are written twice and not three times,
// and fill its pages as the file has them: [pageSize] in one that is made now.
const schema5 = searchOptions

// 46 bytes of a page are those of its header and of the row, or it would need another.
const searchOptions = `
INSERT INTO search (search, rank) VALUES ('hashsize', 4194304); -- bytes of new words that are sorted at once
INSERT INTO search (search, rank) VALUES ('automerge', 32);
INSERT INTO search (search, rank) VALUES ('crisismerge', 48); -- or one transaction would do all of it
INSERT INTO search (search, rank) SELECT 'pgsz', page_size - 46 FROM pragma_page_size;
`
