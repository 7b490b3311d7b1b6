// Package survey writes down what a server is, for the bundle.
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
	"airgap.dev/airgap/preflight"
)

// Options say where a survey is read from, and written to.
type Options struct {
	From string // what the script wrote on a server, NAME.survey or NAME.survey.gz; "": this host
	File string // file that the facts are written to; it must not be there yet; "": none
	Say  func(format string, args ...any)
}

// Take reads the facts of a server, and writes them to File, whose directory it makes. A file that is
// there already is an error.
func Take(ctx context.Context, o Options) (facts *preflight.Facts, err error) {
	if o.From != "" {
		facts, err = plan.LoadFacts(ctx, o.From)
	} else {
		facts, err = preflight.Survey(ctx, host.Local{})
	}
	if err != nil || o.File == "" {
		return facts, err
	}
	if err := save(facts, o.File); err != nil {
		return nil, err
	}
	o.Say("wrote %s: %s", o.File, about(facts))
	return facts, nil
}

func save(facts *preflight.Facts, path string) error {
	// One directory: more would be the stick's place where no stick is.
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write facts: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return advice.Add(fmt.Errorf("write facts: %w", err), "remove the old facts first, or choose another name")
	}
	if err != nil {
		return fmt.Errorf("write facts: %w", err)
	}
	if err := errors.Join(facts.Write(f), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write facts: %w", errors.Join(err, os.Remove(path)))
	}
	return nil
}

// about says in a few words what a server is.
func about(facts *preflight.Facts) string {
	is := fmt.Sprintf("%s %s, kernel %s, %d packages", facts.OS.ID, facts.OS.Version, facts.Kernel.Release, len(facts.Packages))
	if found := gpu.Summary(gpu.Detect(facts.PCI)); found != "" {
		is += ", " + found
	}
	return is
}
