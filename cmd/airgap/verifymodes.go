package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/verify"
)

// Values of --baseline.
const (
	saveBaseline    = "save"
	compareBaseline = "compare"
)

// verifyModes are the ways to verify beside waiting for a verdict.
type verifyModes struct {
	list, watch    bool
	only, skip     []string
	baseline, file string // save or compare; FILE
	since          string
	from           time.Time // what since says
	scope          []string  // what --namespace says, sorted
	textfile       string
}

func (m *verifyModes) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&m.list, "list", false, "list the rules")
	f.BoolVar(&m.watch, "watch", false, "stay, and tell each change as it happens")
	f.StringSliceVar(&m.only, "only", nil, "the rules to judge, by id; default: all")
	f.StringSliceVar(&m.skip, "skip", nil, "rules to leave out, by id")
	f.StringVar(&m.baseline, "baseline", "", "save: keep the cluster's state in FILE, before a change; compare: judge by FILE, after it")
	f.StringVar(&m.since, "since", "", "what went wrong since then counts too: 2h, or a time such as 2026-11-21T08:00:00Z")
	f.StringVar(&m.textfile, "textfile", "", "write the result to this file for Prometheus, too; its name ends in .prom")
}

// check reports what does not go together, and files that could not be written
// after the wait.
func (m *verifyModes) check(cmd *cobra.Command, output string, scope []string) error {
	switch {
	case m.watch && cmd.Flags().Changed("soak"):
		return advice.Usagef("airgap verify: --watch waits for no soak window: leave --soak away")
	case m.watch && m.baseline == saveBaseline:
		return advice.Usagef("airgap verify: --baseline save is for a run that ends: leave --watch away")
	case m.watch && output != asText && output != asJSON:
		return advice.Usagef("airgap verify --watch: --output %s is for a single verdict; want text, or json for a stream of events", output)
	case m.textfile != "" && !strings.HasSuffix(m.textfile, ".prom"):
		return advice.Usagef("airgap verify: --textfile %s: node_exporter reads only names that end in .prom", m.textfile)
	}
	m.scope = slices.Compact(slices.Sorted(slices.Values(scope)))
	if m.baseline != "" {
		if err := oneOf("baseline", m.baseline, saveBaseline, compareBaseline); err != nil {
			return err
		}
	}
	return cmp.Or(checkLater("--textfile", m.textfile), checkLater("--baseline "+m.baseline, m.file), m.parseSince(time.Now()), m.checkRules(scope))
}

func (m *verifyModes) parseSince(now time.Time) error {
	if m.since == "" {
		return nil
	}
	ago, err := time.ParseDuration(m.since)
	m.from = now.Add(-ago)
	if err != nil {
		m.from, err = time.Parse(time.RFC3339, m.since)
	}
	if err != nil || !m.from.Before(now) {
		return advice.Usagef("airgap verify: --since %q: want a duration such as 2h, or a time in the past such as 2026-11-21T08:00:00Z", m.since)
	}
	return nil
}

// checkRules wants ids that there are, and that the other flags leave something
// to judge for.
func (m *verifyModes) checkRules(scope []string) error {
	all := verify.Rules(registriesWhole())
	given := map[string]bool{"--since": m.since != "", "--baseline compare": m.baseline == compareBaseline}
	for _, id := range slices.Concat(m.only, m.skip) {
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
		chosen := r.Needs == "" && len(m.only) == 0 || given[r.Needs] || slices.Contains(m.only, r.ID)
		return chosen && !slices.Contains(m.skip, r.ID) && r.Within(scope)
	}
	if !slices.ContainsFunc(all, judged) {
		return advice.Usagef("airgap verify: --only, --skip and --namespace leave no rule to judge; --namespace leaves those about pods, workloads, Jobs and their images")
	}
	return nil
}

// asksFor tells whether a flag asks for this very rule.
func (m *verifyModes) asksFor(id string) bool {
	return !slices.Contains(m.skip, id) && (slices.Contains(m.only, id) || id == "since" && m.since != "")
}

// before is the baseline to compare with, nil for none.
func (m *verifyModes) before() (*verify.Baseline, error) {
	if m.baseline != compareBaseline {
		return nil, nil //nolint:nilnil // as said above
	}
	f, err := os.Open(m.file)
	if err != nil {
		return nil, fmt.Errorf("read the baseline: %w", err)
	}
	defer f.Close()
	b, err := verify.ReadBaseline(f)
	if err != nil {
		return nil, advice.Add(fmt.Errorf("read the baseline %s: %w", m.file, err), "airgap verify --baseline save FILE writes one, before a change")
	}
	if b.Namespaces != nil && !slices.Equal(b.Namespaces, m.scope) {
		return nil, advice.Add(fmt.Errorf("compare with the baseline %s: it is of %s, this is to be of %s", m.file, scoped(b.Namespaces), scoped(m.scope)), "give --namespace as when it was saved")
	}
	return b, nil
}

func scoped(namespaces []string) string {
	if len(namespaces) == 0 {
		return "the whole cluster"
	}
	return "the namespaces " + strings.Join(namespaces, ", ")
}

// cluster is the id of the cluster, where a baseline needs it. The one to
// compare with has to be of the same.
func (m *verifyModes) cluster(ctx context.Context, client kubernetes.Interface, before *verify.Baseline) (string, error) {
	if m.baseline == "" {
		return "", nil
	}
	id, err := verify.ClusterID(ctx, client, m.scope)
	if err != nil {
		return "", err
	}
	if before != nil && before.Cluster != id {
		return "", advice.Add(fmt.Errorf("compare with the baseline %s: it is of another cluster (%s on %s), this one is %s", m.file, before.Cluster, orUnknown(before.About.Server), id),
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

// save writes the baseline, also of a cluster that is not well.
func (m *verifyModes) save(r verify.Report, cluster string, p ui.Progress) error {
	if m.baseline != saveBaseline {
		return nil
	}
	b := verify.NewBaseline(r, cluster)
	if b != nil {
		b.Namespaces = append([]string{}, m.scope...)
	}
	if b == nil {
		return advice.Add(errors.New("save the baseline: the cluster was never seen, nothing was written"), "run the command again once the API server answers")
	}
	if err := host.Write(m.file, 0o644, b.Write); err != nil {
		return fmt.Errorf("save the baseline: %w", err)
	}
	p.Say("the baseline is in %s (%s, %s, %s)", m.file, ui.Count(len(b.Snapshot.Nodes), "node"), ui.Count(len(b.Snapshot.Workloads), "workload"), ui.Count(len(b.Findings), "finding"))
	return nil
}

func (m *verifyModes) writeTextfile(r verify.Report) error {
	if m.textfile == "" {
		return nil
	}
	return r.WriteTextfile(m.textfile)
}
