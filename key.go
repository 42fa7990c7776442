package feedtree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/feedtree/feedtree/signing"
)

// nodeKey reads the node's key from the directory, or makes it. The key is the
// libp2p identity and signs what the node says as a volunteer: others thus
// recognise a source as the node they are connected to.
func nodeKey(dir string) (*signing.Identity, error) {
	if dir == "" {
		return signing.Generate(nil)
	}
	path := filepath.Join(dir, "node.key")
	file, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return makeKey(dir, path)
	case err != nil:
		return nil, fmt.Errorf("the node's key: %w", err)
	}
	id, err := signing.ParseIdentity(file, nil)
	if err != nil {
		return nil, fmt.Errorf("the node's key %s: %w; move the file away to get a new one, others will see a new node", path, err)
	}
	return id, nil
}

// makeKey writes a new key so that the file is there whole or not at all.
func makeKey(dir, path string) (*signing.Identity, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the node's directory: %w", err)
	}
	id, err := signing.Generate(nil)
	if err != nil {
		return nil, err
	}
	file, err := id.MarshalPEM("feedtree node", nil)
	if err != nil {
		return nil, err
	}
	tmp, err := os.CreateTemp(dir, "node.key.*") // made with mode 0600
	if err != nil {
		return nil, fmt.Errorf("the node's key: %w", err)
	}
	defer os.Remove(tmp.Name()) // once it is renamed there is nothing to remove
	_, err = tmp.Write(file)
	if err == nil {
		err = tmp.Sync()
	}
	if err = errors.Join(err, tmp.Close()); err != nil {
		return nil, fmt.Errorf("the node's key: %w", err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return nil, fmt.Errorf("the node's key: %w", err)
	}
	return id, nil
}
