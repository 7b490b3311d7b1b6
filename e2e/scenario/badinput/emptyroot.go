package badinput

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"airgap.dev/airgap/e2e/scenario"
)

// emptyRoot builds a bundle in a root file system that contains only the three programs: no shell,
// no dnf, no certificates. It stands for a small container image or another distribution.
func emptyRoot(ctx context.Context, e *scenario.Env) error {
	root := filepath.Join(e.Work, "emptyroot")
	config, err := e.Config("emptyroot.yaml", e.Upstream.CA, "/ca.crt")
	if err != nil {
		return err
	}
	for _, dir := range []string{"proc", "dev", "tmp", "out"} {
		err = errors.Join(err, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	programs := filepath.Dir(e.Program)
	for name, from := range map[string]string{
		"airgap":       e.Program,
		"airgap-nvml":  filepath.Join(programs, "airgap-nvml"),
		"airgap-probe": filepath.Join(programs, "airgap-probe"),
		"ca.crt":       e.Upstream.CA,
		"airgap.yaml":  config,
	} {
		text, readErr := os.ReadFile(from)
		err = errors.Join(err, readErr, os.WriteFile(filepath.Join(root, name), text, 0o755))
	}
	if err != nil {
		return err
	}
	const run = `mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && exec chroot "$0" /airgap bundle -f /airgap.yaml -o /out --new-keys`
	r, err := e.Command(exec.CommandContext(ctx, "unshare", "--mount", "sh", "-c", run, root))
	if err != nil {
		return err
	}
	if err := r.Want("airgap bundle in an empty root", 0, "RPM key"); err != nil {
		return err
	}
	dir := filepath.Join(root, "out", "bank")
	if err := e.Do(ctx, 0, nil, "inspect", dir, "--full", "--require-key", filepath.Join(dir, "airgap.pub")); err != nil {
		return err
	}
	return os.RemoveAll(root) // the builder's private keys are in it
}
