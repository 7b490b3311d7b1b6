package join

import (
	"context"
	"fmt"
	"strings"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/pki"
)

// TokenFor returns the line and a new join token for a node of this host's cluster. An empty name is the
// only node that has not joined. If all nodes have joined, the line has no token.
func TokenFor(ctx context.Context, keys []string, name string, console ui.Console) (Line, error) {
	if err := site.MustBeInstalled("join --new-token"); err != nil {
		return Line{}, err
	}
	s, err := site.Stored(keys, "")
	if err != nil {
		return Line{}, err
	}
	if err := pki.RefuseDuringCARotation(s.Machine.Machine, "create a join token"); err != nil {
		return Line{}, err
	}
	return tokenLine(ctx, s, name, console)
}

// tokenLine is TokenFor for a site.
func tokenLine(ctx context.Context, s *site.Site, name string, console ui.Console) (Line, error) {
	if name == "" {
		missing, err := MissingNodes(ctx, s)
		if err != nil {
			return Line{}, err
		}
		switch len(missing) {
		case 0:
			return LineFor(s, config.Node{})
		case 1:
			name = missing[0].Name
		default:
			var all []string
			for _, n := range missing {
				all = append(all, n.Name)
			}
			return Line{}, advice.Add(fmt.Errorf("create a join token: a token is for one node, and %s have not joined", strings.Join(all, ", ")), "run airgap join --new-token --node %s, and the same for each other node", missing[0].Name)
		}
	}
	node, err := s.Listed(name)
	if err != nil {
		return Line{}, err
	}
	if err := NotAlive(ctx, s, node); err != nil {
		return Line{}, err
	}
	return LineWithToken(ctx, s, node, console.Progress().Say)
}
