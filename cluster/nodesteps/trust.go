package nodesteps

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// TrustFiles are the places of the keys that bundles must be signed with.
type TrustFiles struct {
	Required string // file with the required keys
	Package  string // directory with the keys of airgap.rpm
	Kept     string // directory for copies of them
}

// SiteTrust are the places on a server.
func SiteTrust() TrustFiles {
	return TrustFiles{Required: site.RequiredFile, Package: site.TrustDir, Kept: site.KeptKeysDir}
}

// TrustStep writes down which keys bundles must be signed with on this host, for
// later commands and for the registry's service. It also keeps the keys of airgap.rpm: the
// package of another builder replaces them, and the registry still serves the earlier bundle.
func TrustStep(files TrustFiles, required []string) step.Step {
	wanted := func() (map[string][]byte, error) {
		all, err := files.keys()
		if err == nil && len(required) > 0 {
			all[files.Required] = []byte(strings.Join(required, "\n") + "\n")
		}
		return all, err
	}
	return step.Step{
		Name: "trust", Title: "Hold to the keys that bundles must be signed with",
		Done: func(context.Context) (bool, error) {
			all, err := wanted()
			for file, text := range all {
				if same, err := host.FileMatches(file, text, 0o644); err != nil || !same {
					return false, err
				}
			}
			return err == nil, err
		},
		Plan: func(context.Context) ([]string, error) {
			all, err := wanted()
			if err != nil {
				return nil, err
			}
			return host.PlanFiles(all, 0o644)
		},
		Run: func(context.Context) error {
			all, err := wanted()
			for file, text := range all {
				err = errors.Join(err, host.WriteFile(file, text, 0o644))
			}
			return err
		},
		Undo: func(context.Context) error {
			return errors.Join(host.Remove(files.Required), files.removeKept())
		},
	}
}

// keys are the copies of the keys of airgap.rpm, by path. Their names are by fingerprint, so that
// the keys of several builders stay apart. Keys that were kept before stay.
func (t TrustFiles) keys() (map[string][]byte, error) {
	all := map[string][]byte{}
	files, err := filepath.Glob(filepath.Join(t.Package, "*.pub"))
	for _, file := range files {
		key, err := bundle.LoadPublicKey(file)
		if err != nil {
			return nil, err
		}
		if all[filepath.Join(t.Kept, bundle.PublicKeyFile(key))], err = bundle.MarshalPublicKey(key); err != nil {
			return nil, err
		}
	}
	return all, err
}

// removeKept removes the kept keys. airgap.rpm owns the directory.
func (t TrustFiles) removeKept() error {
	files, err := filepath.Glob(filepath.Join(t.Kept, "airgap-*.pub"))
	for _, file := range files {
		err = errors.Join(err, host.Remove(file))
	}
	return err
}
