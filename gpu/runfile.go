package gpu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

const (
	// runfileDir is where the .run file lies, unpacks itself and compiles: /tmp is
	// small and noexec on hardened hosts.
	runfileDir  = "/var/lib/airgap/gpu"
	runfileLog  = logDir + "/nvidia-installer.log" // the installer begins it anew each time
	runfileSaid = logDir + "/nvidia-installer.out" // what it says to a terminal
	runfileLock = "/run/airgap/nvidia-installer.lock"
	runfileUndo = undoDir + "/nvidia-installer.json"
	// exchangeFile is there from when the old driver could not be unloaded until it is: by
	// its cards' numbers udev would load it at the next boot, whatever modules-load.d says.
	exchangeFile = "/etc/modprobe.d/airgap-nvidia-exchange.conf"
	exchangeText = ours + "# NVIDIA's driver is about to be exchanged: run the same airgap command again.\ninstall nvidia /bin/false\n"
	// installerLog is NVIDIA's own list of what it has installed, for its
	// uninstaller. The version comes first (nvidia-installer, backup.c).
	installerLog = "/var/lib/nvidia/log"
)

// runfileVersion is the version in the name of a .run file, as NVIDIA names them:
// "580.82.07" of NVIDIA-Linux-x86_64-580.82.07.run.
func runfileVersion(name string) (string, error) {
	m := regexp.MustCompile(`^NVIDIA-Linux-\w+-(\d{3,4}(\.\d+){1,2})[^/]*\.run$`).FindStringSubmatch(path.Base(name))
	if m == nil {
		return "", fmt.Errorf("read the driver's version: %q is not like NVIDIA-Linux-x86_64-580.82.07.run", path.Base(name))
	}
	return m[1], nil
}

// RunfileStep installs the driver with NVIDIA's .run file, which open reads from
// the bundle; Setup has to say which version that is. A driver that something else
// has installed is left alone, and the step fails. Undo runs NVIDIA's uninstaller,
// on what this step has installed only.
func RunfileStep(s Setup, open func(context.Context) (io.ReadCloser, error)) step.Step {
	r := runfile{s, open}
	return step.Step{
		Name: "gpu-runfile", Title: "Install NVIDIA's driver from its .run file",
		Done: func(context.Context) (bool, error) { return r.done() },
		Plan: func(context.Context) ([]string, error) {
			return []string{"install NVIDIA's driver " + s.Version + " (" + string(s.Driver.Flavour) + ")"}, nil
		},
		Run: r.install, Undo: r.uninstall,
	}
}

type runfile struct {
	Setup
	open func(context.Context) (io.ReadCloser, error)
}

// runfileRecord is the version that this step has installed, or began to, and the one of
// this step's that was there before, until that has come to the end.
type runfileRecord struct {
	Version string `json:"version"`
	Before  string `json:"before,omitempty"`
}

// has tells whether this step has installed that version.
func (r runfileRecord) has(version string) bool {
	return version != "" && (version == r.Version || version == r.Before)
}

// done wants the module for the running kernel, too: a kernel that came since has
// none unless DKMS made one. A driver that is kept from loading is none.
func (r runfile) done() (bool, error) {
	if r.has(strings.TrimPrefix(exchangeFile, "/")) {
		return false, nil
	}
	return r.complete()
}

func (r runfile) complete() (bool, error) {
	if _, err := os.Stat(r.path(runfileDir)); !errors.Is(err, fs.ErrNotExist) {
		return false, err // an interrupted run left it
	}
	installed, err := r.installed()
	if err != nil || installed == "" || installed != r.Version {
		return false, err
	}
	return r.HasModule()
}

// installed is the version that NVIDIA's installer has installed; "" for none.
func (r runfile) installed() (string, error) {
	text, err := fs.ReadFile(r.Host.FS(), strings.TrimPrefix(installerLog, "/"))
	version, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(version), host.IgnoreMissing(err)
}

