package scenario

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
)

// registry3Version is the version of registry:3, which many sites use. The benchmarks compare
// airgap's registry with it.
const registry3Version = "v3.1.2"

// Registry3 is registry:3 with its files in a separate directory. It needs no login to push
// and pull.
type Registry3 struct {
	Argv []string // runs it in the foreground
	CA   string   // PEM
}

// NewRegistry3 builds the program once, and writes its configuration and a certificate to
// dir.
func NewRegistry3(ctx context.Context, e *Env, dir string, at netip.AddrPort) (r Registry3, err error) {
	bin := filepath.Join(e.Cache, "bin")
	build := exec.CommandContext(ctx, "go", "install", "-trimpath", "-ldflags", "-s -w", "github.com/distribution/distribution/v3/cmd/registry@"+registry3Version)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOBIN="+bin)
	if out, err := build.CombinedOutput(); err != nil {
		return r, fmt.Errorf("build registry:3: %w: %s", err, out)
	}
	if r.CA, err = SelfSigned(ctx, dir, at.Addr()); err != nil {
		return r, err
	}
	const settings = `version: 0.1
log: {level: error}
storage: {filesystem: {rootdirectory: %q}}
http: {addr: %q, tls: {certificate: %q, key: %q}}
`
	file := filepath.Join(dir, "registry3.yaml")
	text := fmt.Sprintf(settings, filepath.Join(dir, "blobs"), at, filepath.Join(dir, "registry.crt"), filepath.Join(dir, "registry.key"))
	r.Argv = []string{"env", "OTEL_TRACES_EXPORTER=none", filepath.Join(bin, "registry"), "serve", file}
	return r, os.WriteFile(file, []byte(text), 0o600)
}

// SelfSigned writes registry.crt and registry.key for an address to dir, and returns the
// self-signed certificate as PEM.
func SelfSigned(ctx context.Context, dir string, addr netip.Addr) (pem string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	crt := filepath.Join(dir, "registry.crt")
	out, err := exec.CommandContext(ctx, "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "90",
		"-subj", "/CN=registry", "-addext", "subjectAltName=IP:"+addr.String(), "-keyout", filepath.Join(dir, "registry.key"), "-out", crt).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("create a certificate: %w: %s", err, out)
	}
	text, err := os.ReadFile(crt)
	return string(text), err
}
