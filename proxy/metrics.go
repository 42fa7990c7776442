package proxy

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/overlay/kad"
)

// newMetrics answers Prometheus. The registry is the proxy's own: what libraries
// register for themselves is not in it, and no label names a feed or a peer.
func (p *Proxy) newMetrics() http.Handler {
	own := prometheus.NewPedanticRegistry()
	own.MustRegister(gauges{p}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(own, promhttp.HandlerOpts{MaxRequestsInFlight: 2, ErrorHandling: promhttp.ContinueOnError})
}

// gauges reads the node's status whenever it is asked. What it tells depends on
// the status, so it describes nothing in advance.
type gauges struct{ *Proxy }

// Describe implements prometheus.Collector.
func (gauges) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (g gauges) Collect(out chan<- prometheus.Metric) {
	s := g.overall()
	w := scrape{out}
	w.node(s)
	takeCensus(s.Feeds).tell(w)
	w.effort(s.Volunteering)
	for code, n := range g.served.All() {
		w.add(prometheus.CounterValue, "reader_requests_total", "Requests of readers for feeds, by how they were answered.", float64(n), "code", code)
	}
	if g.config.Disk != nil {
		if size, err := g.config.Disk(); err == nil {
			w.gauge("archive_bytes", "What is kept, as it is on the disk.", float64(size))
		}
	}
	if g.config.Damaged != nil {
		w.gauge("archive_damaged", "Places where what is kept is not as it was written, found so far: they are not served.", float64(g.config.Damaged()))
	}
	w.add(prometheus.GaugeValue, "build_info", "1, for the version that runs.", 1, "version", g.config.Version)
}

// scrape is one answer in the making.
type scrape struct{ out chan<- prometheus.Metric }

// add tells one value; labels are a name and its value, or none.
func (w scrape) add(kind prometheus.ValueType, name, help string, value float64, label ...string) {
	var names, values []string
	if len(label) == 2 {
		names, values = label[:1], label[1:]
	}
	w.out <- prometheus.MustNewConstMetric(prometheus.NewDesc("feedtree_"+name, help, names, nil), kind, value, values...)
}

func (w scrape) gauge(name, help string, value float64, label ...string) {
	w.add(prometheus.GaugeValue, name, help, value, label...)
}

func (w scrape) counter(name, help string, value uint64, label ...string) {
	w.add(prometheus.CounterValue, name, help, float64(value), label...)
}

// node tells of the node as a whole.
func (w scrape) node(s feedtree.Status) {
	w.gauge("start_time_seconds", "When the node started, in seconds since 1970.", float64(s.Since.Unix()))
	w.gauge("peers", "Nodes connected.", float64(s.Peers))
	for kind, n := range map[string]int{"direct": s.Reach.Links.Direct, "punched": s.Reach.Links.Punched, "relayed": s.Reach.Links.Relayed} {
		w.gauge("links", "Nodes connected, by the best connection to each.", float64(n), "kind", kind)
	}
	w.gauge("reachable", "1, for what is known of whether others can dial this node.", 1, "state", string(s.Reach.State))
	w.spending(s.Spending)
	w.gauge("waiting", "Posts that the node's goroutine has not come to.", float64(s.Health.Waiting))
	w.gauge("store_ok", "Whether what comes can be kept.", truth(s.Health.Store == ""))
	w.gauge("clock_ahead_seconds", "How far this machine's clock is ahead of those of sites.", s.Health.Ahead.Seconds())
	for reason, n := range s.Refused {
		w.counter("refused_total", "What was refused or dropped, by reason.", n, "reason", reason)
	}
	for name, n := range s.Counts {
		w.count(name, n)
	}
}

// count tells one of the node's counters. Those with a trust in their name are one
// metric.
func (w scrape) count(name string, n uint64) {
	const items = "items_"
	if len(name) > len(items) && name[:len(items)] == items {
		w.counter("items_total", "Items that were new or changed, by why they are believed.", n, "trust", name[len(items):])
		return
	}
	w.counter(metricName(name)+"_total", "The node's counter "+strconv.Quote(name)+".", n)
}

// metricName makes a name that Prometheus takes.
func metricName(name string) string {
	b := []byte(name)
	for i, c := range b {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9') {
			b[i] = '_'
		}
	}
	return string(b)
}

// effort tells what is done for others.
func (w scrape) effort(e feedtree.Effort) {
	w.gauge("volunteering", "Whether the node polls feeds for others.", truth(e.On))
	w.counter("volunteer_polls_total", "Polls whose outcome others heard.", e.Polls)
	w.counter("volunteer_polls_deferred_total", "Polls left to others at the limits.", e.Deferred)
	w.gauge("volunteer_feeds", "Feeds that this node polled last, for everybody.", float64(e.Feeds))
	w.gauge("volunteer_crews", "Feeds in whose polls it takes its turn.", float64(e.Crews))
	w.gauge("volunteer_hour_requests", "Requests for others in the last hour.", float64(e.Requests))
	w.gauge("volunteer_hour_bytes", "Bytes for others in the last hour.", float64(e.Bytes))
}

// spending tells what goes over the wire, and what may.
func (w scrape) spending(s kad.Spending) {
	const name, help = "traffic_bytes_total", "Bytes to and from other nodes, with all headers."
	w.counter(name, help, s.Sent, "direction", "sent")
	w.counter(name, help, s.Received, "direction", "received")
	w.gauge("upload_hour_bytes", "Bytes sent to other nodes in the last hour.", float64(s.Upload.Hour))
	w.gauge("upload_limit_bytes", "Bytes that may be sent to other nodes in an hour; 0: no limit.", float64(s.Upload.Most))
	w.gauge("upload_sparing", "Whether nothing more is sent for others, to stay within the limit.", truth(s.Upload.Sparing))
	w.counter("upload_spared_total", "Times that the limit was near.", s.Upload.Times)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// answered notes the status of an answer that passes through it.
type answered struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (a *answered) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap gives http.ResponseController what is below.
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// countServed has answer serve a reader, and counts how.
func (p *Proxy) countServed(w http.ResponseWriter, serve func(http.ResponseWriter)) {
	a := &answered{ResponseWriter: w}
	serve(a)
	if a.status == 0 {
		a.status = http.StatusOK
	}
	p.served.Count(strconv.Itoa(a.status))
}
