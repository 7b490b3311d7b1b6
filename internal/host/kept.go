package host

import (
	"errors"
	"io/fs"
	"os"
)

// Kept is a file as it was before we touched it.
type Kept struct {
	Absent bool        `json:"absent,omitempty"`
	Data   []byte      `json:"data,omitempty"`
	Mode   fs.FileMode `json:"mode,omitempty"`
}

// Keep reads a file, which need not be there, to be put back later.
func (m Machine) Keep(name string) (Kept, error) {
	info, err := os.Stat(m.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return Kept{Absent: true}, nil
	}
	if err != nil {
		return Kept{}, err
	}
	data, err := os.ReadFile(m.Path(name))
	return Kept{Data: data, Mode: info.Mode().Perm()}, err
}

// RestoreKept restores a file to the kept state.
func (m Machine) RestoreKept(name string, k Kept) error {
	if k.Absent {
		return Remove(m.Path(name))
	}
	if holds, err := FileMatches(m.Path(name), k.Data, k.Mode); holds || err != nil {
		return err
	}
	return WriteFile(m.Path(name), k.Data, k.Mode)
}

// Recorded reports whether a step has recorded the previous state.
func (m Machine) Recorded(name string) bool {
	_, err := os.Stat(m.Path(name))
	return err == nil
}
