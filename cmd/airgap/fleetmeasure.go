package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/install"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/netprobe"
)

// measure has all hosts measure what the network between them lets through: this one by
// itself, the others through their sessions.
func (f *fleet) measure(ctx context.Context, p ui.Progress) (*netprobe.Matrix, error) {
	plan, err := hostcheck.ProbePlan(f.site.Config)
	if err != nil {
		return nil, err
	}
	links := map[int]netprobe.Link{}
	for i, n := range f.site.Config.Nodes {
		if n.Name == f.site.Node.Name {
			links[i] = hostcheck.AgentHere(ctx)
			continue
		}
		m := f.member(n.Name)
		links[i] = netprobe.Piped(func(in io.Reader, out io.Writer) error {
			m.log.note("airgap netprobe agent")
			return m.client.Run(ctx, remote.Command{Args: []string{"airgap", "netprobe", "agent"}, Stdin: in, Stdout: out, Stderr: m.log})
		})
	}
	return hostcheck.Measured(ctx, plan, links, p)
}

func (f *fleet) member(name string) *member {
	i := slices.IndexFunc(f.members, func(m *member) bool { return m.node.Name == name })
	return f.members[i]
}

// preflightAll judges all hosts of airgap.yaml and the network between them, from the
// first one, through SSH.
func (a *app) preflightAll(ctx context.Context, dir string, keys []string, node, page string, choice preflight.Choice) error {
	if err := cmp.Or(mustBeRoot("preflight --all-hosts"), site.CheckLater("--network-page", page)); err != nil {
		return err
	}
	v, t, err := site.OpenWhole(dir, keys)
	if err != nil {
		return err
	}
	defer v.Close()
	s, err := site.New(v.Top().Index(), node)
	if err != nil {
		return err
	}
	s.Required = t.Required
	if s.Config.SSH == nil || len(s.Config.Nodes) == 1 {
		return advice.Add(errors.New("judge all hosts: airgap.yaml has no section ssh, or no other host"),
			"on each host: airgap preflight DIR --output json >REPORT; between them: airgap netprobe --help")
	}
	f, err := a.connectFleet(ctx, s, v.Top(), installOptions{skip: choice.Skip})
	if err != nil {
		return err
	}
	defer f.close()
	f.only = choice.Only
	p := a.newProgress()
	stored, err := install.Stored(s, v, t.Keys)
	if err != nil {
		return err
	}
	own, err := hostcheck.Judge(ctx, s, choice, stored, nodesteps.DryRunFrom(s, v))
	if err != nil {
		return err
	}
	others, err := f.prepare(ctx, p)
	if err != nil {
		return err
	}
	m, err := f.measure(ctx, p)
	if err != nil {
		return err
	}
	if err := writeNetworkPage(s, page, m); err != nil {
		return err
	}
	between, err := hostcheck.JudgeBetween(ctx, s, m, choice)
	if err != nil {
		return err
	}
	all := append(preflight.Reports{own}, others...)
	p.Say("the other hosts have airgap.rpm now; rpm -e airgap takes it away again")
	return a.showAll(append(all, between), "mend what failed (airgap docs NAME has the page of a check) and run the command again")
}

// showAll prints the reports, and turns a bad one into exit code 3 with advice.
func (a *app) showAll(all preflight.Reports, next string) error {
	if err := a.printReport(all, forms{all.Text, all.JUnit, all.HTML}); err != nil {
		return err
	}
	if !all.Passed() {
		return advice.Add(&coded{exitPreflight, errShown}, "%s", next)
	}
	return nil
}
