package preflight

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Umask has the configured file mode creation masks.
type Umask struct {
	Login string `yaml:"login,omitempty" json:"login,omitempty"` // for logins, from /etc/login.defs
	// Units is the mask in a drop-in for all systemd services, and File the path of the drop-in.
	Units string `yaml:"units,omitempty" json:"units,omitempty"`
	File  string `yaml:"file,omitempty" json:"file,omitempty"`
	// Own has the masks of the units with a mask in their own drop-ins, by unit: "kubelet". They
	// also take the drop-ins for all services into account.
	Own map[string]string `yaml:"own,omitempty" json:"own,omitempty"`
}

var (
	loginUmask = regexp.MustCompile(`(?m)^\s*UMASK\s+([0-7]+)`)
	unitUmask  = regexp.MustCompile(`(?m)^\s*UMask\s*=\s*([0-7]+)`)
)

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
	all := dropInDirs("service")
	if f.Umask.Units, f.Umask.File, err = r.unitMask(all); err != nil {
		return err
	}
	for _, unit := range maskedUnits() {
		own := dropInDirs(unit + ".service")
		mask, _, err := r.unitMask(own)
		if err == nil && mask != "" {
			mask, _, err = r.unitMask(slices.Concat(all, own))
		}
		if err != nil {
			return err
		}
		if mask == "" {
			continue
		}
		if f.Umask.Own == nil {
			f.Umask.Own = map[string]string{}
		}
		f.Umask.Own[unit] = mask
	}
	return nil
}

// unitMask is the mask that the drop-ins in dirs set, and the file that sets it. Files apply in
// the order of their names, in all directories together, and the last setting counts
// (systemd.unit(5)).
func (r reader) unitMask(dirs []string) (mask, file string, err error) {
	where := map[string]string{}
	for _, dir := range dirs {
		names, err := r.names(dir)
		if err != nil {
			return "", "", err
		}
		for _, name := range names {
			if strings.HasSuffix(name, ".conf") {
				where[name] = dir
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(where)) {
		text, err := r.optional(where[name] + "/" + name) // systemd also ignores a dangling link
		if err != nil {
			return "", "", err
		}
		for _, m := range unitUmask.FindAllStringSubmatch(text, -1) {
			mask, file = m[1], "/"+where[name]+"/"+name
		}
	}
	return mask, file, nil
}

var umask = Check{
	ID: "umask", Title: "umask lets pods read their files", Source: "kubernetes#96342",
	Breaks: "Only root can read the files that the kubelet and the runtime create for pods. Pods with other users fail.",
	Needs:  []string{"umask"}, Run: judgeUmask,
}

// judgeUmask ignores the mask of logins, because airgap sets its own. The kubelet gets systemd's
// mask. The units of the runtimes set a mask, but a drop-in can override it.
func judgeUmask(f *Facts, w *Want) Result {
	runtime := "containerd"
	if w.CRIO {
		runtime = "crio"
	}
	var found, files []string
	for _, unit := range []string{"kubelet", runtime} {
		mask, from := f.Umask.of(unit, f.Systemd)
		if bits, err := strconv.ParseUint(mask, 8, 16); err == nil && bits&0o055 != 0 {
			found = append(found, "UMask="+mask+" for "+unit+from)
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

// of is a unit's mask ("" for systemd's default, 0022), and its origin if that is a drop-in for all
// services. An older systemd does not support drop-ins for all services.
func (u Umask) of(unit string, systemd int) (mask, from string) {
	const supportsTypes = 244
	own, has := u.Own[unit]
	switch {
	case has:
		return own, ""
	case u.Units == "" || systemd != 0 && systemd < supportsTypes:
		return "", ""
	}
	return u.Units, ", from " + u.File + " for all services"
}
