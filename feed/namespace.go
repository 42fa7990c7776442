package feed

const (
	// Namespace is the namespace of the ft: elements, matched as it stands.
	Namespace = "https://github.com/feedtree/feedtree/ns/1"

	nsAtom    = "http://www.w3.org/2005/Atom"
	nsAtom03  = "http://purl.org/atom/ns#"
	nsContent = "http://purl.org/rss/1.0/modules/content/"
	nsDC      = "http://purl.org/dc/elements/1.1/"
	nsDCTerms = "http://purl.org/dc/terms/"
	nsMedia   = "http://search.yahoo.com/mrss/"
	nsRDF     = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
	nsRSS10   = "http://purl.org/rss/1.0/"
	nsSy      = "http://purl.org/rss/1.0/modules/syndication/"
	nsXML     = "http://www.w3.org/XML/1998/namespace"

	// nsUndeclared and a prefix stand for a namespace that a document uses and
	// never declares, and that nobody can guess.
	nsUndeclared = "urn:feedtree:undeclared:"
)

// usual are the prefixes that mean the same everywhere: what a document means
// that forgot to declare them, and what we write.
var usual = map[string]string{
	"atom":    nsAtom,
	"content": nsContent,
	"dc":      nsDC,
	"dcterms": nsDCTerms,
	"ft":      Namespace,
	"georss":  "http://www.georss.org/georss",
	"itunes":  "http://www.itunes.com/dtds/podcast-1.0.dtd",
	"media":   nsMedia,
	"podcast": "https://podcastindex.org/namespace/1.0",
	"rdf":     nsRDF,
	"slash":   "http://purl.org/rss/1.0/modules/slash/",
	"sy":      nsSy,
	"thr":     "http://purl.org/syndication/thread/1.0",
	"wfw":     "http://wellformedweb.org/CommentAPI/",
	"xhtml":   "http://www.w3.org/1999/xhtml",
	"xml":     nsXML,
}

// undeclared says what a prefix means that is declared nowhere.
func undeclared(prefix string) string {
	if uri := usual[prefix]; uri != "" || prefix == "" {
		return uri
	}
	return nsUndeclared + prefix
}

// namespaces follows the declarations in scope during a scan.
type namespaces struct {
	bound map[string][]string // prefix → URIs, innermost last
	outer func(prefix string) string
	free  []string
	seen  map[string]bool
}

// push takes in the declarations of a start tag and returns the prefixes to pop.
func (n *namespaces) push(attrs []rawAttr) (declared []string) {
	for _, a := range attrs {
		prefix, local, _ := qname(a.name)
		switch {
		case prefix == "" && local == "xmlns":
			local = ""
		case prefix != "xmlns":
			continue
		}
		if n.bound == nil {
			n.bound = map[string][]string{}
		}
		n.bound[local] = append(n.bound[local], trimSpace(unescape(a.value)))
		declared = append(declared, local)
	}
	return declared
}

func (n *namespaces) pop(declared []string) {
	for _, p := range declared {
		n.bound[p] = n.bound[p][:len(n.bound[p])-1]
	}
}

// element resolves the prefix of an element name.
func (n *namespaces) element(prefix string) string {
	if b := n.bound[prefix]; len(b) > 0 {
		return b[len(b)-1]
	}
	if prefix == "xml" {
		return nsXML
	}
	if n.seen == nil {
		n.seen = map[string]bool{}
	}
	if !n.seen[prefix] {
		n.seen[prefix] = true
		n.free = append(n.free, prefix)
	}
	return n.outer(prefix)
}

// attribute notes the prefix of an attribute name.
func (n *namespaces) attribute(prefix string) {
	if prefix != "xml" && prefix != "xmlns" {
		n.element(prefix)
	}
}
