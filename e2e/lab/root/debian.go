package root

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed packages.txt
var packages string

// debian makes the lower layer: a plain Debian.
func (b builder) debian(ctx context.Context) (string, error) {
	mirror, suite, err := aptMirror(ctx)
	if err != nil {
		return "", err
	}
	recipe := fmt.Sprintln(suite, packages, leftovers())
	return b.layer("debian", []byte(recipe), func(dir string) error {
		return b.debootstrap(ctx, mirror, suite, dir, packages)
	})
}

// engines are Debian's packages of podman and Docker. The outer machine does not have them, since their
// daemon and their rules of the packet filter would change it.
const engines = "ca-certificates crun docker.io iptables netavark podman"

// BuildEngines makes a Debian with podman and Docker in the lab's cache, and returns its directory.
func BuildEngines(ctx context.Context, cache string, progress io.Writer) (string, error) {
	b, unlock, err := newBuilder(Config{Cache: cache}, progress)
	if err != nil {
		return "", fmt.Errorf("build the root of podman and Docker: %w", err)
	}
	defer unlock()
	mirror, suite, err := aptMirror(ctx)
	if err != nil {
		return "", err
	}
	return b.layer("engines", []byte(fmt.Sprintln(suite, engines)), func(dir string) error {
		return b.debootstrap(ctx, mirror, suite, dir, engines)
	})
}

// aptMirror returns the mirror and the suite of this machine's apt.
func aptMirror(ctx context.Context) (mirror, suite string, err error) {
	out, err := exec.CommandContext(ctx, "apt-get", "indextargets",
		"--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Identifier: Packages").Output()
	if err != nil {
		return "", "", fmt.Errorf("read the mirror of apt: %w", err)
	}
	return release(string(out))
}

// release finds the main distribution in apt's list of indices. It ignores updates,
// security and backports.
func release(targets string) (mirror, suite string, err error) {
	for line := range strings.Lines(targets) {
		f := strings.Fields(line)
		if len(f) == 3 && f[2] == "main" && !strings.ContainsAny(f[1], "-/") {
			return f[0], f[1], nil
		}
	}
	return "", "", fmt.Errorf("find a Debian mirror: apt has none with a plain suite and component main")
}

func (b builder) debootstrap(ctx context.Context, mirror, suite, dir, packages string) error {
	include := strings.Join(strings.Fields(packages), ",")
	if err := b.run(ctx, "debootstrap", "--variant=minbase", "--include="+include, suite, dir, mirror); err != nil {
		return err
	}
	return removeLeftovers(dir)
}

func removeLeftovers(dir string) error {
	for _, pattern := range leftovers() {
		matches, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, m := range matches {
			if err := os.RemoveAll(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// leftovers are files that a site's server does not have: downloads, the timers of apt,
// Debian's kernel settings (which would change the outer machine's), the identity of the
// machine that built the layer, and files that identify Debian.
func leftovers() []string {
	return []string{
		"var/cache/apt/archives/*.deb", "var/lib/apt/lists/*",
		"etc/systemd/system/timers.target.wants/*",
		"usr/lib/sysctl.d/*.conf",
		"etc/machine-id", "etc/hostname", "etc/debian_version", "etc/apt/sources.list",
	}
}

// run runs a program on the outer machine. It shows the output only after a failure, because
// a thousand lines about packages do not help.
func (b builder) run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	// The outer machine's environment must not change the node root.
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/root", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", "http_proxy=" + os.Getenv("http_proxy")}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, lastLines(output.String(), 20))
	}
	return nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
