package registry

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"airgap.dev/airgap/internal/host"
)

//go:embed hosts.toml.tmpl
var hostsTemplate string

// Mirror is containerd's configuration that sends every pull, whatever its
// upstream host, to our registries and nowhere else.
type Mirror struct {
	Dir        string   // /etc/containerd/certs.d
	Registries []string // HOST:PORT, in the order in which they are tried
	CAFile     string   // absolute path of the authority's certificate
}

// File is where containerd looks for hosts that have no directory of their own.
func (m Mirror) File() string { return filepath.Join(m.Dir, "_default", "hosts.toml") }

// saved is where a file that was there before us waits for Remove.
func (m Mirror) saved() string { return m.File() + ".before-airgap" }

// Render gives hosts.toml. containerd takes a file that it cannot read for no
// file at all and goes upstream, so what could break it is refused here.
func (m Mirror) Render() ([]byte, error) {
	if len(m.Registries) == 0 {
		return nil, errors.New("render mirror configuration: no registry; containerd would ask the internet")
	}
	for _, word := range append([]string{m.CAFile}, m.Registries...) {
		if word == "" || strings.ContainsAny(word, "\"\\\n\r\t ") {
			return nil, fmt.Errorf("render mirror configuration: %q cannot stand in it", word)
		}
	}
	t, err := template.New("hosts.toml").Option("missingkey=error").Parse(hostsTemplate)
	if err != nil {
		return nil, fmt.Errorf("render mirror configuration: %w", err)
	}
	var out strings.Builder
	if err := t.Execute(&out, m); err != nil {
		return nil, fmt.Errorf("render mirror configuration: %w", err)
	}
	return []byte(out.String()), nil
}

// Holds reports whether the file is as Render gives it.
func (m Mirror) Holds() (bool, error) {
	want, err := m.Render()
	if err != nil {
		return false, err
	}
	return host.Holds(m.File(), want, 0o644)
}

// Write puts the file in place. A different one that was there is kept aside,
// once, for Remove to put back. containerd reads the file at each pull.
func (m Mirror) Write() error {
	want, err := m.Render()
	if err != nil {
		return err
	}
	if err := m.keepForeign(); err != nil {
		return fmt.Errorf("keep %s: %w", m.File(), err)
	}
	return host.WriteFile(m.File(), want, 0o644)
}

// keepForeign leaves our own files, told by their first line, alone.
func (m Mirror) keepForeign() error {
	have, err := os.ReadFile(m.File())
	if errors.Is(err, fs.ErrNotExist) || err == nil && m.ours(have) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.Rename(m.File(), m.saved())
}

func (m Mirror) ours(content []byte) bool {
	mark, _, _ := strings.Cut(hostsTemplate, "\n")
	first, _, _ := strings.Cut(string(content), "\n")
	return first == mark
}

// Remove takes our file away and puts back the one that was there before. A
// file that is not ours stays.
func (m Mirror) Remove() error {
	have, err := os.ReadFile(m.File())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove mirror configuration: %w", err)
	}
	if err == nil {
		if !m.ours(have) {
			return nil
		}
		if err := host.Remove(m.File()); err != nil {
			return fmt.Errorf("remove mirror configuration: %w", err)
		}
	}
	if err := os.Rename(m.saved(), m.File()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("put back %s: %w", m.File(), err)
	}
	_ = os.Remove(filepath.Dir(m.File())) // when nothing else is in it
	return nil
}
