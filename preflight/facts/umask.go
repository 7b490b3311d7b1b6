package facts

import (
	"context"
	"regexp"
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

// groups are the slices and the unit types whose drop-ins also apply to the kubelet, the runtime or
// the containers: system.slice has the services, kubepods.slice the pods, and each container is a scope.
func groups() []string { return []string{"slice", "system.slice", "kubepods.slice", "scope"} }

// serviceDropIns are all surveyed drop-in directories.
func serviceDropIns() []string {
	dirs := dropInDirs("service")
	for _, group := range groups() {
		dirs = append(dirs, dropInDirs(group)...)
	}
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

// serviceDropInsFrom is the first version of systemd that reads drop-ins for all services.
const serviceDropInsFrom = 244
