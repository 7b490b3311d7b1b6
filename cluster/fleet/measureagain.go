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
	self := []string{f.site.Node.Name}
	if !slices.Contains(closedBefore(f.measured), f.site.Node.Name) {
		return steps
	}
	passed := false
	return slices.Insert(slices.Clone(steps), at+1, step.Step{
		Name: nodesteps.MeasureAgain, Title: "Measure the opened ports from the other hosts",
		Done: func(context.Context) (bool, error) { return passed, nil },
		Run: func(ctx context.Context) error {
			err := f.measureAgain(ctx, self, p)
			passed = err == nil
			return err
		},
	})
}

// StillClosed measures again after all hosts have joined, if the firewall of another host closed ports
// before the installation. The error names the ports that are still closed.
func (f *Fleet) StillClosed(ctx context.Context, p ui.Progress) error {
	there := memberNames(f.Members)
	hosts := slices.DeleteFunc(closedBefore(f.measured), func(name string) bool { return !slices.Contains(there, name) })
	if len(hosts) == 0 {
		return nil
	}
	return f.measureAgain(ctx, hosts, p)
}

// closedBefore returns the hosts whose firewall closed ports before the installation.
func closedBefore(before *netprobe.Matrix) []string {
	if before == nil {
		return nil
	}
	var names []string
	for i, h := range before.Hosts {
		if before.ClosedBy(i) {
			names = append(names, h.Name)
		}
	}
	return names
}

// measureAgain returns an error if one of the hosts still closes ports of the cluster.
func (f *Fleet) measureAgain(ctx context.Context, names []string, p ui.Progress) error {
	m, err := f.measure(ctx, p)
	if err != nil {
		return err
	}
	can, err := hostcheck.CanChoose(f.site)
	if err != nil {
		return err
	}
	_, needs := hostcheck.NeedsOf(f.site.Config, m, can)
	var hosts []int // in this measurement
	for i, h := range m.Hosts {
		if slices.Contains(names, h.Name) {
			hosts = append(hosts, i)
		}
	}
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
