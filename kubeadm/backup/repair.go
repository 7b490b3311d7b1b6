package backup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// RepairTorn restores files that a power cut during kubeadm has damaged on the host with the given
// root, and returns their paths. kubeadm does not wait for the disk: its last files may be
// empty or contain zeros, and a manifest that it was replacing
// may be gone. In the lab an etcd.yaml of no bytes kept the
// control plane down for good. All else stays as it is, new or old.
func (c *Contents) RepairTorn(root string) ([]string, error) {
	var repaired []string
	for _, name := range slices.Sorted(maps.Keys(c.sums)) {
		if !strings.HasPrefix(name, "etc/kubernetes/") && !strings.HasPrefix(name, "var/lib/kubelet/") {
			continue
		}
		file := filepath.Join(root, name)
		bad, err := torn(file)
		if errors.Is(err, fs.ErrNotExist) {
			bad, err = filepath.Dir(name) == "etc/kubernetes/manifests", nil
		}
		if err != nil {
			return repaired, err
		}
		if !bad {
			continue
		}
		text, err := c.File(name)
		if err != nil {
			return repaired, err
		}
		if len(text) == 0 { // as it should be
			continue
		}
		if err := host.WriteFile(file, text, 0o600); err != nil {
			return repaired, fmt.Errorf("restore files damaged by a power cut: %w", err)
		}
		repaired = append(repaired, file)
	}
	return repaired, nil
}

// torn reports whether a file has no bytes but zeros.
func torn(file string) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 512))
	return len(bytes.Trim(head, "\x00")) == 0, err
}
