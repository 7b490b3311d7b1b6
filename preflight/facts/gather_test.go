package facts

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight/unitfile"
)

// TestDanglingLinks: a hardening script removes /etc/sysctl.conf, but not the link to it,
// 99-sysctl.conf. The facts still have the rest of the configuration.
func TestDanglingLinks(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"etc/sysctl.d/50-site.conf":                      "net.ipv4.ip_forward = 0\n",
		"etc/modprobe.d/cis.conf":                        "install vxlan /bin/false\n",
		"etc/systemd/system/service.d/10-umask.conf":     "[Service]\nUMask=0077\n",
		"etc/systemd/system/crio.service.d/20-mask.conf": "[Service]\nUMask=0027\n",
	} {
		dir := filepath.Join(root, filepath.Dir(file))
		err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(root, file), []byte(text), 0o644), os.Symlink("../gone", filepath.Join(dir, "99-gone.conf")))
		if err != nil {
			t.Fatal(err)
		}
	}
	r, f := reader{fs: os.DirFS(root)}, Facts{}
	errSysctls := readSysctls(t.Context(), r, &f)
	errModules := readBlocked(t.Context(), r, &f)
	if err := errors.Join(errSysctls, errModules, readUnitFiles(t.Context(), r, &f)); err != nil {
		t.Fatal(err)
	}
	if f.Sysctl(ForwardingParameter).Boot != "0" || len(f.Boot.Blocked) != 1 || f.Boot.Blocked[0].Module != "vxlan" || len(f.UnitFiles) != 2 || unitfile.Last(f.SettingsOf("crio"),
		"UMask").Value != "0027" {
		t.Errorf("%v, %v, %+v", f.Sysctls, f.Boot.Blocked, f.UnitFiles)
	}
}

// hanging is a host on which a file cannot be read and a command does not end.
type hanging struct {
	host.Host
	file, command string
	released      <-chan struct{}
}

func (h hanging) FS() fs.FS { return hangingFS{h.Host.FS(), h} }

func (h hanging) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	if cmd.Name == h.command {
		<-h.released // also ignores ctx
	}
	return h.Host.Run(ctx, cmd)
}

type hangingFS struct {
	fs.FS
	of hanging
}

func (h hangingFS) ReadFile(name string) ([]byte, error) {
	if name == h.of.file {
		<-h.of.released
	}
	return fs.ReadFile(h.FS, name)
}

func (h hangingFS) Stat(name string) (fs.FileInfo, error) { return fs.Stat(h.FS, name) }

func (h hangingFS) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(h.FS, name) }

// TestGatherDoesNotHang: a probe that hangs is unknown by its name. All other facts are as always.
func TestGatherDoesNotHang(t *testing.T) {
	released := make(chan struct{})
	defer close(released)
	facts, err := gatherWithin(t.Context(), hanging{loadHost(t, "rocky9"), "etc/resolv.conf", "df", released}, 500*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	var unknown []string
	for _, u := range facts.Unknown {
		unknown = append(unknown, u.Fact)
		if !strings.Contains(u.Reason, "no answer within 500ms") {
			t.Errorf("%s: %s", u.Fact, u.Reason)
		}
	}
	if !slices.Equal(unknown, []string{"filesystems", "resolv"}) {
		t.Errorf("unknown: %q", unknown)
	}
	whole := gather(t, "rocky9")
	whole.Unknown, whole.Filesystems, whole.Resolv, facts.Unknown = nil, nil, Resolv{}, nil
	sameFacts(t, facts, whole)
}
