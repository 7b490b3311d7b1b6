package rpms

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
)

// Repository declares one package repository.
type Repository struct {
	Dir      string               // where it is made; what was there is replaced
	Place    func(Package) string // a package's directory in it
	Packages []Package
	Key      *Key // signs the packages and the index
}

// Build packs, signs and indexes; the repository appears complete or not at all.
func (r Repository) Build(ctx context.Context) error {
	tmp := r.Dir + ".tmp"
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	for _, p := range r.Packages {
		dir := filepath.Join(tmp, r.Place(p))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := p.Write(filepath.Join(dir, p.FileName()), r.Key); err != nil {
			return err
		}
	}
	if err := index(ctx, tmp); err != nil {
		return err
	}
	if err := r.Key.SignFile(filepath.Join(tmp, "repodata", "repomd.xml")); err != nil {
		return err
	}
	if err := os.RemoveAll(r.Dir); err != nil {
		return err
	}
	return os.Rename(tmp, r.Dir)
}

// index runs createrepo_c with everything that could change from run to run
// held still.
func index(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "createrepo_c", "--quiet", "--no-database",
		"--general-compress-type=gz", "--revision="+strconv.FormatInt(archive.Epoch().Unix(), 10),
		"--set-timestamp-to-revision", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run createrepo_c: %w\n%s", err, out)
	}
	return nil
}
