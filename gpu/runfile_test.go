package gpu

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"airgap.dev/airgap/internal/host"
)

// thisHost runs commands on this machine, and has its files in a temporary directory.
type thisHost struct {
	host.Local
	root string
}

func (h thisHost) FS() fs.FS { return os.DirFS(h.root) }

// installer is a .run file that does what NVIDIA's does as far as a host shows it:
// its list, a library, a module; and the uninstaller that takes them back. A command
// gets no environment of ours, so the host's root stands in them.
func installer(root string) string {
	return strings.ReplaceAll(installerText, "$ROOT", root)
}

const installerText = `
echo "$0 $@ PATH=$PATH" >"$ROOT/called"
for flag; do case $flag in --log-file-name=*) log=${flag#*=};; --tmpdir=*) [ -d "${flag#*=}" ] && [ "$TMPDIR" = "${flag#*=}" ] || exit 9;; esac; done
[ ! -e "$ROOT/broken" ] || { echo "ERROR: Unable to find the kernel source tree" >"$log"; exit 1; }
mkdir -p "$ROOT/var/lib/nvidia" "$ROOT/usr/lib64"
printf '580.82.07\nNVIDIA Accelerated Graphics Driver\n' >"$ROOT/var/lib/nvidia/log"
: >"$ROOT/usr/lib64/libnvidia-ml.so.580.82.07"
echo "kernel/drivers/video/nvidia.ko:" >>"$ROOT/lib/modules/` + runs + `/modules.dep"
[ ! -e "$ROOT/cut" ] || exit 9
mkdir -p "$ROOT/usr/bin"
: >"$ROOT/usr/bin/nvidia-uninstall"
`

const uninstallerText = `#!/bin/sh
echo "$@" >"$ROOT/uninstalled"
rm -r "$ROOT/var/lib/nvidia" "$ROOT/usr/lib64/libnvidia-ml.so.580.82.07" "$ROOT/usr/bin/nvidia-uninstall"
echo >"$ROOT/lib/modules/` + runs + `/modules.dep"
`

func withRunfile(t *testing.T) (*machine, Setup) {
	m, s := newMachine(t)
	m.put(t, "lib/modules/"+runs+"/modules.dep", "\n")
	m.put(t, "path/nvidia-uninstall", strings.ReplaceAll(uninstallerText, "$ROOT", m.root))
	if err := os.Chmod(filepath.Join(m.root, "path/nvidia-uninstall"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(m.root, "path")+":"+os.Getenv("PATH"))
	s.Host, s.Driver, s.Version = thisHost{root: m.root}, Choice{580, Open}, "580.82.07"
	return m, s
}

func (m *machine) bundle(context.Context) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(installer(m.root))), nil
}

// TestRunfileOverAnother: a loaded driver in use goes with a reboot, after which udev does
// not load it again, and the new one comes.
func TestRunfileOverAnother(t *testing.T) {
	m, s := withRunfile(t)
	for _, module := range []string{"nvidia", "nvidia_modeset", "nvidia_drm", "nvidia_uvm"} {
		m.put(t, "sys/module/"+module+"/refcnt", "1")
	}
	m.put(t, modulesFile, "nvidia\n")
	m.put(t, "path/modprobe", "#!/bin/sh\necho \"$@\" >"+m.root+"/unloaded; exit 1\n")
	if err := os.Chmod(filepath.Join(m.root, "path/modprobe"), 0o755); err != nil {
		t.Fatal(err)
	}
	err := RunfileStep(s, m.bundle).Run(t.Context())
	if _, is := errors.AsType[*RebootError](err); !is || m.has("called") || m.has(modulesFile) ||
		!strings.Contains(m.get(exchangeFile), "\ninstall nvidia /bin/false\n") ||
		strings.TrimSpace(m.get("unloaded")) != "-r nvidia_uvm nvidia_drm nvidia_modeset nvidia" {
		t.Errorf("got %v, ran modprobe %q", err, m.get("unloaded"))
	}
	for _, module := range []string{"nvidia", "nvidia_modeset", "nvidia_drm", "nvidia_uvm"} { // the boot
		m.remove(t, "sys/module/"+module+"/refcnt")
		m.remove(t, "sys/module/"+module)
	}
	if err := RunfileStep(s, m.bundle).Run(t.Context()); err != nil || !m.has("called") || m.has(exchangeFile) {
		t.Errorf("after the boot: %v; nvidia is kept from loading: %t", err, m.has(exchangeFile))
	}
}

