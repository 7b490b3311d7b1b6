package kubeadm

import (
	"errors"
	"io/fs"
	"os"

	"airgap.dev/airgap/internal/host"
)

// kept is a file as it was before we touched it.
type kept struct {
	Absent bool        `json:"absent,omitempty"`
	Data   []byte      `json:"data,omitempty"`
	Mode   fs.FileMode `json:"mode,omitempty"`
}

func (m Machine) keep(name string) (kept, error) {
	info, err := os.Stat(m.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return kept{Absent: true}, nil
	}
	if err != nil {
		return kept{}, err
	}
	data, err := os.ReadFile(m.path(name))
	return kept{Data: data, Mode: info.Mode().Perm()}, err
}

func (m Machine) putBack(name string, k kept) error {
	if k.Absent {
		return host.Remove(m.path(name))
	}
	if holds, err := host.Holds(m.path(name), k.Data, k.Mode); holds || err != nil {
		return err
	}
	return host.WriteFile(m.path(name), k.Data, k.Mode)
}

// recorded reports whether a step has written down what was there.
func (m Machine) recorded(name string) bool {
	_, err := os.Stat(m.path(name))
	return err == nil
}
