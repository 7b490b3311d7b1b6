package preflight

import (
	"context"
	"encoding/json"
	"fmt"

	"airgap.dev/airgap/internal/nevra"
)

// broughtFile is where airgap keeps which packages it has installed on a host.
const broughtFile = "var/lib/airgap/dnf/installed.json"

// readBrought reads which packages airgap brought to a server, which a later bundle
// may replace: all others stay as they are.
func readBrought(_ context.Context, r reader, f *Facts) error {
	text, err := r.optional(broughtFile)
	if err != nil || text == "" {
		return err
	}
	var done struct {
		Packages []nevra.NEVRA
	}
	if err := json.Unmarshal([]byte(text), &done); err != nil {
		return fmt.Errorf("read %s: %w", broughtFile, err)
	}
	for _, p := range done.Packages {
		if !p.Valid() {
			return fmt.Errorf("read %s: %q is no package", broughtFile, p)
		}
		f.Brought = append(f.Brought, nevra.Text{NEVRA: p})
	}
	return nil
}
