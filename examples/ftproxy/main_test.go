package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"
)

// The program runs, answers, and ends when it is told to.
func TestServe(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, addr) }()
	for healthy(ctx, addr) != nil {
		select {
		case err := <-ended:
			t.Fatalf("ended before it answered: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}

func healthy(ctx context.Context, addr string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/healthz", nil)
	if err != nil {
		return err
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, w.Body)
	return err
}
