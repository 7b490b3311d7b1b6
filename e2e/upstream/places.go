package upstream

import (
	"os"
	"path/filepath"
)

// places is the cache directory. Its methods return the paths in it.
type places string

// DefaultCache returns $AIRGAP_LAB_CACHE, or .cache/airgap-lab in the home directory.
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

// BaseRPM returns the path of the package that represents a minimal installation: see
// minimalBase. The lab installs it into the rpmdb of each node.
func BaseRPM(cache string) string { return places(cache).path("base", "lab-minimal-base.rpm") }

// CA returns the path of the CA certificate of the server, in PEM.
func CA(cache string) string { return places(cache).path("keys", "ca.pem") }
