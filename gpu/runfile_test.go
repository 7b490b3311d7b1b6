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

// thisHost runs commands on this machine, with its files in a temporary directory.
type thisHost struct {
	host.Local
	root string
}

func (h thisHost) FS() fs.FS { return os.DirFS(h.root) }

// installer is a fake .run file. It installs a list of files, a library, a module, and an uninstaller
// that removes them. Commands get no environment of the test, so they contain the host's root.
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

// TestRunfileOverAnother checks that a loaded driver in use requires a reboot, that udev does not load
// it again, and that the step then installs the new one.
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
		t.Errorf("after the boot: %v; nvidia is blocked: %t", err, m.has(exchangeFile))
	}
}

// TestRunfileNewerStops checks that a reset uninstalls the driver of this step if a newer .run file has
// failed before it replaced it, also after a return to the older bundle.
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
				t.Fatalf("newer version: %v", err)
			}
		}
		if back { // the older version must load at boot again
			st := RunfileStep(older, m.bundle)
			holds(t, st.Done, false)
			if err := st.Run(t.Context()); err != nil || m.has(exchangeFile) {
				t.Errorf("return to the older version: %v", err)
			}
			holds(t, st.Done, true)
		}
		if err := RunfileStep(Setup{Host: older.Host, Root: older.Root}, nil).Undo(t.Context()); err != nil || !m.has("uninstalled") || m.has(installerLog) || m.has(runfileUndo) || m.has(exchangeFile) {
			t.Errorf("return to the older version: %t; reset: %v; uninstalled: %t", back, err, m.has("uninstalled"))
		}
	}
}

// TestExchangeGivenUp checks that a driver from another source loads at boot after an abandoned
// replacement.
func TestExchangeGivenUp(t *testing.T) {
	m, s := withDriver(t)
	if err := DriverStep(s).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds(t, DriverStep(s).Done, true)
	m.put(t, exchangeFile, exchangeText)
	holds(t, DriverStep(s).Done, false)
	if err := DriverStep(s).Run(t.Context()); err != nil || m.has(exchangeFile) {
		t.Errorf("%v; it is blocked: %t", err, m.has(exchangeFile))
	}
}

// TestRunfileInterrupted covers a power failure during NVIDIA's installer, with the list and the library
// on disk and no uninstaller, or only the library. The next run continues. Until then a reset returns
// an error and keeps its record.
func TestRunfileInterrupted(t *testing.T) {
	for _, lost := range []string{"", "var/lib/nvidia/log"} {
		m, s := withRunfile(t)
		m.put(t, "cut", "")
		st := RunfileStep(s, m.bundle)
		if err := st.Run(t.Context()); err == nil {
			t.Fatal("the interrupted run returned no error")
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
		t.Error("the .run file still exists")
	}
	// A kernel that was installed later has no module.
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
		t.Errorf("after the undo: %q, before: %q", after, before)
	}
}

// TestRunfileCompiler checks that the compiler of the running kernel is first in the installer's PATH.
func TestRunfileCompiler(t *testing.T) {
	for toolset, want := range map[string]bool{"opt/rh/gcc-toolset-14/root/usr/bin/gcc": true, "opt/rh/gcc-toolset-13/root/usr/bin/gcc": false} {
		m, s := withRunfile(t)
		m.put(t, "lib/modules/"+runs+"/build/.config", "CONFIG_GCC_VERSION=140201\n")
		m.put(t, toolset, "")
		if err := RunfileStep(s, m.bundle).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if first := " PATH=" + s.path(path.Dir(toolset)) + ":" + os.Getenv("PATH"); strings.Contains(m.get("called"), first) != want {
			t.Errorf("with %s: called as %s", toolset, m.get("called"))
		}
	}
}

// TestRunfileFails checks that the error has the end of the log and its path, and that the next run
// starts again.
func TestRunfileFails(t *testing.T) {
	m, s := withRunfile(t)
	m.put(t, "broken", "")
	m.put(t, "var/lib/dkms/nvidia/580.82.07/build/make.log", strings.Repeat("CC [M] x.o\n", 50)+"error: implicit declaration of function\n")
	st := RunfileStep(s, m.bundle)
	err := st.Run(t.Context())
	mustSay(t, err, runfileLog, "install NVIDIA's driver 580.82.07", "ERROR: Unable to find the kernel source tree", "/make.log ends with:\nCC [M] x.o", "implicit declaration")
	holds(t, st.Done, false)
	m.remove(t, "broken")
	if err := st.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds(t, st.Done, true)
}

// TestRunfileBesideAPackage checks that the step does not overwrite files of a package, and that undo
// does not uninstall them.
func TestRunfileBesideAPackage(t *testing.T) {
	m, s := withRunfile(t)
	m.put(t, "usr/lib64/libnvidia-ml.so.570.10", "")
	st := RunfileStep(s, m.bundle)
	mustSay(t, st.Run(t.Context()), "rpm -qf /usr/lib64/libnvidia-ml.so.570.10", "driver files from another source than a .run file: /usr/lib64/libnvidia-ml.so.570.10")
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

// TestRunfileIncomplete checks that a .run file with an error at its end does not run, and that no part
// of it remains. The data before the error is larger than a pipe or a buffer.
func TestRunfileIncomplete(t *testing.T) {
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
		t.Errorf("the file ran: %t; remaining: %v", m.has("called"), left)
	}
}
