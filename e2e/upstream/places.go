package upstream

import (
	"os"
	"path/filepath"
)

// places names the places in the cache.
type places string

// DefaultCache is $AIRGAP_LAB_CACHE, or .cache/airgap-lab in the home directory.
func DefaultCache() string {
	if dir := os.Getenv("AIRGAP_LAB_CACHE"); dir != "" {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir()
	}
	return filepath.Join(home, ".cache", "airgap-lab")
}

func (p places) path(parts ...string) string {
	return filepath.Join(append([]string{string(p)}, parts...)...)
}

func (p places) stages() string              { return p.path("stages") }
func (p places) programs(name string) string { return p.path("bin", name) }
func (p places) files() string               { return p.path("site", "files") }
func (p places) images() string              { return p.path("site", "images") }
func (p places) benchImages() string         { return p.path("site", "bench-images") }
func (p places) largeImages() string         { return p.path("site", "large-images") }
func (p places) keys() string                { return p.path("keys") }

// BaseRPM is the package that stands for a minimal installation: it provides
// what such a host has and carries no files. It belongs into a node's rpmdb.
func BaseRPM(cache string) string { return places(cache).path("base", "lab-minimal-base.rpm") }

// CA is the certificate, in PEM, that vouches for the served port.
func CA(cache string) string { return places(cache).path("keys", "ca.pem") }
