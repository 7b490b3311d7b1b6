package fleet

import (
	"context"
	"io"
	"slices"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight/netprobe"
)

// measure measures the network between all hosts. The other hosts run airgap netprobe agent through SSH.
func (f *Fleet) measure(ctx context.Context, p ui.Progress) (*netprobe.Matrix, error) {
	here := f.site.Keeping(memberNames(f.Members)) // nobody can measure from the others
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
