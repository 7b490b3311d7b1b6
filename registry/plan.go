package registry

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/registry/trust"
)

// The functions in this file list the changes that the steps would make, for --dry-run. Each belongs
// to the Run of one step.

func (s Store) plan(v *bundle.View, trusted []*ecdsa.PublicKey) ([]string, error) {
	left, err := s.left(v, trusted)
	if err != nil {
		return nil, err
	}
	var changes []string
	for _, b := range left {
		dir, err := s.bundleDir(b)
		if err != nil {
			return nil, err
		}
		if s.InPlace {
			changes = append(changes, fmt.Sprintf("serve bundle %s in place: link %s to it", b.Index().Name, dir))
			continue
		}
		changes = append(changes, fmt.Sprintf("copy bundle %s to %s (%s)", b.Index().Name, dir, ui.Size(b.Index().Summary().Size)))
	}
	unsigned, err := s.unsigned(v, trusted)
	for _, b := range unsigned {
		changes = append(changes, fmt.Sprintf("add signatures to bundle %s in %s", b.Index().Name, s.Dir))
	}
	return changes, err
}

func planCertificates(p trust.PKI, names []string) []string {
	var changes []string
	if _, err := os.Stat(p.CAFile()); err != nil {
		changes = append(changes, fmt.Sprintf("make the registry's CA: %s, %s", p.CAFile(), filepath.Base(p.CAKeyFile())))
	}
	return append(changes, fmt.Sprintf("make the registry's certificate for %s: %s, %s",
		strings.Join(trust.WithLocalhost(names), ", "), p.CertificateFile(), filepath.Base(p.KeyFile())))
}

func (s Service) plan(ctx context.Context) ([]string, error) {
	changes, err := host.PlanFiles(map[string][]byte{s.OptionsFile: s.options()}, 0o644)
	if err != nil {
		return changes, err
	}
	if _, err := s.systemctl(ctx, "is-enabled", "--quiet", UnitName); err != nil {
		changes = append(changes, "enable "+UnitName)
	}
	return append(changes, "restart "+UnitName+", so that it serves the bundle"), ctx.Err()
}
