package verification

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/verify"
	"airgap.dev/airgap/verify/result"
)

// Values of --baseline.
const (
	SaveBaseline    = "save"
	CompareBaseline = "compare"
)

// Modes has the ways to verify other than waiting for a result.
type Modes struct {
	List, Watch    bool
	Only, Skip     []string
	Baseline, File string // save or compare; FILE
	Since          string
	From           time.Time // time of Since
	Scope          []string  // namespaces of --namespace, sorted
	Textfile       string
}

// check requires compatible modes, and sets their start time and namespaces.
func (m *Modes) check(scope []string, now time.Time) error {
	switch {
	case m.Watch && m.Baseline == SaveBaseline:
		return advice.Usagef("airgap verify: --baseline save is for a run that ends: leave --watch away")
	case m.Textfile != "" && !strings.HasSuffix(m.Textfile, ".prom"):
		return advice.Usagef("airgap verify: --textfile %s: node_exporter reads only names that end in .prom", m.Textfile)
	}
	m.Scope = slices.Compact(slices.Sorted(slices.Values(scope)))
	return cmp.Or(site.CheckLater("--textfile", m.Textfile), site.CheckLater("--baseline "+m.Baseline, m.File), m.parseSince(now), m.checkRules(scope))
}

// parseSince reads a duration before now, or a time in RFC 3339.
func (m *Modes) parseSince(now time.Time) error {
	if m.Since == "" {
		return nil
	}
	ago, err := time.ParseDuration(m.Since)
	m.From = now.Add(-ago)
	if err != nil {
		m.From, err = time.Parse(time.RFC3339, m.Since)
	}
	if err != nil || !m.From.Before(now) {
		return advice.Usagef("airgap verify: --since %q: want a duration such as 2h, or a time in the past such as 2026-11-21T08:00:00Z", m.Since)
	}
	return nil
}

// checkRules requires existing ids, and that the other flags leave a rule
// to check.
func (m *Modes) checkRules(scope []string) error {
	all := verify.Rules(Probes()...)
	given := map[string]bool{"--since": m.Since != "", "--baseline compare": m.Baseline == CompareBaseline}
	for _, id := range slices.Concat(m.Only, m.Skip) {
		i := slices.IndexFunc(all, func(r verify.RuleInfo) bool { return r.ID == id })
		switch {
		case i < 0:
			return noSuchRule(id, all)
		case all[i].Needs != "" && !given[all[i].Needs]:
			return advice.Usagef("airgap verify: the rule %s is judged only with %s", id, all[i].Needs)
		}
	}
	if i := slices.IndexFunc(all, func(r verify.RuleInfo) bool { return m.asksFor(r.ID) && !r.Within(scope) }); i >= 0 {
		return advice.Usagef("airgap verify: the rule %s is about more than the namespaces %s: leave --namespace away, or do not ask for the rule", all[i].ID, strings.Join(scope, ", "))
	}
	judged := func(r verify.RuleInfo) bool {
		chosen := r.Needs == "" && len(m.Only) == 0 || given[r.Needs] || slices.Contains(m.Only, r.ID)
		return chosen && !slices.Contains(m.Skip, r.ID) && r.Within(scope)
	}
	if !slices.ContainsFunc(all, judged) {
		return advice.Usagef("airgap verify: --only, --skip and --namespace leave no rule to judge; --namespace leaves those about pods, workloads, Jobs and their images")
	}
	return nil
}

// asksFor tells whether a flag asks for this very rule.
func (m *Modes) asksFor(id string) bool {
	return !slices.Contains(m.Skip, id) && (slices.Contains(m.Only, id) || id == "since" && m.Since != "")
}

// Before is the baseline to compare with, nil for none.
func (m *Modes) Before() (*result.Baseline, error) {
	if m.Baseline != CompareBaseline {
		return nil, nil //nolint:nilnil // as said above
	}
	f, err := os.Open(m.File)
	if err != nil {
		return nil, fmt.Errorf("read the baseline: %w", err)
	}
	defer f.Close()
	b, err := result.ReadBaseline(f)
	if err != nil {
		return nil, advice.Add(fmt.Errorf("read the baseline %s: %w", m.File, err), "airgap verify --baseline save FILE writes one, before a change")
	}
	if b.Namespaces != nil && !slices.Equal(b.Namespaces, m.Scope) {
		return nil, advice.Add(fmt.Errorf("compare with the baseline %s: it is of %s, this is to be of %s", m.File, scoped(b.Namespaces), scoped(m.Scope)), "give --namespace as when it was saved")
	}
	return b, nil
}

func scoped(namespaces []string) string {
	if len(namespaces) == 0 {
		return "the whole cluster"
	}
	return "the namespaces " + strings.Join(namespaces, ", ")
}

// Cluster returns the id of the cluster, if a baseline needs it. The baseline to
// compare with must have the same.
func (m *Modes) Cluster(ctx context.Context, client kubernetes.Interface, before *result.Baseline) (string, error) {
	if m.Baseline == "" {
		return "", nil
	}
	id, err := verify.ClusterID(ctx, client, m.Scope)
	if err != nil {
		return "", err
	}
	if before != nil && before.Cluster != id {
		return "", advice.Add(fmt.Errorf("compare with the baseline %s: it is of another cluster (%s on %s), this one is %s", m.File, before.Cluster, orUnknown(before.About.Server), id),
			"name this cluster's baseline, or its --kubeconfig")
	}
	return id, nil
}

func orUnknown(s string) string {
	if s == "" {
		return "an unknown server"
	}
	return s
}

// Save writes the baseline, also of a cluster that is not well.
func (m *Modes) Save(r result.Report, cluster string, p ui.Progress) error {
	if m.Baseline != SaveBaseline {
		return nil
	}
	b := result.NewBaseline(r, cluster)
	if b != nil {
		b.Namespaces = append([]string{}, m.Scope...)
	}
	if b == nil {
		return advice.Add(errors.New("save the baseline: the cluster was never seen, nothing was written"), "run the command again once the API server answers")
	}
	if err := host.Write(m.File, 0o644, b.Write); err != nil {
		return fmt.Errorf("save the baseline: %w", err)
	}
	p.Say("the baseline is in %s (%s, %s, %s)", m.File, ui.Count(len(b.Snapshot.Nodes), "node"), ui.Count(len(b.Snapshot.Workloads), "workload"), ui.Count(len(b.Findings), "finding"))
	return nil
}

// WriteTextfile writes the result for Prometheus if --textfile names a file.
func (m *Modes) WriteTextfile(r result.Report) error {
	if m.Textfile == "" {
		return nil
	}
	return r.WriteTextfile(m.Textfile)
}