// TestRunfileNewerStops: a newer .run file stops before it has replaced the driver of this
// step's. Reset uninstalls that all the same, also when the older bundle is back.
func TestRunfileNewerStops(t *testing.T) {
	for _, back := range []bool{false, true} {
		m, older := withRunfile(t)
		if err := RunfileStep(older, m.bundle).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		m.put(t, "sys/module/nvidia/refcnt", "1")
		m.put(t, "path/modprobe", "#!/bin/sh\nexit 1\n")
		if err := os.Chmod(filepath.Join(m.root, "path/modprobe"), 0o755); err != nil {
			t.Fatal(err)
		}
		newer := older
		newer.Version = "580.95.05"
		for range 2 {
			err := RunfileStep(newer, m.bundle).Run(t.Context())
			if _, is := errors.AsType[*RebootError](err); !is {
				t.Fatalf("the newer one: %v", err)
			}
		}
		if back { // the older one is to be loaded at boot again
			st := RunfileStep(older, m.bundle)
			holds(t, st.Done, false)
			if err := st.Run(t.Context()); err != nil || m.has(exchangeFile) {
				t.Errorf("back to the older one: %v", err)
			}
			holds(t, st.Done, true)
		}
		if err := RunfileStep(Setup{Host: older.Host, Root: older.Root}, nil).Undo(t.Context()); err != nil || !m.has("uninstalled") || m.has(installerLog) || m.has(runfileUndo) || m.has(exchangeFile) {
			t.Errorf("back to the older one: %t; reset: %v; uninstalled: %t", back, err, m.has("uninstalled"))
		}
	}
}

// TestExchangeGivenUp: a driver that comes in another way now is loaded at boot.
func TestExchangeGivenUp(t *testing.T) {
	m, s := withDriver(t)
	if err := DriverStep(s).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds(t, DriverStep(s).Done, true)
	m.put(t, exchangeFile, exchangeText)
	holds(t, DriverStep(s).Done, false)
	if err := DriverStep(s).Run(t.Context()); err != nil || m.has(exchangeFile) {
		t.Errorf("%v; it is kept from loading: %t", err, m.has(exchangeFile))
	}
}

// TestRunfileCut: the power goes amid NVIDIA's installer, which has its list and its
// library on the disk and no uninstaller yet, or only the library. The next run goes on;
// until then reset says so, and forgets nothing.
func TestRunfileCut(t *testing.T) {
	for _, lost := range []string{"", "var/lib/nvidia/log"} {
		m, s := withRunfile(t)
		m.put(t, "cut", "")
		st := RunfileStep(s, m.bundle)
		if err := st.Run(t.Context()); err == nil {
			t.Fatal("it was cut, and nobody says so")
		}
		if lost != "" {
			m.remove(t, lost)
		}
		if err := RunfileStep(Setup{Host: s.Host, Root: s.Root}, nil).Undo(t.Context()); err == nil || !strings.Contains(err.Error(), "was interrupted") || !m.has(runfileUndo) {
			t.Errorf("reset: %v", err)
		}
		m.remove(t, "cut")
		if err := st.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		holds(t, st.Done, true)
		if err := RunfileStep(Setup{Host: s.Host, Root: s.Root}, nil).Undo(t.Context()); err != nil || m.has(runfileUndo) {
			t.Errorf("reset afterwards: %v", err)
		}
	}
}

