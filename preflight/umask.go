package preflight

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Umask is what new files are made without.
type Umask struct {
	Login string `yaml:"login,omitempty" json:"login,omitempty"` // of /etc/login.defs, for people
	// Units and File are what a drop-in for all of systemd's services says,
	// and the drop-in.
	Units string `yaml:"units,omitempty" json:"units,omitempty"`
	File  string `yaml:"file,omitempty" json:"file,omitempty"`
	// Own are the masks of those units of a node that have one in drop-ins of
	// their own, by all drop-ins together: "kubelet".
	Own map[string]string `yaml:"own,omitempty" json:"own,omitempty"`
}

var (
	loginUmask = regexp.MustCompile(`(?m)^\s*UMASK\s+([0-7]+)`)
	unitUmask  = regexp.MustCompile(`(?m)^\s*UMask\s*=\s*([0-7]+)`)
)

// maskedUnits are the services that make what pods use.
func maskedUnits() []string { return []string{"kubelet", "containerd", "crio"} }

// dropInDirs are where systemd looks for drop-ins of a unit or of a whole type of units
// ("service"): in the later ones a file hides another one of its name.
func dropInDirs(of string) []string {
	return []string{"usr/lib/systemd/system/" + of + ".d", "run/systemd/system/" + of + ".d", "etc/systemd/system/" + of + ".d"}
}

// serviceDropIns are all directories of drop-ins that are looked at.
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

// unitMask is what the drop-ins in dirs say, and which of them does: files are read in
// the order of their names, wherever they are, and the last word counts
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
		text, err := r.optional(where[name] + "/" + name) // a link to nothing is passed over, as systemd does
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
	ID: "umask", Title: "File mode mask", Source: "kubernetes#96342",
	Breaks: "What the kubelet and the runtime make for pods can be read by root alone, and pods with other users fail.",
	Needs:  []string{"umask"}, Run: judgeUmask,
}

// judgeUmask leaves the mask of logins alone: airgap sets its own. The kubelet's is what
// systemd gives it; the runtimes' units name theirs, but a drop-in comes after that.
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
			"have systemd leave them out: [Service] and UMask=0022 in " + strings.Join(files, " and ") + ", then systemctl daemon-reload"}
	case f.Umask.Login != "" && f.Umask.Login != "022":
		return pass("%s at login; install and the services have 022", f.Umask.Login)
	}
	return pass("022")
}

// of is a unit's mask, "" for systemd's own, 0022, and where it is from if that is a
// drop-in for all services. An older systemd knows none for all.
func (u Umask) of(unit string, systemd int) (mask, from string) {
	const knowsTypes = 244
	own, has := u.Own[unit]
	switch {
	case has:
		return own, ""
	case u.Units == "" || systemd != 0 && systemd < knowsTypes:
		return "", ""
	}
	return u.Units, ", by " + u.File + " for all services"
}
