package facts

import (
	"context"
	"encoding/json"
	"fmt"

	"airgap.dev/airgap/internal/nevra"
)

// installedFile lists the packages that airgap has installed on a host.
const installedFile = "var/lib/airgap/dnf/installed.json"

// readInstalledByAirgap reads the packages that airgap has installed on a server. A later
// bundle may replace these packages, and no others.
func readInstalledByAirgap(_ context.Context, r reader, f *Facts) error {
	text, err := r.optional(installedFile)
	if err != nil || text == "" {
		return err
	}
	var done struct {
		Packages []nevra.NEVRA
	}
	if err := json.Unmarshal([]byte(text), &done); err != nil {
		return fmt.Errorf("read %s: %w", installedFile, err)
	}
	for _, p := range done.Packages {
		if !p.Valid() {
			return fmt.Errorf("read %s: %q is not a package", installedFile, p)
		}
		f.InstalledByAirgap = append(f.InstalledByAirgap, nevra.Text{NEVRA: p})
	}
	return nil
}
