package fleet

import (
	"context"
	"io"
	"slices"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight/netprobe"
)

// present returns the site without the nodes that the command goes on without: nobody can measure from there.
func (f *Fleet) present() *site.Site {
	s, cluster := *f.site, *f.site.Config
	cluster.Nodes = slices.DeleteFunc(slices.Clone(cluster.Nodes), func(n config.Node) bool {
		return n.Name != f.site.Node.Name && !slices.ContainsFunc(f.Members, func(m *Member) bool { return m.Node.Name == n.Name })
	})
	s.Config = &cluster
	return &s
}

// measure measures the network between all hosts. The other hosts run airgap netprobe agent through SSH.
func (f *Fleet) measure(ctx context.Context, p ui.Progress) (*netprobe.Matrix, error) {
	here := f.present()
	plan, err := hostcheck.ProbePlan(here.Config)
	if err != nil {
		return nil, err
	}
	links := map[int]netprobe.Link{}
	for i, n := range here.Config.Nodes {
		if n.Name == f.site.Node.Name {
			links[i] = hostcheck.LocalAgent(ctx)
			continue
		}
		m := f.Member(n.Name)
		links[i] = netprobe.Piped(func(in io.Reader, out io.Writer) error {
			m.log.note("airgap netprobe agent")
			return m.client.Run(ctx, remote.Command{Args: []string{"airgap", "netprobe", "agent"}, Stdin: in, Stdout: out, Stderr: m.log})
		})
	}
	return hostcheck.Measured(ctx, plan, links, p)
}

// Member returns the host of a node. It panics if airgap.yaml does not list the node.
func (f *Fleet) Member(name string) *Member {
	i := slices.IndexFunc(f.Members, func(m *Member) bool { return m.Node.Name == name })
	return f.Members[i]
}
