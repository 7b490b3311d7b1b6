package settings

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"airgap.dev/airgap/internal/host"
)

// FirewallState is firewalld, compared with the installation.
type FirewallState struct {
	Running bool
	Opened  bool     // airgap has added openings
	Later   bool     // it does not run, and the next boot starts it
	Missing []string // "runtime, zone public: rich-rule=…"
}

// maxMissing limits a report: a deleted zone has an opening for each port and node.
const maxMissing = 10

// ReadFirewall compares firewalld's runtime and permanent configurations with the wanted openings.
func ReadFirewall(ctx context.Context, m host.Machine, want Firewall) (FirewallState, error) {
	var s FirewallState
	_, err := os.Stat(m.Path(firewalldUndo))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	s.Opened = err == nil
	if s.Running, err = m.UnitIs(ctx, "is-active", "firewalld"); err != nil {
		return s, err
	}
	if !s.Running {
		s.Later, err = m.UnitIs(ctx, "is-enabled", "firewalld")
		return s, err
	}
	if !s.Opened {
		return s, nil
	}
	changes, err := firewalld{m, want}.pending(ctx)
	for _, c := range changes {
		for _, opening := range c.what {
			if c.verb == "add" && len(s.Missing) < maxMissing {
				s.Missing = append(s.Missing, fmt.Sprintf("%s, zone %s: %s", c.view.name, c.zone, opening))
			}
		}
	}
	return s, err
}
