package facts

import (
	"context"
	"fmt"
	"strings"
)

func readInit(_ context.Context, r reader, f *Facts) error {
	var err error
	f.Init, err = r.text("proc/1/comm")
	return err
}

// readSystemd reads the first line of systemctl --version: "systemd 252 (252-51.el9)".
func readSystemd(ctx context.Context, r reader, f *Facts) error {
	out, err := r.output(ctx, "systemctl", "--version")
	if err != nil {
		return err
	}
	if _, err := fmt.Sscanf(out, "systemd %d", &f.Systemd); err != nil {
		first, _, _ := strings.Cut(out, "\n")
		return fmt.Errorf("parse the version of systemd %q: %w", first, err)
	}
	return nil
}
