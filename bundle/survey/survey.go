// Package survey records the facts of a server for the bundle.
package survey

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"airgap.dev/airgap/bundle/plan"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight/facts"
)

// Options name the source and the target of a survey.
type Options struct {
	From string // output of the survey script, NAME.survey or NAME.survey.gz; "": read this host
	File string // file to write the facts to; it must not exist; "": none
	// Redact leaves out host names, addresses, serial numbers and users.
	Redact bool
	As     string // name of the server in redacted facts; "": the name of File
	Say    func(format string, args ...any)
}

// Take reads the facts of a server and writes them to File. It creates the directory of
// File. It fails if File exists.
func Take(ctx context.Context, o Options) (taken *facts.Facts, err error) {
	as := ""
	if o.Redact {
		if as, err = o.alias(); err != nil {
			return nil, err
		}
	}
	if o.From != "" {
		taken, err = plan.LoadFacts(ctx, o.From)
	} else {
		taken, err = facts.Survey(ctx, host.Local{})
	}
	if err == nil && o.Redact {
		taken, err = Redact(taken, as)
	}
	if err != nil || o.File == "" {
		return taken, err
	}
	if err := save(taken, o.File); err != nil {
		return nil, err
	}
	o.Say("wrote %s: %s", o.File, about(taken))
	return taken, nil
}

func save(taken *facts.Facts, path string) error {
	// Mkdir, not MkdirAll: without a mounted USB drive, MkdirAll would create the mount
	// point.
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write facts: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return advice.Add(fmt.Errorf("write facts: %w", err), "remove the old file first, or choose another name")
	}
	if err != nil {
		return fmt.Errorf("write facts: %w", err)
	}
	if err := errors.Join(taken.Write(f), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write facts: %w", errors.Join(err, os.Remove(path)))
	}
	return nil
}

// about summarizes a server in one line.
func about(taken *facts.Facts) string {
	is := fmt.Sprintf("%s %s, kernel %s, %d packages", taken.OS.ID, taken.OS.Version, taken.Kernel.Release, len(taken.Packages))
	if found := gpu.Summary(gpu.Detect(taken.PCI)); found != "" {
		is += ", " + found
	}
	return is
}
