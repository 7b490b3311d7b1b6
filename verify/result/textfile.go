package result

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// WriteTextfile writes the report as metrics for node_exporter's textfile collector. It writes a
// temporary file in the same directory and renames it, with mode 0644. The collector reads files
// with the suffix .prom.
func (r Report) WriteTextfile(path string) error {
	m := metrics{prometheus.NewRegistry()}
	m.set("ok", "1 if all rules were ok at the end of the last run, or at the last update of a run that watches.", oneIf(r.OK))
	m.set("last_run_timestamp_seconds", "Time of the last run or update, in seconds since 1970.", float64(r.Began.Add(r.Took).UnixMilli())/1000)
	m.set("duration_seconds", "Duration of the run so far.", r.Took.Seconds())
	holds := m.byRule("rule_holds", "1 if the rule is ok, 0 if it is broken; absent if it is broken as in the baseline, could not be judged or does not apply.")
	known := m.byRule("rule_known", "1 if the rule is broken as in the baseline, which does not affect the result.")
	unseen := m.byRule("rule_unseen", "1 if the rule could not be judged.")
	findings := m.byRule("findings", "Findings of the rule that affect the result.")
	for _, rule := range r.Rules {
		if rule.Outcome == LeftOut {
			continue
		}
		unseen.WithLabelValues(rule.ID).Set(oneIf(rule.Outcome == Unseen))
		known.WithLabelValues(rule.ID).Set(oneIf(rule.Outcome == Known))
		if rule.Outcome == OK || rule.Outcome == Broken {
			holds.WithLabelValues(rule.ID).Set(oneIf(rule.Outcome == OK))
		}
		if rule.Outcome != Unseen {
			findings.WithLabelValues(rule.ID).Set(float64(rule.Findings))
		}
	}
	if r.Baseline != nil {
		m.set("known_findings", "Findings that are also in the baseline.", float64(len(r.Baseline.Known)))
	}
	m.set("nodes", "Observed nodes.", float64(r.Counts.Nodes))
	m.set("pods", "Observed pods.", float64(r.Counts.Pods))
	m.set("workloads", "Observed DaemonSets, Deployments and StatefulSets.", float64(r.Counts.Workloads))
	m.set("images", "Different images of running containers.", float64(r.Counts.Images))
	m.kinds(r.Kinds)
	m.set("client_log_lines", "Warnings and errors that client-go would have logged.", float64(r.Logged))
	if err := prometheus.WriteToTextfile(path, m.registry); err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}

// metrics are the metrics of one report, with names airgap_verify_NAME.
type metrics struct{ registry *prometheus.Registry }

func (m metrics) set(name, help string, value float64) {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "airgap", Subsystem: "verify", Name: name, Help: help})
	g.Set(value)
	m.registry.MustRegister(g)
}

func (m metrics) kinds(all []KindResult) {
	age := m.by("kind", "kind_age_seconds", "Time since the API server last confirmed the cache of the kind with a list, an event or a bookmark.")
	restarts := m.by("kind", "kind_restarts", "Watches of the kind after the first one.")
	errors := m.by("kind", "kind_errors", "Failed requests and interrupted answers of the kind.")
	back := m.by("kind", "kind_went_back", "Times that the kind's resourceVersion decreased and the kind was listed again.")
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
