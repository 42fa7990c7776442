package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/feedtree/feedtree/feed/fetch"
)

// The first answer brings the document and its validators, the second says
// that nothing changed, the third why there is nothing any more.
func Example() {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/old":
			w.WriteHeader(http.StatusGone)
		case r.Header.Get("If-None-Match") == `"1"`:
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("ETag", `"1"`)
			fmt.Fprint(w, "<rss/>")
		}
	}))
	defer origin.Close()

	client, err := fetch.New(fetch.Config{Resolve: []string{"news.example:80:" + origin.Listener.Addr().String()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	ctx := context.Background()
	request := fetch.Request{URL: "http://news.example/feed"}
	for range 2 {
		result, err := client.Get(ctx, request)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d %v %q\n", result.Status, result.NotModified, result.Body)
		request.Validators = result.Validators
	}

	_, err = client.Get(ctx, fetch.Request{URL: "http://news.example/old"})
	var failed *fetch.Error
	fmt.Println(errors.As(err, &failed), failed.Reason, err)
	// Output:
	// 200 false "<rss/>"
	// 304 true ""
	// true status http://news.example/old: the document is gone for good (410)
}

// Poll keeps what is remembered of a document in its state, and says when to come
// again.
func ExampleClient_Poll() {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		w.Header().Set("Cache-Control", "max-age=7200")
		if r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, "<rss/>")
	}))
	defer origin.Close()
	client, err := fetch.New(fetch.Config{Resolve: []string{"news.example:80:" + origin.Listener.Addr().String()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()

	feed := fetch.Feed{URL: "http://news.example/feed"}
	for range 2 {
		out, err := client.Poll(context.Background(), feed, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		feed.State = out.State // to be kept on disk
		fmt.Println(out.Result.NotModified, out.State.NotBefore.Sub(out.State.Asked).Truncate(time.Hour))
	}
	// Output:
	// false 2h0m0s
	// true 2h0m0s
}
