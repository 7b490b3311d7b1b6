package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight/netprobe"
)

// MeasuringAgain returns the steps with a new measurement after this host has opened its ports. It adds
// none if this host's firewall closed no port before. f can be nil.
func (f *Fleet) MeasuringAgain(steps []step.Step, p ui.Progress) []step.Step {
	at := slices.IndexFunc(steps, func(s step.Step) bool { return s.Name == nodesteps.FirewallRules })
	if f == nil || at < 0 {
		return steps
	}
	self := slices.IndexFunc(f.site.Config.Nodes, func(n config.Node) bool { return n.Name == f.site.Node.Name })
	if !f.measured.ClosedBy(self) {
		return steps
	}
	passed := false
	return slices.Insert(slices.Clone(steps), at+1, step.Step{
		Name: nodesteps.MeasureAgain, Title: "Measure the opened ports from the other hosts",
		Done: func(context.Context) (bool, error) { return passed, nil },
		Run: func(ctx context.Context) error {
			err := f.measureAgain(ctx, []int{self}, p)
			passed = err == nil
			return err
		},
	})
}

// StillClosed measures again after all hosts have joined, if the firewall of another host closed ports
// before the installation. The error names the ports that are still closed.
func (f *Fleet) StillClosed(ctx context.Context, p ui.Progress) error {
	var hosts []int
	for i, n := range f.site.Config.Nodes {
		if n.Name != f.site.Node.Name && f.measured.ClosedBy(i) {
			hosts = append(hosts, i)
		}
	}
	if len(hosts) == 0 {
		return nil
	}
	return f.measureAgain(ctx, hosts, p)
}

// measureAgain returns an error if one of the hosts still closes ports of the cluster.
func (f *Fleet) measureAgain(ctx context.Context, hosts []int, p ui.Progress) error {
	m, err := f.measure(ctx, p)
	if err != nil {
		return err
	}
	can, err := hostcheck.CanChoose(f.site)
	if err != nil {
		return err
	}
	_, needs := hostcheck.NeedsOf(f.site.Config, m, can)
	return stillClosed(m, hosts, needs)
}

func stillClosed(m *netprobe.Matrix, hosts []int, needs netprobe.Needs) error {
	var lines, fixes []string
	for _, finding := range m.StillClosed(hosts, needs) {
		lines = append(lines, finding.What+": "+strings.Join(finding.Between, "; "))
		for _, packet := range finding.Capture {
			lines = append(lines, "  "+packet)
		}
		if !slices.Contains(fixes, finding.Fix) {
			fixes = append(fixes, finding.Fix)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	err := fmt.Errorf("measure the opened ports: %w", errors.New(strings.Join(lines, "\n")))
	return advice.Add(err, "%s; then run the same command again", strings.Join(fixes, "; "))
}
