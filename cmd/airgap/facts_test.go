package main

import (
	"errors"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"airgap.dev/airgap/preflight"
)

// TestUnsurveyed: who gave facts of some servers hears of the others, by whatever host name.
func TestUnsurveyed(t *testing.T) {
	c := clusterFrom(t)
	for host, want := range map[string]string{"cp1": "w1", "w1.bank.example": "cp1", "w10": "cp1 w1"} {
		r, err := packageRequest(c, []*preflight.Facts{{Host: host}}, nil)
		if err != nil || strings.Join(r.Assumed, " ") != want {
			t.Errorf("facts of %s: %q are assumed, want %s; %v", host, r.Assumed, want, err)
		}
	}
	byAddress := &preflight.Facts{Host: "srv17", Links: []preflight.Link{{Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.21/24")}}}}
	if r, err := packageRequest(c, []*preflight.Facts{byAddress}, nil); err != nil || strings.Join(r.Assumed, " ") != "cp1" {
		t.Errorf("facts of a host of another name, with w1's address: %q are assumed, %v", r.Assumed, err)
	}
	if r, err := packageRequest(c, nil, nil); err != nil || len(r.Assumed) > 0 {
		t.Errorf("without facts all are alike: %q, %v", r.Assumed, err)
	}
}

// TestBroughtPackages are not there for a plan, for another build may take their
// place; those of the site's own are, and keys are no packages.
func TestBroughtPackages(t *testing.T) {
	facts := &preflight.Facts{
		Host: "node1",
		Packages: []preflight.Package{
			{Name: "bash", Epoch: "0", Version: "5.1", Release: "1.el9", Arch: "x86_64"},
			{Name: "kubelet", Epoch: "0", Version: "1.35.8", Release: "1", Arch: "x86_64"},
			{Name: "kubectl", Epoch: "0", Version: "1.36.0", Release: "1", Arch: "x86_64"}, // by hand, since
			{Name: "gpg-pubkey", Epoch: "0", Version: "1", Release: "2", Arch: "(none)"},
		},
		Brought: []string{"kubelet-0:1.35.8-1.x86_64", "kubectl-0:1.35.8-1.x86_64"},
	}
	in, err := installedPackages(facts)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range in.Packages {
		names = append(names, p.String())
	}
	if len(names) != 2 || names[0] != "bash-0:5.1-1.el9.x86_64" || names[1] != "kubectl-0:1.36.0-1.x86_64" {
		t.Errorf("for a plan there are %q", names)
	}
}

// TestSaveFactsMakesItsDirectory: facts/ on a stick, but not the stick's place where no stick is.
func TestSaveFactsMakesItsDirectory(t *testing.T) {
	a, dir := &app{stderr: io.Discard}, t.TempDir()
	if err := a.saveFacts(&preflight.Facts{}, filepath.Join(dir, "facts", "cp1.facts.yaml")); err != nil {
		t.Error(err)
	}
	if err := a.saveFacts(&preflight.Facts{}, filepath.Join(dir, "stick", "facts", "cp1.facts.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a stick: %v", err)
	}
}

// TestFactsAndReceiptsAreRegularFiles: they come from servers, as reports do, on a stick that can hold
// links to this host's files, and FIFOs.
func TestFactsAndReceiptsAreRegularFiles(t *testing.T) {
	dir := t.TempDir()
	link, fifo := filepath.Join(dir, "link.facts.yaml"), filepath.Join(dir, "fifo.survey")
	if err := errors.Join(os.Symlink("/etc/hostname", link), syscall.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{link: "a symbolic link", fifo: "no regular file"} {
		if _, err := loadFacts(t.Context(), path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("facts: %v", err)
		}
		if _, err := (deltaOptions{from: path}).inventory(dir); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("receipt: %v", err)
		}
		if _, err := loadReports([]string{path}); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("report: %v", err)
		}
	}
}
