package preflight

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"airgap.dev/airgap/preflight/unitfile"
)

// Umask has the configured file mode creation mask.
type Umask struct {
	Login string `yaml:"login,omitempty" json:"login,omitempty"` // for logins, from /etc/login.defs
}

var loginUmask = regexp.MustCompile(`(?m)^\s*UMASK\s+([0-7]+)`)

// maskedUnits are the services that create files for pods.
func maskedUnits() []string { return []string{"kubelet", "containerd", "crio"} }

// dropInDirs are the drop-in directories of a unit, or of a unit type ("service"). A file in a
// later directory hides a file with the same name in an earlier one.
func dropInDirs(of string) []string {
	var dirs []string
	for _, from := range []string{"usr/lib/systemd/system/", "usr/local/lib/systemd/system/", "run/systemd/system/", "etc/systemd/system/", "run/systemd/system.control/", "etc/systemd/system.control/"} {
		dirs = append(dirs, from+of+".d")
	}
	return dirs
}

// serviceDropIns are all surveyed drop-in directories.
func serviceDropIns() []string {
	dirs := dropInDirs("service")
	for _, unit := range maskedUnits() {
		dirs = append(dirs, dropInDirs(unit+".service")...)
	}
	return dirs
}

func readUmask(_ context.Context, r reader, f *Facts) error {
	defs, err := r.optional("etc/login.defs")
	if err != nil {
		return err
	}
	if m := loginUmask.FindStringSubmatch(defs); m != nil {
		f.Umask.Login = m[1]
	}
	return nil
}

var umask = Check{
	ID: "umask", Title: "umask lets pods read their files", Source: "kubernetes#96342",
	Breaks: "Only root can read the files that the kubelet and the runtime create for pods. Pods with other users fail.",
	Needs:  []string{"umask", "unitFiles"}, Run: judgeUmask,
}

// judgeUmask ignores the mask of logins, because airgap sets its own. The kubelet gets systemd's
// mask. The units of the runtimes set a mask, but a drop-in can override it.
func judgeUmask(f *Facts, w *Want) Result {
	var found, files []string
	for _, unit := range []string{"kubelet", w.runtimeUnit()} {
		mask := unitfile.Last(f.settingsOf(unit), "UMask")
		if bits, err := strconv.ParseUint(mask.Value, 8, 16); err == nil && bits&0o055 != 0 {
			found = append(found, "UMask="+mask.Value+" for "+unit+", in "+mask.At())
			files = append(files, "/etc/systemd/system/"+unit+".service.d/99-umask.conf")
		}
	}
	switch {
	case len(found) > 0:
		return Result{Warn, strings.Join(found, "; "), "0022 for the kubelet and the runtime",
			"write [Service] and UMask=0022 to " + strings.Join(files, " and ") + ", then run systemctl daemon-reload"}
	case f.Umask.Login != "" && f.Umask.Login != "022":
		return pass("%s at login; install and the services use 022", f.Umask.Login)
	}
	return pass("022")
}

// serviceDropInsFrom is the first version of systemd that reads drop-ins for all services.
const serviceDropInsFrom = 244
