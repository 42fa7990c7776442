package proxy

import "strings"

// Reader is a news reader that refuses addresses on this machine or its network
// unless it is told not to, which is where a proxy is.
type Reader struct {
	Name    string
	Since   string // the version that began to refuse
	Setting string // to be made as it stands here; "": there is none
	Where   string // it is made, or what to do where there is none
}

// Readers are those known to refuse. A reader that is not here needs no setting.
func Readers() []Reader {
	return []Reader{
		{Name: "Miniflux", Since: "2.2.18", Setting: "FETCHER_ALLOW_PRIVATE_NETWORKS=1", Where: "in its environment or configuration file"},
		{Name: "CommaFeed", Since: "5.6.0", Setting: "http-client.block-local-addresses=false", Where: "in its application.properties"},
		{Name: "Fusion", Setting: "FUSION_ALLOW_PRIVATE_FEEDS=true", Where: "in its environment"},
		{
			Name: "Tiny Tiny RSS", Since: "2026-08", Where: "it refuses this machine whatever one sets, and older ones " +
				"all ports but 80 and 443: let the proxy listen on an address of your network at port 80, and name it with --host",
		},
	}
}

// ReadersText says in lines for a terminal what to set in which reader.
func ReadersText() string {
	var b strings.Builder
	b.WriteString("Some readers refuse addresses on this machine until they are told not to:\n\n")
	for _, r := range Readers() {
		b.WriteString("    " + r.Name)
		if r.Since != "" {
			b.WriteString(" (since " + r.Since + ")")
		}
		b.WriteString(": ")
		if r.Setting != "" {
			b.WriteString(r.Setting + " ")
		}
		b.WriteString(r.Where + "\n")
	}
	b.WriteString("\nOthers (newsboat, sfeed, Liferea, NetNewsWire, …) need no setting.")
	return b.String()
}