func (r runfile) install(ctx context.Context) error {
	if is, err := r.complete(); err != nil || is { // another version was to come, and is not any more
		return errors.Join(err, host.Remove(r.path(exchangeFile)))
	}
	if err := r.refuseForeign(); err != nil {
		return err
	}
	if err := r.begin(); err != nil {
		return err
	}
	if err := r.unload(ctx); err != nil {
		return err
	}
	running, err := r.running()
	if err != nil {
		return err
	}
	compiler, err := r.compiling(running)
	if err != nil {
		return err
	}
	file := path.Join(runfileDir, "nvidia.run")
	if err := r.unpack(ctx, r.path(file)); err != nil {
		return fmt.Errorf("copy NVIDIA's .run file: %w", err)
	}
	if err := r.locked(ctx, compiler, append([]string{"sh", r.path(file)}, r.flags()...)...); err != nil {
		return r.explain(ctx, "install NVIDIA's driver "+r.Version, err)
	}
	// After a power cut the host has to have what the list of files says.
	if err := host.Sync(); err != nil {
		return err
	}
	if err := host.WriteJSON(r.path(runfileUndo), runfileRecord{Version: r.Version}); err != nil {
		return err
	}
	return host.RemoveTree(r.path(runfileDir))
}

// begin notes what is to be installed. A driver of this step's that is there stays noted:
// until the installer has replaced it, it is the one to uninstall.
func (r runfile) begin() error {
	record, err := host.ReadJSON[runfileRecord](r.path(runfileUndo))
	if err != nil {
		return err
	}
	installed, err := r.installed()
	if err != nil {
		return err
	}
	begun := runfileRecord{Version: r.Version}
	if installed != r.Version && record.has(installed) {
		begun.Before = installed
	}
	return host.WriteJSON(r.path(runfileUndo), begun)
}

// unload makes room: the installer gives up while a module of NVIDIA's is loaded. One
// that is in use, the device plugin's for instance, is kept from loading at the next boot;
// DriverStep loads the new one.
func (r runfile) unload(ctx context.Context) error {
	if !r.loaded("nvidia") {
		return host.Remove(r.path(exchangeFile))
	}
	if err := host.Remove(r.path(modulesFile)); err != nil {
		return err
	}
	for _, unit := range []string{PersistenceUnit, OwnPersistenceUnit} {
		if !r.hasUnit(unit) {
			continue
		}
		if err := r.run(ctx, "systemctl", "stop", unit); err != nil {
			return err
		}
	}
	// Each before the ones that it needs. One that is not loaded may not be there at all,
	// at which modprobe fails.
	modules := slices.DeleteFunc([]string{"nvidia_uvm", "nvidia_peermem", "nvidia_drm", "nvidia_modeset", "nvidia"}, func(m string) bool { return !r.loaded(m) })
	err := r.run(ctx, "modprobe", append([]string{"-r"}, modules...)...)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || r.loaded("nvidia") {
		if err := host.WriteFile(r.path(exchangeFile), []byte(exchangeText), 0o644); err != nil {
			return err
		}
		return &RebootError{Why: "another driver of NVIDIA's is loaded and in use; it is not loaded at the next boot"}
	}
	return host.Remove(r.path(exchangeFile))
}

