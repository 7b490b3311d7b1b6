package medium

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/enterprise"
	"airgap.dev/airgap/internal/nextboot"
	"airgap.dev/airgap/preflight/facts"
)

// Server is a server that reads the medium.
type Server struct {
	Name  string
	OS    string       // of airgap.yaml: "el8"
	Facts *facts.Facts // nil without a survey
	First bool         // the first control-plane host, which must read the medium
}

// kernel describes the kernel for messages.
func (s Server) kernel() string {
	if s.Facts != nil && s.Facts.Kernel.Release != "" {
		return "kernel " + s.Facts.Kernel.Release
	}
	return "Enterprise Linux " + s.release().Major()
}

// lacks returns the reason why the kernel cannot load a module; "" if the kernel has it or the survey does not show it. Without
// a survey, the modules of Red Hat's kernels count.
func (s Server) lacks(module string) string {
	if s.Facts == nil || len(s.Facts.Media.Modules) == 0 {
		known := []string{"dm_crypt", "ext4", "isofs", "udf", "vfat", "xfs"}
		if s.release().ExFAT {
			known = append(known, "exfat")
		}
		if slices.Contains(known, module) {
			return ""
		}
		return fmt.Sprintf("the kernel has no module %s", module)
	}
	switch s.Facts.Media.Modules[module] {
	case facts.Missing:
		return fmt.Sprintf("the kernel has no module %s", module)
	case facts.Blocked:
		at := slices.IndexFunc(s.Facts.Media.Blocked, func(b nextboot.Block) bool { return b.Module == module })
		if at < 0 {
			return fmt.Sprintf("the module %s is blocked", module)
		}
		return fmt.Sprintf("%s blocks the module %s", s.Facts.Media.Blocked[at].Place, module)
	}
	return ""
}

// has reports whether one of the packages is installed; false if that is unknown.
func (s Server) has(packages ...string) bool {
	return s.Facts != nil && slices.ContainsFunc(packages, func(name string) bool { return s.Facts.Installed(name) != nil })
}

// level is a release of Linux: the kernel has the XFS and ext4 of this release. sure is false if it is only
// the lowest possible one: minor releases of Red Hat contain file systems of newer kernels.
func (s Server) level() (level [2]int, sure bool) {
	r := s.release()
	if s.Facts != nil && s.Facts.Kernel.Release != "" && !strings.HasPrefix(s.Facts.Kernel.Release, r.Kernel+".") { // Oracle's UEK, ELRepo
		_, err := fmt.Sscanf(s.Facts.Kernel.Release, "%d.%d", &level[0], &level[1])
		return level, err == nil
	}
	switch {
	case r.OS == "":
		return [2]int{99, 0}, false // another system: no feature is too new
	case r.Rebased.Minor == 0:
		return r.Filesystems, true
	case s.Facts == nil || !s.Facts.OS.AtLeast(r.Rebased.Minor):
		return r.Filesystems, false
	}
	return r.Rebased.Linux, !s.Facts.OS.AtLeast(r.Rebased.Minor + 1)
}

// release is the one of the survey, or else of airgap.yaml.
func (s Server) release() enterprise.Release {
	if s.Facts != nil && s.Facts.OS.Enterprise() != "" {
		return enterprise.Of(s.Facts.OS.Enterprise())
	}
	return enterprise.Of(s.OS)
}

func older(a, b [2]int) bool { return a[0] < b[0] || a[0] == b[0] && a[1] < b[1] }
