package result

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// WriteTextfile writes the report for node_exporter's textfile collector: at
// once, through a temporary file beside it, readable by all. The collector
// reads files whose names end in .prom.
func (r Report) WriteTextfile(path string) error {
	m := metrics{prometheus.NewRegistry()}
	m.set("ok", "1 where everything held at the last verdict or look.", oneIf(r.OK))
	m.set("last_run_timestamp_seconds", "When that was, in seconds since 1970.", float64(r.Began.Add(r.Took).UnixMilli())/1000)
	m.set("duration_seconds", "How long it took, or has been watched.", r.Took.Seconds())
	holds := m.byRule("rule_holds", "1 where the rule holds, 0 where it is broken; absent where it is broken as in the baseline, could not be judged or does not apply.")
	known := m.byRule("rule_known", "1 where the rule is broken as in the baseline, which decides nothing.")
	unseen := m.byRule("rule_unseen", "1 where the rule could not be judged.")
	findings := m.byRule("findings", "Findings of the rule that decide the verdict.")
	for _, rule := range r.Rules {
		if rule.Outcome == LeftOut {
			continue
		}
		unseen.WithLabelValues(rule.ID).Set(oneIf(rule.Outcome == Unseen))
		known.WithLabelValues(rule.ID).Set(oneIf(rule.Outcome == Known))
		if rule.Outcome == Holds || rule.Outcome == Broken {
			holds.WithLabelValues(rule.ID).Set(oneIf(rule.Outcome == Holds))
		}
		if rule.Outcome != Unseen {
			findings.WithLabelValues(rule.ID).Set(float64(rule.Findings))
		}
	}
	if r.Baseline != nil {
		m.set("known_findings", "Findings that the baseline had too.", float64(len(r.Baseline.Known)))
	}
	m.set("nodes", "Nodes that were looked at.", float64(r.Counts.Nodes))
	m.set("pods", "Pods that were looked at.", float64(r.Counts.Pods))
	m.set("workloads", "DaemonSets, Deployments and StatefulSets that were looked at.", float64(r.Counts.Workloads))
	m.set("images", "Different images that run.", float64(r.Counts.Images))
	m.kinds(r.Kinds)
	m.set("client_log_lines", "Warnings and errors that client-go would have logged.", float64(r.Logged))
	if err := prometheus.WriteToTextfile(path, m.registry); err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}

// metrics are those of one report, each named airgap_verify_NAME.
type metrics struct{ registry *prometheus.Registry }

func (m metrics) set(name, help string, value float64) {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "airgap", Subsystem: "verify", Name: name, Help: help})
	g.Set(value)
	m.registry.MustRegister(g)
}

func (m metrics) kinds(all []KindResult) {
	age := m.by("kind", "kind_age_seconds", "How long ago the API server confirmed what is cached of the kind: by a list, an event or a bookmark.")
	restarts := m.by("kind", "kind_restarts", "Watches of the kind after the first.")
	errors := m.by("kind", "kind_errors", "Requests for the kind that failed, and answers that broke off.")
	back := m.by("kind", "kind_went_back", "Times that the kind's resourceVersion went back, and it was listed again.")
	for _, k := range all {
		age.WithLabelValues(k.Kind).Set(k.Age)
		restarts.WithLabelValues(k.Kind).Set(float64(k.Restarts))
		errors.WithLabelValues(k.Kind).Set(float64(k.Errors))
		back.WithLabelValues(k.Kind).Set(float64(k.WentBack))
	}
}

func (m metrics) byRule(name, help string) *prometheus.GaugeVec { return m.by("rule", name, help) }

func (m metrics) by(label, name, help string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "airgap", Subsystem: "verify", Name: name, Help: help}, []string{label})
	m.registry.MustRegister(g)
	return g
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
