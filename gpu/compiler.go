package gpu

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// A kernel, for example Oracle's, may be built with a newer compiler than the system's gcc. The bundle
// contains that compiler as gcc-toolset-N, which is not in PATH by default (Red Hat: developing C and
// C++ applications, "GCC Toolset").

const (
	dkmsUnit = "dkms.service"
	// dkmsDropIn sets PATH for the builds of DKMS at a boot with a new kernel. framework.conf of
	// DKMS cannot set PATH (dkms: dkms_framework_nonsigning_variables).
	dkmsDropIn = "/etc/systemd/system/dkms.service.d/50-airgap.conf"
	// systemPATH is systemd's default PATH of a unit.
	systemPATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"
)

// configuredGCC matches the compiler in a kernel's configuration, which is next to its headers: 110500
// is 11.5.0. It is 0 for other compilers.
var configuredGCC = regexp.MustCompile(`(?m)^CONFIG_GCC_VERSION=(\d+)\d{4}$`)

// compilerOf returns the major version of the gcc that built a kernel; 0: unknown.
func (s Setup) compilerOf(kernel string) (int, error) {
	text, err := fs.ReadFile(s.Host.FS(), "lib/modules/"+kernel+"/build/.config")
	if err := host.IgnoreMissing(err); err != nil {
		return 0, err
	}
	if m := configuredGCC.FindSubmatch(text); m != nil {
		return strconv.Atoi(string(m[1]))
	}
	running, err := s.running()
	if err != nil || running != kernel {
		return 0, err
	}
	text, err = fs.ReadFile(s.Host.FS(), "proc/version")
	return Compiler(string(text)), host.IgnoreMissing(err)
}

// toolset returns the major version of the gcc-toolset that a kernel needs; 0 if the kernel uses the
// system's compiler or the toolset is not installed.
func (s Setup) toolset(kernel string) (int, error) {
	major, err := s.compilerOf(kernel)
	if err != nil || !s.has(strings.TrimPrefix(toolsetDir(major)+"/gcc", "/")) {
		return 0, err
	}
	return major, nil
}

func toolsetDir(major int) string { return fmt.Sprintf("/opt/rh/gcc-toolset-%d/root/usr/bin", major) }

// compiling returns the environment of a command that builds a module for a kernel.
func (s Setup) compiling(kernel string) ([]string, error) {
	major, err := s.toolset(kernel)
	if err != nil || major == 0 {
		return nil, err
	}
	return []string{"PATH=" + s.path(toolsetDir(major)) + ":" + os.Getenv("PATH")}, nil
}

// dropInText returns nil if DKMS needs only the system's compiler, or if the site installs the driver.
// With several kernels it uses the newest compiler, because the next kernel will need it too.
func (d dkms) dropInText() ([]byte, error) {
	headers, err := d.headers()
	if err != nil || d.Driver == (Choice{}) || !d.hasUnit(dkmsUnit) {
		return nil, err
	}
	newest := 0
	for _, kernel := range headers {
		major, err := d.toolset(kernel)
		if err != nil {
			return nil, err
		}
		newest = max(newest, major)
	}
	if newest == 0 {
		return nil, nil
	}
	return fmt.Appendf(nil, "%s[Service]\nEnvironment=PATH=%s:%s\n", ours, toolsetDir(newest), systemPATH), nil
}

// dropInHolds reports whether the unit of DKMS has the required compiler.
func (d dkms) dropInHolds() (bool, error) {
	text, err := d.dropInText()
	if err != nil || text == nil {
		return err == nil, err
	}
	return host.FileMatches(d.path(dkmsDropIn), text, 0o644)
}

func (d dkms) writeDropIn(ctx context.Context) error {
	text, err := d.dropInText()
	if err != nil || text == nil {
		return err
	}
	if err := host.WriteFile(d.path(dkmsDropIn), text, 0o644); err != nil {
		return err
	}
	return d.run(ctx, "systemctl", "daemon-reload")
}

func (d dkms) removeDropIn(ctx context.Context) error {
	if !d.has(strings.TrimPrefix(dkmsDropIn, "/")) {
		return nil
	}
	if err := host.Remove(d.path(dkmsDropIn)); err != nil {
		return err
	}
	return d.run(ctx, "systemctl", "daemon-reload")
}
