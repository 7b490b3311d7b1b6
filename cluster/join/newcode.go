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

// TokenFor is codeLine for this host's cluster.
func TokenFor(ctx context.Context, keys []string, name string, console ui.Console) (Line, error) {
	if err := site.MustBeInstalled("join --new-token"); err != nil {
		return Line{}, err
	}
	s, err := site.Stored(keys, "")
	if err != nil {
		return Line{}, err
	}
	if err := pki.RefuseDuringCARotation(s.Machine.Machine, "make a code for joining"); err != nil {
		return Line{}, err
	}
	return codeLine(ctx, s, name, console)
}

// codeLine has a code for the node of that name; "" is the only one that has not
// joined. Where all have, the line is for them, and has no code.
func codeLine(ctx context.Context, s *site.Site, name string, console ui.Console) (Line, error) {
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
			return Line{}, advice.Add(fmt.Errorf("make a code: a code is for one node, and %s have not joined", strings.Join(all, ", ")), "airgap join --new-token --node %s, and one for each other", missing[0].Name)
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
