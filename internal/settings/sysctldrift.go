package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/sysctld"
)

// SysctlDrift is a kernel parameter that a node needs and that has another value now, or after the
// next boot. Saw is "" where the kernel does not have it, as without its module.
type SysctlDrift struct{ Key, Saw, Want string }

// DriftedSysctls returns the parameters of NodeSysctls and NetworkLimitsStep with another value, the
// interfaces that do not forward, and a mask of the service that sets the parameters at boot.
func DriftedSysctls(m host.Machine) ([]SysctlDrift, error) {
	boot, err := sysctld.Read(os.DirFS(m.Path("/")))
	if err != nil {
		return nil, err
	}
	var drifted []SysctlDrift
	for _, s := range NodeSysctls() {
		have, err := readSysctl(m, s.Key)
		set, is := boot.Of(s.Key)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			drifted = append(drifted, SysctlDrift{s.Key, "", s.want()})
		case err != nil:
			return nil, err
		case !s.holds(have):
			drifted = append(drifted, SysctlDrift{s.Key, strconv.Itoa(have), s.want()})
		case !is:
			drifted = append(drifted, SysctlDrift{s.Key, "no setting for the next boot", s.want()})
		case !s.set(set):
			drifted = append(drifted, SysctlDrift{s.Key, atNextBoot(set), s.want()})
		}
	}
	links, err := driftedLinks(m, boot)
	if err != nil {
		return nil, err
	}
	limits, err := driftedLimits(m, boot)
	if err != nil {
		return nil, err
	}
	masked, err := maskedService(m)
	return slices.Concat(masked, drifted, links, limits), err
}

// driftedLinks returns the interfaces that do not forward now, or from the next boot on. They are no
// separate finding while the kernel does not forward at all.
func driftedLinks(m host.Machine, boot *sysctld.Boot) ([]SysctlDrift, error) {
	if forwards, err := readSysctl(m, forwardingKey); err != nil || forwards == 0 {
		return nil, host.IgnoreMissing(err)
	}
	keys, err := linkKeys(m)
	if err != nil {
		return nil, err
	}
	var drifted []SysctlDrift
	for _, key := range keys {
		have, err := readSysctl(m, key)
		set, is := boot.Of(key)
		switch {
		case errors.Is(err, fs.ErrNotExist): // it was removed meanwhile
		case err != nil:
			return nil, err
		case have == 0 && !named(boot, key):
			drifted = append(drifted, SysctlDrift{key, "0", "1"})
		case have != 0 && is && set.Value == "0" && (set.Glob() || named(boot, key)):
			drifted = append(drifted, SysctlDrift{key, atNextBoot(set), "1"})
		}
	}
	return drifted, nil
}

// sysctlService applies the files at boot.
const sysctlService = "systemd-sysctl.service"

// maskedService returns a drift if systemd does not start the service at the next boot: then no file
// sets a parameter. A mask in /run is lost at the boot.
func maskedService(m host.Machine) ([]SysctlDrift, error) {
	for _, dir := range []string{"/etc/systemd/system/", "/usr/local/lib/systemd/system/"} {
		masked, err := emptyUnit(m.Path(dir + sysctlService))
		if err != nil {
			return nil, err
		}
		if masked {
			return []SysctlDrift{{sysctlService, "masked by " + dir + sysctlService + ": the next boot sets no kernel parameter of a file", "not masked"}}, nil
		}
	}
	return nil, nil
}

// emptyUnit reports whether a path masks a unit (systemd.unit(5)): a link to /dev/null, or an empty file.
func emptyUnit(path string) (bool, error) {
	if to, err := os.Readlink(path); err == nil {
		return to == os.DevNull, nil
	}
	info, err := os.Lstat(path)
	if err != nil {
		return false, host.IgnoreMissing(err)
	}
	return info.Mode().IsRegular() && info.Size() == 0, nil
}

// set reports whether a setting has the value.
func (s Sysctl) set(to sysctld.Setting) bool {
	n, err := strconv.Atoi(to.Value)
	return err == nil && s.holds(n)
}

func atNextBoot(s sysctld.Setting) string {
	return fmt.Sprintf("%s from the next boot on (%s)", s.Value, s.At())
}

func (s Sysctl) want() string {
	if s.Floor {
		return "at least " + strconv.Itoa(s.Value)
	}
	return strconv.Itoa(s.Value)
}
