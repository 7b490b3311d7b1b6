package upstream

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"airgap.dev/airgap/e2e/upstream/internal/archive"
	"airgap.dev/airgap/e2e/upstream/internal/recipe"
	"airgap.dev/airgap/e2e/upstream/internal/rpms"
	"airgap.dev/airgap/e2e/upstream/internal/stage"
)

const (
	elRepo    = "dl.rockylinux.org/pub/rocky/9/BaseOS/x86_64/os"
	elRepoKey = "dl.rockylinux.org/pub/rocky/RPM-GPG-KEY-Rocky-9"
)

// repositories makes both package repositories and the base package. Each project signs
// with its own key, as in reality.
func (b *builder) repositories(ctx context.Context) error {
	if err := os.MkdirAll(b.cache.keys(), 0o700); err != nil {
		return err
	}
	if err := b.kubernetesRepository(ctx, recipe.Current()); err != nil {
		return err
	}
	el, err := elPackages()
	if err != nil {
		return err
	}
	err = b.repository(ctx, elRepo, elRepoKey, "EL vendor", el,
		byFirstLetter)
	if err != nil {
		return err
	}
	return b.base()
}

// kubernetesRepository makes the repository of one minor.
func (b *builder) kubernetesRepository(ctx context.Context, c recipe.Cluster) error {
	packages, err := b.kubernetesPackages(c)
	if err != nil {
		return err
	}
	repo := "pkgs.k8s.io/core:/stable:/v" + c.Minor + "/rpm"
	return b.repository(ctx, repo, repo+"/repodata/repomd.xml.key", "Kubernetes project", packages,
		func(rpms.Writable) string { return "x86_64" })
}

func (b *builder) repository(ctx context.Context, path, keyPath, owner string, packages []rpms.Package, place func(rpms.Writable) string) error {
	id, err := b.packagesKey(packages)
	if err != nil {
		return err
	}
	_, err = b.log.Do("packages "+path, id, func() error {
		key, err := b.signingKey(owner)
		if err != nil {
			return err
		}
		return b.publish(ctx, path, keyPath, rpms.Repository{Place: place, Packages: writable(packages), Key: key})
	})
	return err
}

// publish builds a repository at path, and writes its public key to keyPath.
func (b *builder) publish(ctx context.Context, path, keyPath string, r rpms.Repository) error {
	r.Dir = filepath.Join(b.cache.files(), path)
	if err := os.MkdirAll(filepath.Dir(r.Dir), 0o755); err != nil {
		return err
	}
	if err := r.Build(ctx); err != nil {
		return err
	}
	public, err := r.Key.Public()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.cache.files(), keyPath), public, 0o644)
}

func byFirstLetter(p rpms.Writable) string { return "Packages/" + p.FileName()[:1] }

func writable[P rpms.Writable](packages []P) []rpms.Writable {
	all := make([]rpms.Writable, 0, len(packages))
	for _, p := range packages {
		all = append(all, p)
	}
	return all
}

func (b *builder) base() error {
	p, err := minimalBase()
	if err != nil {
		return err
	}
	id, err := b.packagesKey([]rpms.Package{p})
	if err != nil {
		return err
	}
	path := BaseRPM(string(b.cache))
	_, err = b.log.Do("package "+p.Name, id, func() error {
		key, err := b.signingKey("EL vendor")
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return p.Write(path, key)
	})
	return err
}

func (b *builder) signingKey(owner string) (*rpms.Key, error) {
	key, err := rpms.OpenKey(filepath.Join(b.cache.keys(), owner+".asc"), owner)
	if err != nil {
		return nil, fmt.Errorf("prepare the key of the %s: %w", owner, err)
	}
	return key, nil
}

func (b *builder) packagesKey(packages []rpms.Package) (string, error) {
	var files []archive.File
	for _, p := range packages {
		files = append(files, p.Files...)
	}
	stamp, err := stamps(files)
	if err != nil {
		return "", err
	}
	return stage.Key(format, packages, stamp)
}
