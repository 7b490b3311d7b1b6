package rpms

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sync/errgroup"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
)

// Repository declares one package repository.
type Repository struct {
	Dir      string                // directory of the repository; Build replaces it
	Place    func(Writable) string // a package's directory in it
	Packages []Writable
	Key      *Key // signs the packages and the index
}

// Writable is a Package or a Stub.
type Writable interface {
	FileName() string
	Write(path string, key *Key) error
}

// Build packs, signs and indexes. After an error, Dir has its previous content.
func (r Repository) Build(ctx context.Context) error {
	tmp := r.Dir + ".tmp"
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	if err := WriteAll(ctx, r.Packages, r.Key, func(p Writable) string { return filepath.Join(tmp, r.Place(p)) }); err != nil {
		return err
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

// WriteAll writes each package into the directory that place returns. It writes several at
// the same time, since each signature takes some milliseconds of CPU time.
func WriteAll(ctx context.Context, packages []Writable, key *Key, place func(Writable) string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, p := range packages {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := os.MkdirAll(place(p), 0o755); err != nil {
				return err
			}
			return p.Write(filepath.Join(place(p), p.FileName()), key)
		})
	}
	return g.Wait()
}

// index runs createrepo_c with options for a reproducible index.
func index(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "createrepo_c", "--quiet", "--no-database",
		"--general-compress-type=gz", "--revision="+strconv.FormatInt(archive.Epoch().Unix(), 10),
		"--set-timestamp-to-revision", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run createrepo_c: %w\n%s", err, out)
	}
	return nil
}
