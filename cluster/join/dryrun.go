package join

import (
	"context"
	"os"
	"path/filepath"

	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
)

// DryRunAt resolves the transaction against the registry that is to be joined.
func DryRunAt(s *site.Site, h *Server) func(context.Context) error {
	return func(ctx context.Context) error {
		dir, remove, err := site.Scratch("ca")
		if err != nil {
			return err
		}
		defer remove()
		ca := filepath.Join(dir, "ca.crt")
		if err := os.WriteFile(ca, h.CA, 0o600); err != nil {
			return err
		}
		return nodesteps.DryRun(ctx, s, h.Open, h.url(""), ca)
	}
}
