package badinput

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/upstream"
)

// bigRepository has the largest layer: a fault in it occurs while the bundle is filled.
const bigRepository = "registry.k8s.io/kube-apiserver"

// absent checks that path does not exist.
func absent(path string) error {
	_, err := os.Lstat(path)
	if err == nil {
		return fmt.Errorf("%s exists afterwards, want no file", path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// noPermission builds a bundle as an unprivileged user, into a directory of root.
func noPermission(ctx context.Context, e *scenario.Env) error {
	dir, err := os.MkdirTemp("", "airgap-nobody-*") // other users may have no access to the work directory
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	config, err := e.Config("user.yaml", e.Upstream.CA, filepath.Join(dir, "ca.pem"))
	if err != nil {
		return err
	}
	closed := filepath.Join(dir, "closed")
	for _, line := range []string{
		"chmod 755 " + dir,
		fmt.Sprintf("install -m 755 %s %s %s %s", e.Program, e.Helper("airgap-nvml"), e.Helper("airgap-probe"), dir),
		fmt.Sprintf("install -m 644 %s %s/ca.pem", e.Upstream.CA, dir),
		fmt.Sprintf("install -m 644 %s %s/airgap.yaml", config, dir),
		"mkdir -m 755 " + closed,
		"mkdir " + dir + "/keys && chown nobody " + dir + " " + dir + "/keys",
	} {
		if out, err := exec.CommandContext(ctx, "sh", "-c", line).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", line, err, out)
		}
	}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "airgap"), "bundle", "-f", filepath.Join(dir, "airgap.yaml"), "-o", closed, "--keys", filepath.Join(dir, "keys"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	r, err := e.Command(cmd)
	if err != nil {
		return err
	}
	return r.Want("bundle into another user's directory", 1, "permission denied", closed)
}

// noSpace writes to a file system of 64 MiB.
func noSpace(ctx context.Context, e *scenario.Env) error {
	config, err := e.Config("airgap.yaml")
	if err != nil {
		return err
	}
	small := filepath.Join(e.Work, "small")
	if err := os.MkdirAll(small, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=64m"); err != nil {
		return fmt.Errorf("mount a small file system: %w", err)
	}
	defer syscall.Unmount(small, syscall.MNT_DETACH)
	if err := e.Do(ctx, 1, []string{"space", small}, "bundle", "-f", config, "-o", small); err != nil {
		return err
	}
	left, err := filepath.Glob(filepath.Join(small, "*", "bundle.tar.*"))
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("got %v on the full file system, want no parts", left)
	}
	return err
}

// closedHalfway closes the connection of a layer. When the registry always closes it, the run
// must fail, and the next run must continue. When it closes once, a resumed request must
// complete the layer.
func closedHalfway(ctx context.Context, e *scenario.Env) error {
	config, err := e.Config("airgap.yaml")
	if err != nil {
		return err
	}
	out := filepath.Join(e.Work, "halfway")
	e.Upstream.Inject(upstream.Fault{Repository: bigRepository, CloseAfter: 1000})
	r, err := e.Airgap(ctx, "bundle", "-f", config, "-o", out)
	e.Upstream.Heal()
	if err != nil {
		return err
	}
	if err := r.Want("bundle from a registry that closes half-way", 1, bigRepository); err != nil {
		return err
	}
	if err := e.Do(ctx, 1, []string{"unfinished"}, "inspect", filepath.Join(out, "bank")); err != nil {
		return err
	}
	e.Upstream.Inject(upstream.Fault{Repository: bigRepository, CloseAfter: 5 << 20, Times: 1})
	defer e.Upstream.Heal()
	return finish(ctx, e, config, out)
}

// finish builds the bundle again: airgap must continue, and the bundle must be complete.
func finish(ctx context.Context, e *scenario.Env, config, out string) error {
	if err := e.Do(ctx, 0, []string{"kept from an earlier run"}, "bundle", "-f", config, "-o", out); err != nil {
		return err
	}
	if err := e.Do(ctx, 0, []string{"every byte verified"}, "inspect", "--full", filepath.Join(out, "bank")); err != nil {
		return err
	}
	return os.RemoveAll(out)
}

// interrupted ends the program while it fills the bundle, with signals that it can catch and
// with SIGKILL.
func interrupted(ctx context.Context, e *scenario.Env) error {
	config, err := e.Config("airgap.yaml")
	if err != nil {
		return err
	}
	out := filepath.Join(e.Work, "interrupted")
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL, syscall.SIGTERM} {
		if err := endWhileFilling(ctx, e, signal, config, out); err != nil {
			return fmt.Errorf("%v: %w", signal, err)
		}
		if err := e.Do(ctx, 1, []string{"unfinished"}, "inspect", filepath.Join(out, "bank")); err != nil {
			return fmt.Errorf("%v: %w", signal, err)
		}
	}
	return finish(ctx, e, config, out)
}

// endWhileFilling sends the signal while files arrive.
func endWhileFilling(ctx context.Context, e *scenario.Env, signal syscall.Signal, config, out string) error {
	e.Upstream.Inject(upstream.Fault{Repository: bigRepository, CloseAfter: 1 << 20}) // airgap retries, with pauses
	defer e.Upstream.Heal()
	r, err := endAt(ctx, e, `"task":"images"`, signal, 300*time.Millisecond, "bundle", "-f", config, "-o", out, "--progress", "json")
	if err != nil {
		return err
	}
	if signal == syscall.SIGKILL {
		if r.Code != -1 {
			return fmt.Errorf("kill -9 came too late: exit code %d\n%s", r.Code, r.Stderr)
		}
		return nil
	}
	return r.Want("bundle ended by a signal", 130, "interrupted", "continues where it stopped")
}

// endAt runs the program on the connected host, and sends it a signal some time after mark
// appears in its stderr.
func endAt(ctx context.Context, e *scenario.Env, mark string, signal syscall.Signal, later time.Duration, args ...string) (scenario.Result, error) {
	cmd := exec.CommandContext(ctx, e.Program, args...)
	return e.Watched(cmd, &scenario.Watcher{Mark: mark, React: func() {
		time.Sleep(later)
		_ = cmd.Process.Signal(signal) // the exit code shows whether it came too late
	}})
}

// interruptedPlanning presses Ctrl-C before airgap writes anything.
func interruptedPlanning(ctx context.Context, e *scenario.Env) error {
	config, err := e.Config("airgap.yaml")
	if err != nil {
		return err
	}
	out := filepath.Join(e.Work, "planning")
	r, err := endAt(ctx, e, `"task":"resolve packages"`, syscall.SIGINT, 0, "bundle", "-f", config, "-o", out, "--progress", "json")
	if err != nil {
		return err
	}
	if err := r.Want("bundle interrupted while it plans", 130, "interrupted"); err != nil {
		return err
	}
	return absent(out)
}