func TestRunfile(t *testing.T) {
	m, s := withRunfile(t)
	m.put(t, "usr/sbin/dkms", "")
	before := m.files(t)
	st := RunfileStep(s, m.bundle)
	holds(t, st.Done, false)
	if err := st.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds(t, st.Done, true)
	called := m.get("called")
	for _, flag := range []string{"--silent", "--no-x-check", "--no-opengl-files", "--no-install-compat32-libs", "--kernel-module-type=open", "--dkms", "--tmpdir=" + s.path(runfileDir)} {
		if !strings.Contains(called, " "+flag) {
			t.Errorf("called without %s: %s", flag, called)
		}
	}
	if m.has(runfileDir) {
		t.Error("the .run file is still there")
	}
	// A kernel that came since has no module.
	m.put(t, "proc/sys/kernel/osrelease", "5.14.0-9.el9.x86_64\n")
	holds(t, st.Done, false)
	for range 2 {
		if err := RunfileStep(Setup{Host: s.Host, Root: s.Root}, nil).Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := m.get("uninstalled"); !strings.HasPrefix(got, "--silent") {
		t.Errorf("uninstalled with %q", got)
	}
	after := slices.DeleteFunc(m.files(t), func(name string) bool {
		return slices.Contains([]string{"called", "uninstalled", strings.TrimPrefix(runfileSaid, "/"), strings.TrimPrefix(runfileLock, "/")}, name)
	})
	if !slices.Equal(before, after) {
		t.Errorf("undo left %q of %q", after, before)
	}
}

// TestRunfileCompiler: the installer finds the compiler that the running kernel was
// built with first.
func TestRunfileCompiler(t *testing.T) {
	for toolset, want := range map[string]bool{"opt/rh/gcc-toolset-14/root/usr/bin/gcc": true, "opt/rh/gcc-toolset-13/root/usr/bin/gcc": false} {
		m, s := withRunfile(t)
		m.put(t, "lib/modules/"+runs+"/build/.config", "CONFIG_GCC_VERSION=140201\n")
		m.put(t, toolset, "")
		if err := RunfileStep(s, m.bundle).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if first := " PATH=" + s.path(path.Dir(toolset)) + ":" + os.Getenv("PATH"); strings.Contains(m.get("called"), first) != want {
			t.Errorf("with %s it was called as %s", toolset, m.get("called"))
		}
	}
}

// TestRunfileFails: the log's end is told, and where all of it is; the next run
// begins anew.
func TestRunfileFails(t *testing.T) {
	m, s := withRunfile(t)
	m.put(t, "broken", "")
	m.put(t, "var/lib/dkms/nvidia/580.82.07/build/make.log", strings.Repeat("CC [M] x.o\n", 50)+"error: implicit declaration of function\n")
	st := RunfileStep(s, m.bundle)
	err := st.Run(t.Context())
	mustSay(t, err, runfileLog, "install NVIDIA's driver 580.82.07", "ERROR: Unable to find the kernel source tree", "/make.log ends:\nCC [M] x.o", "implicit declaration")
	holds(t, st.Done, false)
	m.remove(t, "broken")
	if err := st.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds(t, st.Done, true)
}

// TestRunfileBesideAPackage: files of a package are not overwritten, and an undo
// does not uninstall what it has not installed.
func TestRunfileBesideAPackage(t *testing.T) {
	m, s := withRunfile(t)
	m.put(t, "usr/lib64/libnvidia-ml.so.570.10", "")
	st := RunfileStep(s, m.bundle)
	mustSay(t, st.Run(t.Context()), "rpm -qf /usr/lib64/libnvidia-ml.so.570.10", "driver files that no .run file has installed: /usr/lib64/libnvidia-ml.so.570.10")
	m.put(t, strings.TrimPrefix(installerLog, "/"), "570.10\n")
	if err := errors.Join(st.Undo(t.Context()), host.WriteJSON(s.path(runfileUndo), runfileRecord{Version: "580.82.07"}), st.Undo(t.Context())); err != nil {
		t.Fatal(err)
	}
	if m.has("called") || m.has("uninstalled") {
		t.Error("the installer or its uninstaller was called")
	}
}

func TestRunfileVersion(t *testing.T) {
	for name, want := range map[string]string{
		"https://example.com/a/NVIDIA-Linux-x86_64-580.82.07.run": "580.82.07",
		"NVIDIA-Linux-x86_64-535.104.05-no-compat32.run":          "535.104.05",
		"NVIDIA-Linux-aarch64-595.45.run":                         "595.45",
		"cuda_13.0.1_580.82.07_linux.run":                         "",
		"NVIDIA-Linux-x86_64-580.82.07.run.gz":                    "",
	} {
		if got, err := runfileVersion(name); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestRunfileFlavour(t *testing.T) {
	for c, want := range map[Choice]string{
		{580, Proprietary}: "--kernel-module-type=proprietary",
		{535, Open}:        "--kernel-module-build-directory=kernel-open",
		{535, Proprietary}: "--kernel-module-build-directory=kernel",
	} {
		if got := (runfile{Setup: Setup{Driver: c}}).flavour(); got != want {
			t.Errorf("%s: %s, want %s", c, got, want)
		}
	}
}

// TestRunfileThatIsNotWhole: a .run file of which the last bytes are refused is not run,
// and nothing of it stays. Before it there are more bytes than a pipe or a buffer takes.
func TestRunfileThatIsNotWhole(t *testing.T) {
	m, s := withRunfile(t)
	refused := errors.New("SHA-256 is not the signed one")
	open := func(context.Context) (io.ReadCloser, error) {
		script := installer(m.root) + "exit 0\n" + strings.Repeat("#\n", 1<<20)
		return io.NopCloser(io.MultiReader(strings.NewReader(script), iotest.ErrReader(refused))), nil
	}
	if err := RunfileStep(s, open).Run(t.Context()); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(m.root, runfileDir)); m.has("called") || len(left) > 0 {
		t.Errorf("it ran: %t; left: %v", m.has("called"), left)
	}
}
