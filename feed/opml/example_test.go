package opml_test

import (
	"fmt"

	"github.com/feedtree/feedtree/feed/opml"
)

// The list that a reader exports, with every feed behind the proxy.
func Example() {
	list, err := opml.Parse([]byte(`<opml version="1.0"><head><title>Mine</title></head><body>
<outline text="R & D"><outline text="Example" xmlUrl="https://example.org/feed?a=1&b=2"/></outline></body></opml>`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", opml.Wrap(list, "http://127.0.0.1:8089").Bytes())
	// Output:
	// <?xml version="1.0" encoding="UTF-8"?>
	// <opml version="1.0">
	//   <head>
	//     <title>Mine</title>
	//   </head>
	//   <body>
	//     <outline text="R &amp; D">
	//       <outline text="Example" xmlUrl="http://127.0.0.1:8089/feed/https://example.org/feed?a=1&amp;b=2"/>
	//     </outline>
	//   </body>
	// </opml>
}
