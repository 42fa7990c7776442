package archive

import (
	"context"
	"database/sql"
	"sync"
)

// statements are those of a pool of connections that were prepared: compiling one
// costs more than running it. Queries are constants, so there are a few dozen.
type statements struct {
	db *sql.DB
	mu sync.Mutex
	by map[string]*sql.Stmt
}

func newStatements(db *sql.DB) *statements {
	return &statements{db: db, by: make(map[string]*sql.Stmt)}
}

// known returns a statement if it is prepared already.
func (s *statements) known(query string) *sql.Stmt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[query]
}

// get returns a statement, prepared. It may wait for a connection.
func (s *statements) get(ctx context.Context, query string) (*sql.Stmt, error) {
	if ready := s.known(query); ready != nil {
		return ready, nil
	}
	fresh, err := s.db.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ready := s.by[query]; ready != nil {
		_ = fresh.Close() // somebody was faster
		return ready, nil
	}
	s.by[query] = fresh
	return fresh, nil
}

// inside are the statements that one transaction uses. The writer has a single
// connection, which the transaction holds: what is not prepared yet is noted, for
// after it.
type inside struct {
	all    *statements
	tx     *sql.Tx
	by     map[string]*sql.Stmt
	wanted []string
}

func (s *statements) inside(tx *sql.Tx) *inside {
	return &inside{all: s, tx: tx, by: make(map[string]*sql.Stmt)}
}

// get returns nil for a statement that is not prepared.
func (i *inside) get(ctx context.Context, query string) *sql.Stmt {
	if ready := i.by[query]; ready != nil {
		return ready
	}
	ready := i.all.known(query)
	if ready == nil {
		i.wanted = append(i.wanted, query)
		return nil
	}
	i.by[query] = i.tx.StmtContext(ctx, ready)
	return i.by[query]
}

func (i *inside) exec(ctx context.Context, query string, args []any) (sql.Result, error) {
	if ready := i.get(ctx, query); ready != nil {
		return ready.ExecContext(ctx, args...)
	}
	return i.tx.ExecContext(ctx, query, args...)
}

func (i *inside) query(ctx context.Context, query string, args []any) (*sql.Rows, error) {
	if ready := i.get(ctx, query); ready != nil {
		return ready.QueryContext(ctx, args...)
	}
	return i.tx.QueryContext(ctx, query, args...)
}

// prepare compiles what a transaction that is over had wanted.
func (s *statements) prepare(ctx context.Context, wanted []string) {
	for _, query := range wanted {
		_, _ = s.get(ctx, query) // or the next transaction does without it
	}
}
