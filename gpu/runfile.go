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
	// runfileDir is the directory in which the .run file unpacks itself and compiles: /tmp is small
	// and noexec on hardened hosts.
	runfileDir  = "/var/lib/airgap/gpu"
	runfileLog  = logDir + "/nvidia-installer.log" // the installer truncates it at each start
	runfileSaid = logDir + "/nvidia-installer.out" // the installer's output
	runfileLock = "/run/airgap/nvidia-installer.lock"
	runfileUndo = undoDir + "/nvidia-installer.json"
	// exchangeFile exists while an old driver is still loaded. It prevents udev from loading that
	// driver at the next boot by the GPUs' device IDs, which ignores modules-load.d.
	exchangeFile = "/etc/modprobe.d/airgap-nvidia-exchange.conf"
	exchangeText = ours + "# airgap is replacing NVIDIA's driver: run the same airgap command again.\ninstall nvidia /bin/false\n"
	// installerLog is the list of installed files for NVIDIA's uninstaller. The first line is the
	// version (nvidia-installer, backup.c).
	installerLog = "/var/lib/nvidia/log"
)

// runfileVersion returns the version in the name of a .run file: "580.82.07" for
// NVIDIA-Linux-x86_64-580.82.07.run.
func runfileVersion(name string) (string, error) {
	m := regexp.MustCompile(`^NVIDIA-Linux-\w+-(\d{3,4}(\.\d+){1,2})[^/]*\.run$`).FindStringSubmatch(path.Base(name))
	if m == nil {
		return "", fmt.Errorf("read the driver's version: %q does not match NVIDIA-Linux-x86_64-580.82.07.run", path.Base(name))
	}
	return m[1], nil
}

// RunfileStep installs the driver with NVIDIA's .run file, which open reads from the bundle. Setup must
// have its version. The step fails and changes nothing if the host has a driver from another source.
// Undo runs NVIDIA's uninstaller, only for a driver that this step has installed.
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

// runfileRecord has the version that this step installs or has installed. During a replacement it also
// has the previous version of this step.
type runfileRecord struct {
	Version string `json:"version"`
	Before  string `json:"before,omitempty"`
}

// has reports whether this step has installed that version.
func (r runfileRecord) has(version string) bool {
	return version != "" && (version == r.Version || version == r.Before)
}

// done also requires the module for the running kernel: a kernel that was installed later has none
// unless DKMS has built it. A driver that exchangeFile blocks is not done.
func (r runfile) done() (bool, error) {
	if r.has(strings.TrimPrefix(exchangeFile, "/")) {
		return false, nil
	}
	return r.complete()
}

func (r runfile) complete() (bool, error) {
	if _, err := os.Stat(r.path(runfileDir)); !errors.Is(err, fs.ErrNotExist) {
		return false, err // left by an interrupted run
	}
	installed, err := r.installed()
	if err != nil || installed == "" || installed != r.Version {
		return false, err
	}
	return r.HasModule()
}

// installed returns the version that NVIDIA's installer has installed; "" for none.
func (r runfile) installed() (string, error) {
	text, err := fs.ReadFile(r.Host.FS(), strings.TrimPrefix(installerLog, "/"))
	version, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(version), host.IgnoreMissing(err)
}

func (r runfile) install(ctx context.Context) error {
	if is, err := r.complete(); err != nil || is { // a replacement was started but is no longer needed
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
	// After a power failure the installed files must match installerLog.
	if err := host.Sync(); err != nil {
		return err
	}
	if err := host.WriteJSON(r.path(runfileUndo), runfileRecord{Version: r.Version}); err != nil {
		return err
	}
	return host.RemoveTree(r.path(runfileDir))
}

// begin records the version to install. It keeps a version that this step has installed before: until
// the installer has replaced it, Undo must uninstall it.
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

// unload unloads NVIDIA's modules, because the installer fails while one is loaded. If a module is in
// use, for example by the device plugin, unload blocks it at the next boot and returns a *RebootError.
// DriverStep later loads the new one.
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
	// Each module comes before its dependencies. modprobe fails for modules that do not exist, so only
	// loaded ones are listed.
	modules := slices.DeleteFunc([]string{"nvidia_uvm", "nvidia_peermem", "nvidia_drm", "nvidia_modeset", "nvidia"}, func(m string) bool { return !r.loaded(m) })
	err := r.run(ctx, "modprobe", append([]string{"-r"}, modules...)...)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || r.loaded("nvidia") {
		if err := host.WriteFile(r.path(exchangeFile), []byte(exchangeText), 0o644); err != nil {
			return err
		}
		return &RebootError{Why: "another driver of NVIDIA is in use; it is blocked at the next boot"}
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

// flags returns the flags of nvidia-installer. Compute nodes need no X server, no 32-bit programs and
// no units for suspend.
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

// flavour returns the flag for the kernel module. Branch 560 has introduced a new flag.
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

// locked runs a command that continues if airgap is killed. The command holds a lock until its end, so
// the next run waits for it.
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

// explain adds the end of the installer's log and of the compiler's log, which DKMS writes to another
// file.
func (r runfile) explain(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f := &Failure{What: what, Err: err, Next: "read the full log: " + runfileLog}
	for _, log := range []string{runfileLog, "/var/lib/dkms/nvidia/" + r.Version + "/build/make.log"} {
		text, err := fs.ReadFile(r.Host.FS(), strings.TrimPrefix(log, "/"))
		if err == nil {
			f.Log += log + " ends with:\n" + lastLines(string(text), 12) + "\n"
		}
	}
	f.Log = strings.TrimSpace(f.Log)
	return f
}

// refuseForeign returns an error if a package has installed the driver: after the next update of either
// one the host would have two versions. Files of an interrupted run of this step are allowed.
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
		Err:  fmt.Errorf("this host has driver files from another source than a .run file: %s", libraries[0].path),
		Next: "remove that driver (find its package with rpm -qf " + libraries[0].path + "), or use it: set gpu.source: dkms or host",
	}
}

// refuseIncomplete returns an error if the installation is incomplete: the installer writes NVIDIA's
// uninstaller last.
func (r runfile) refuseIncomplete(version, installed string) error {
	libraries, err := r.libraries()
	if err != nil {
		return err
	}
	left := installed == version || slices.Contains(versions(libraries), version)
	if !left || installed == version && r.has("usr/bin/nvidia-uninstall") {
		return nil
	}
	return &Failure{
		What: "uninstall NVIDIA's driver " + version, Err: errors.New("the installation was interrupted before it wrote the uninstaller"),
		Next: "run the same airgap install or airgap join again until it passes this step, then run airgap reset",
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
	if err := r.refuseIncomplete(record.Version, installed); err != nil {
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