func (r runfile) unpack(ctx context.Context, to string) error {
	from, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer from.Close()
	return host.Write(to, 0o700, func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
}

// flags are those of nvidia-installer. Compute nodes have no X server and run no
// 32-bit programs; units for suspend are none of a server's.
func (r runfile) flags() []string {
	flags := []string{
		"--silent", "--no-x-check", "--no-opengl-files", "--no-install-compat32-libs", "--no-systemd",
		"--tmpdir=" + r.path(runfileDir), "--log-file-name=" + r.path(runfileLog), r.flavour(),
	}
	if r.has("usr/sbin/dkms") || r.has("usr/bin/dkms") {
		return append(flags, "--dkms")
	}
	return flags
}

// flavour is said in two ways: the later one came with branch 560.
func (r runfile) flavour() string {
	switch {
	case r.Driver.Branch >= 560:
		return "--kernel-module-type=" + string(r.Driver.Flavour)
	case r.Driver.Flavour == Open:
		return "--kernel-module-build-directory=kernel-open"
	default:
		return "--kernel-module-build-directory=kernel"
	}
}

func (s Setup) has(name string) bool {
	_, err := fs.Stat(s.Host.FS(), name)
	return err == nil
}

// locked runs a command, in its environment, that goes on when airgap is killed: the
// lock, which it holds to its end, makes the next run wait for it.
func (r runfile) locked(ctx context.Context, env []string, argv ...string) error {
	for _, dir := range []string{logDir, path.Dir(runfileLock), runfileDir} {
		if err := os.MkdirAll(r.path(dir), 0o755); err != nil {
			return err
		}
	}
	_, err := r.Host.Run(ctx, host.Cmd{
		Name: "flock", Args: append([]string{"--verbose", "--wait", "900", r.path(runfileLock)}, argv...),
		Env: append([]string{"TMPDIR=" + r.path(runfileDir)}, env...), Log: r.path(runfileSaid),
	})
	return err
}

// explain adds the end of the installer's log and of the compiler's, which DKMS
// writes elsewhere.
func (r runfile) explain(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f := &Failure{What: what, Err: err, Next: runfileLog + " has all of it"}
	for _, log := range []string{runfileLog, "/var/lib/dkms/nvidia/" + r.Version + "/build/make.log"} {
		text, err := fs.ReadFile(r.Host.FS(), strings.TrimPrefix(log, "/"))
		if err == nil {
			f.Said += log + " ends:\n" + lastLines(string(text), 12) + "\n"
		}
	}
	f.Said = strings.TrimSpace(f.Said)
	return f
}

// refuseForeign stops before files of a package are overwritten: the next update of
// either would leave two versions mixed. What an interrupted run of this step has left
// is its own.
func (r runfile) refuseForeign() error {
	installed, err := r.installed()
	if err != nil {
		return err
	}
	record, err := host.ReadJSON[runfileRecord](r.path(runfileUndo))
	if err != nil {
		return err
	}
	libraries, err := r.libraries()
	if err != nil || len(libraries) == 0 || installed != "" || record.Version == r.Version {
		return err
	}
	return &Failure{
		What: "install NVIDIA's driver " + r.Version,
		Err:  fmt.Errorf("this host has driver files that no .run file has installed: %s", libraries[0].path),
		Next: "remove that driver (rpm -qf " + libraries[0].path + " names its package), or use it: gpu.source: dkms or host",
	}
}

// refuseHalf: NVIDIA's uninstaller is what a run of its installer writes last.
func (r runfile) refuseHalf(version, installed string) error {
	libraries, err := r.libraries()
	if err != nil {
		return err
	}
	left := installed == version || slices.Contains(versions(libraries), version)
	if !left || installed == version && r.has("usr/bin/nvidia-uninstall") {
		return nil
	}
	return &Failure{
		What: "uninstall NVIDIA's driver " + version, Err: errors.New("its installation was interrupted, and there is no uninstaller yet"),
		Next: "run the same airgap install, or join, again until it goes on from here, then airgap reset",
	}
}

func (r runfile) uninstall(ctx context.Context) error {
	if err := host.Remove(r.path(exchangeFile)); err != nil {
		return err
	}
	record, err := host.ReadJSON[runfileRecord](r.path(runfileUndo))
	if err != nil || record.Version == "" {
		return err
	}
	installed, err := r.installed()
	if err != nil {
		return err
	}
	if err := r.refuseHalf(record.Version, installed); err != nil {
		return err
	}
	if record.has(installed) {
		err := r.locked(ctx, nil, "nvidia-uninstall", "--silent", "--log-file-name="+r.path(runfileLog))
		if err != nil {
			return r.explain(ctx, "uninstall NVIDIA's driver "+installed, err)
		}
	}
	if err := host.RemoveTree(r.path(runfileDir)); err != nil {
		return err
	}
	return host.Remove(r.path(runfileUndo))
}
