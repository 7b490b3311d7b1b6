package facts

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"
)

// SecureBoot has the requirements of the firmware and the kernel for kernel modules.
type SecureBoot struct {
	On       bool   `yaml:"on" json:"on"`
	Lockdown string `yaml:"lockdown,omitempty" json:"lockdown,omitempty"` // "none", "integrity" or "confidentiality"
	// Enforced is true if the kernel refuses all unsigned modules, because of its command line
	// or its configuration (CONFIG_MODULE_SIG_FORCE).
	Enforced bool `yaml:"enforced,omitempty" json:"enforced,omitempty"`
	// Key is true if the key that DKMS signs modules with is enrolled.
	Key bool `yaml:"key,omitempty" json:"key,omitempty"`
}

// Firmware variables are files: four bytes of attributes, then the value.
const (
	efiVariables  = "sys/firmware/efi/efivars"
	secureBootVar = efiVariables + "/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
	mokListVar    = efiVariables + "/MokListRT-605dab50-e046-4300-abb6-3dd810dd8b23"
	dkmsKey       = "var/lib/dkms/mok.pub" // DER
)

func readSecureBoot(_ context.Context, r reader, f *Facts) error {
	state, err := r.bytes(secureBootVar)
	if err != nil {
		return err
	}
	f.SecureBoot.On = len(state) > 4 && state[4] == 1
	lockdown, err := r.optional("sys/kernel/security/lockdown") // none [integrity] confidentiality
	if err != nil {
		return err
	}
	if _, rest, ok := strings.Cut(lockdown, "["); ok {
		f.SecureBoot.Lockdown, _, _ = strings.Cut(rest, "]")
	}
	enforced, err := r.optional("sys/module/module/parameters/sig_enforce") // Y or N
	if err != nil {
		return err
	}
	f.SecureBoot.Enforced = enforced == "Y"
	enrolled, err := r.bytes(mokListVar)
	if err != nil {
		return err
	}
	key, err := r.bytes(dkmsKey)
	f.SecureBoot.Key = len(key) > 0 && bytes.Contains(enrolled, key)
	return err
}

// bytes returns a file's content; nil if the file does not exist.
func (r reader) bytes(path string) ([]byte, error) {
	data, err := fs.ReadFile(r.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// Locked reports whether the kernel is in lockdown.
func (s SecureBoot) Locked() bool {
	return s.Lockdown == "integrity" || s.Lockdown == "confidentiality"
}
