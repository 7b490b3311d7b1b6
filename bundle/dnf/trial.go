package dnf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle/rpm/rpmfile"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/nevra"
)

// Trial lets the host's own rpm try the packages, and changes nothing outside of StateDir: it imports the keys into an
// empty database, verifies the signatures with them, and tests the transaction against the installed packages.
// So it finds what only the host knows: its crypto policy, files that packages from elsewhere have, and space.
//
// rpm gets only the headers of the packages, a few MB instead of GBs. Their signatures cover the digests of the
// payload, which dnf verifies when it installs the packages.
func (t Transaction) Trial(ctx context.Context, open Opener, packages []nevra.NEVRA) error {
	if len(packages) == 0 {
		return nil
	}
	dir := filepath.Join(t.StateDir, "trial")
	if err := host.RemoveTree(dir); err != nil {
		return fmt.Errorf("try the packages: %w", err)
	}
	files, err := writeHeaders(ctx, open, filepath.Join(dir, "headers"), packages)
	if err != nil {
		return fmt.Errorf("try the packages: %w", err)
	}
	if err := t.trySignatures(ctx, dir, files); err != nil {
		return advice.Add(err, "airgap docs packages has the steps for keys and signatures that rpm refuses")
	}
	// A package that airgap has installed is replaced, as dnf does. Kernels stay next to each other with -i.
	mode := []string{"-i"}
	if slices.ContainsFunc(t.Own, func(old nevra.NEVRA) bool { return slices.ContainsFunc(packages, old.ReplacedBy) }) {
		mode = []string{"-U", "--oldpackage"}
	}
	args := append(mode, "--test", "--nosignature", "--nodigest") // the files have no payload
	if out, err := t.rpm(ctx, append(args, files...)...); err != nil {
		return fmt.Errorf("test the transaction with rpm: airgap installed nothing, because rpm refuses it: %w", explained(out, err))
	}
	return nil
}

// Opener opens a package of the repository by its file name.
type Opener func(ctx context.Context, fileName string) (io.ReadCloser, error)

// writeHeaders copies each package up to its payload.
func writeHeaders(ctx context.Context, open Opener, dir string, packages []nevra.NEVRA) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var files []string
	for _, p := range packages {
		path := filepath.Join(dir, p.FileName())
		if err := writeHeader(ctx, open, path, p); err != nil {
			return nil, fmt.Errorf("read package %s: %w", p, err)
		}
		files = append(files, path)
	}
	return files, nil
}

func writeHeader(ctx context.Context, open Opener, path string, p nevra.NEVRA) error {
	from, err := open(ctx, p.FileName())
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, _, err = rpmfile.Read(io.TeeReader(io.LimitReader(from, rpmfile.MaxHeaders), to))
	return errors.Join(err, to.Close())
}

// trySignatures imports the repository's keys into an empty database, and verifies the signatures of the headers.
func (t Transaction) trySignatures(ctx context.Context, dir string, files []string) error {
	db := []string{"--dbpath", filepath.Join(dir, "db")}
	for _, name := range slices.Sorted(maps.Keys(t.Keys)) {
		path := filepath.Join(dir, "keys", filepath.Base(name))
		if err := host.WriteFile(path, t.Keys[name], 0o644); err != nil {
			return fmt.Errorf("try the keys: %w", err)
		}
		if out, err := t.rpm(ctx, append(slices.Clone(db), "--import", path)...); err != nil {
			return fmt.Errorf("import key %s into an empty database: rpm refuses it: %w", name, explained(out, err))
		}
	}
	// A query verifies the signature of the header. Its exit code is also 0 for an unknown key.
	out, err := t.rpm(ctx, slices.Concat(db, []string{"-qp", "--qf", ""}, files)...)
	if err != nil || unverified(out) {
		return fmt.Errorf("verify the signatures of the packages: rpm refuses them: %w", explained(out, err))
	}
	return nil
}

// rpm returns stdout and stderr together: rpm writes its reasons as warnings, also if it succeeds.
func (t Transaction) rpm(ctx context.Context, args ...string) ([]byte, error) {
	argv := append([]string{"-c", `exec "$@" 2>&1`, "sh", "rpm"}, args...)
	return t.Host.Run(ctx, host.Cmd{Name: "sh", Args: argv, Env: []string{"LC_ALL=C.UTF-8"}})
}

// unverified reports whether the output has a line about a signature that rpm did not accept.
func unverified(out []byte) bool {
	for _, word := range []string{"NOKEY", "NOTTRUSTED", "BAD", "not supported", "not available"} {
		if bytes.Contains(out, []byte(word)) {
			return true
		}
	}
	return false
}

// maxLines is how many lines of rpm an error has.
const maxLines = 8

// reasons returns the lines of rpm's output without its prefixes.
func reasons(out string) []string {
	var all []string
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		for _, prefix := range []string{"error:", "warning:"} {
			line = strings.TrimSpace(strings.TrimPrefix(line, prefix))
		}
		if line != "" && !slices.Contains(all, line) {
			all = append(all, line)
		}
	}
	return all
}

// explained returns rpm's reasons as an error.
func explained(out []byte, err error) error {
	lines := reasons(string(out))
	if len(lines) == 0 {
		return err
	}
	if n := len(lines) - maxLines; n > 0 {
		lines = append(lines[:maxLines], fmt.Sprintf("%d more lines", n))
	}
	return errors.New("\n  - " + strings.Join(lines, "\n  - "))
}
