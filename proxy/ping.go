package proxy

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strings"

	"golang.org/x/net/html/charset"

	"github.com/feedtree/feedtree"
)

// methodCall is an XML-RPC call as far as pings need it: strings only.
type methodCall struct {
	XMLName xml.Name `xml:"methodCall"`
	Method  string   `xml:"methodName"`
	Params  []struct {
		Text   string  `xml:",chardata"` // a value without a type is a string
		String *string `xml:"string"`
	} `xml:"params>param>value"`
}

// Codes of faults, after the XML-RPC fault code interoperability specification.
const (
	faultParse  = -32700
	faultMethod = -32601
	faultParams = -32602
)

// ping answers weblogUpdates.ping(name, site) and weblogUpdates.extendedPing(name,
// site, page or feed, feed, …), which content management systems send after
// publishing. WordPress has the feed in the third place; the specification in the
// fourth. The last one that is followed here counts.
func (p *Proxy) ping(w http.ResponseWriter, r *http.Request, from hintFrom) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		p.unread(w, err)
		return
	}
	call, err := readCall(body)
	if err != nil {
		p.fault(w, faultParse, "not an XML-RPC call: "+err.Error())
		return
	}
	switch call.Method {
	case "weblogUpdates.ping", "weblogUpdates.extendedPing":
	default:
		p.fault(w, faultMethod, "there is no method "+call.Method+" here, but weblogUpdates.ping and weblogUpdates.extendedPing")
		return
	}
	urls := call.urls()
	if len(urls) == 0 {
		p.fault(w, faultParams, call.Method+" wants a name and the address of a site or feed")
		return
	}
	err = p.first(r, urls, "ping")
	var reason *feedtree.HintError
	switch {
	case err == nil, from.public && errors.As(err, &reason):
		pingAnswer(w, false, "Thanks for the ping.")
	default:
		pingAnswer(w, true, "Nothing is done about it: "+clip(err.Error()))
	}
}

func readCall(body []byte) (call methodCall, err error) {
	d := xml.NewDecoder(bytes.NewReader(body))
	d.CharsetReader = charset.NewReaderLabel
	err = d.Decode(&call)
	call.Method = strings.TrimSpace(call.Method)
	return call, err
}

// urls are the addresses in a ping, the last one first: it is the feed's, if any is.
func (c methodCall) urls() []string {
	var urls []string
	for i := len(c.Params) - 1; i > 0; i-- { // the first is a name
		s := c.Params[i].Text
		if c.Params[i].String != nil {
			s = *c.Params[i].String
		}
		if s = strings.TrimSpace(s); strings.Contains(s, "://") {
			urls = append(urls, s)
		}
	}
	return urls
}

// fault answers a call that is none of ours, as XML-RPC has it: with status 200.
func (p *Proxy) fault(w http.ResponseWriter, code int, text string) {
	p.hints.refused.Count(whyMalformed)
	writeResponse(w, methodResponse{Fault: &rpcValue{Members: []rpcMember{
		{"faultCode", rpcScalar{Int: &code}}, {"faultString", rpcScalar{String: clip(text)}},
	}}})
}

func pingAnswer(w http.ResponseWriter, failed bool, message string) {
	flag := 0
	if failed {
		flag = 1
	}
	writeResponse(w, methodResponse{Params: &rpcParams{rpcValue{Members: []rpcMember{
		{"flerror", rpcScalar{Boolean: &flag}}, {"message", rpcScalar{String: message}},
	}}}})
}

// methodResponse is what XML-RPC answers: a struct, or a fault.
type methodResponse struct {
	XMLName xml.Name   `xml:"methodResponse"`
	Params  *rpcParams `xml:"params"`
	Fault   *rpcValue  `xml:"fault>value"`
}

type rpcParams struct {
	Value rpcValue `xml:"param>value"`
}

type rpcValue struct {
	Members []rpcMember `xml:"struct>member"`
}

type rpcMember struct {
	Name  string    `xml:"name"`
	Value rpcScalar `xml:"value"`
}

type rpcScalar struct {
	Int     *int   `xml:"int"`
	Boolean *int   `xml:"boolean"`
	String  string `xml:"string,omitempty"`
}

func writeResponse(w http.ResponseWriter, m methodResponse) {
	doc, err := xml.Marshal(m)
	if err != nil {
		panic("proxy: an XML-RPC response: " + err.Error())
	}
	h := w.Header()
	h.Set("Content-Type", "text/xml; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(append([]byte(xml.Header), doc...))
}
