package archive

// schema4 allows documents in S2, which older versions of this program cannot read,
// and lets the index of words keep more pieces before it merges them: merging is
// most of what a large index costs.
const schema4 = `
INSERT INTO search (search, rank) VALUES ('hashsize', 4194304); -- bytes of new words that are sorted at once
INSERT INTO search (search, rank) VALUES ('automerge', 16);
INSERT INTO search (search, rank) VALUES ('crisismerge', 48); -- or one transaction would do all of it
`
