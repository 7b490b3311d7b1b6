package registry

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are the metrics of this registry. The metrics of the engine are in the global registry of
// the Prometheus library, and are not served.
type metrics struct {
	all      *prometheus.Registry
	requests *prometheus.CounterVec
	sent     *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

func newMetrics() *metrics {
	m := &metrics{
		all: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "airgap_registry_requests_total", Help: "Answered requests.",
		}, []string{"kind", "method", "code"}),
		sent: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "airgap_registry_sent_bytes_total", Help: "Bytes sent in the bodies of answers.",
		}, []string{"kind"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "airgap_registry_request_duration_seconds", Help: "Time until a request was answered completely.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
		}, []string{"kind"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "airgap_registry_requests_under_way", Help: "Requests in progress.",
		}),
	}
	m.all.MustRegister(m.requests, m.sent, m.seconds, m.inFlight, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) count(r *http.Request, a *answer, took time.Duration) {
	kind := requestKind(r.URL.Path)
	m.requests.WithLabelValues(kind, methodLabel(r.Method), strconv.Itoa(a.status)).Inc()
	m.sent.WithLabelValues(kind).Add(float64(a.bytes))
	m.seconds.WithLabelValues(kind).Observe(took.Seconds())
}

// requestKind returns one of a few fixed words, for any path of a request.
func requestKind(path string) string {
	if v2, ok := parseV2Path(path); ok {
		if v2.kind == uploads {
			return "uploads"
		}
		return v2.kind
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch first {
	case "v2", "rpm", "files", "bundles", "join", "pushed", "token", "healthz", "metrics":
		return first
	}
	return "other"
}

func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPut, http.MethodPost, http.MethodPatch, http.MethodDelete:
		return method
	}
	return "other"
}

// handler serves the metrics. It computes the state of the registry for each request.
func (m *metrics) handler(h *Handler, certificate func() time.Time) http.Handler {
	m.all.MustRegister(stateCollector{h, certificate})
	return promhttp.HandlerFor(m.all, promhttp.HandlerOpts{})
}

// stateCollector collects the current state of the registry.
type stateCollector struct {
	*Handler

	certificate func() time.Time
}

func damagedDesc() *prometheus.Desc {
	return prometheus.NewDesc("airgap_registry_damaged_chunks", "Chunks of bundles and pushed blobs that a client requested and that do not match their hash.", nil, nil)
}

func unreadableDesc() *prometheus.Desc {
	return prometheus.NewDesc("airgap_registry_unreadable_chunks", "Chunks of bundles and pushed blobs that a client requested and that the disk does not return.", nil, nil)
}

func behindDesc() *prometheus.Desc {
	return prometheus.NewDesc("airgap_registry_behind", "Pushes and deletions of another registry that this registry has not applied yet.", []string{"peer"}, nil)
}

func askedDesc() *prometheus.Desc {
	return prometheus.NewDesc("airgap_registry_peer_answered_timestamp_seconds", "Time of the last answer of another registry; 0: it has not answered yet.", []string{"peer"}, nil)
}

func certificateDesc() *prometheus.Desc {
	return prometheus.NewDesc("airgap_registry_certificate_expiry_timestamp_seconds", "Time when the server certificate expires.", nil, nil)
}

// Describe sends the descriptions of all metrics that Collect can send.
func (stateCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{damagedDesc(), unreadableDesc(), behindDesc(), askedDesc(), certificateDesc()} {
		to <- d
	}
}

// Collect sends the current values.
func (s stateCollector) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	damaged, unreadable := 0, 0
	for _, d := range s.damage.Current() {
		if d.Cause != "" {
			unreadable++
		} else {
			damaged++
		}
	}
	gauge(damagedDesc(), float64(damaged))
	gauge(unreadableDesc(), float64(unreadable))
	for _, l := range s.lags() {
		gauge(behindDesc(), float64(l.Behind), l.Peer)
		asked := 0.0
		if !l.Asked.IsZero() {
			asked = float64(l.Asked.Unix())
		}
		gauge(askedDesc(), asked, l.Peer)
	}
	if s.certificate != nil {
		gauge(certificateDesc(), float64(s.certificate().Unix()))
	}
}
