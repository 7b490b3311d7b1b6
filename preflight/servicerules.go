package preflight

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/unitfile"
)

// ServiceRules are the settings of systemd that take rights or resources from services. Lists are in
// the order in which systemd applies them.
type ServiceRules struct {
	// Units has the settings in drop-ins by unit: "kubelet". They include the drop-ins for all
	// services. A unit that does not exist yet gets them when it is installed.
	Units map[string][]unitfile.Setting `yaml:"units,omitempty" json:"units,omitempty"`
	// Manager has the settings for all services, of system.conf and its drop-ins.
	Manager []unitfile.Setting `yaml:"manager,omitempty" json:"manager,omitempty"`
}

const managerConf = "etc/systemd/system.conf"

// confDirs are the directories of drop-ins for a file in /etc/systemd: "system.conf".
func confDirs(name string) []string {
	return []string{"usr/lib/systemd/" + name + ".d", "usr/local/lib/systemd/" + name + ".d", "run/systemd/" + name + ".d", "etc/systemd/" + name + ".d"}
}

func readServiceRules(_ context.Context, r reader, f *Facts) error {
	keys := unitfile.RestrictionKeys()
	for _, unit := range maskedUnits() {
		settings, err := r.settings("", slices.Concat(dropInDirs("service"), dropInDirs(unit+".service")), "Service", keys)
		if err != nil {
			return err
		}
		if len(settings) > 0 {
			if f.ServiceRules.Units == nil {
				f.ServiceRules.Units = map[string][]unitfile.Setting{}
			}
			f.ServiceRules.Units[unit] = settings
		}
	}
	var err error
	f.ServiceRules.Manager, err = r.settings(managerConf, confDirs("system.conf"), "Manager", keys)
	return err
}

// settings reads a file and the drop-ins in the directories. A file hides one with the same name in an
// earlier directory, and the files apply in the order of their names.
func (r reader) settings(main string, dirs []string, section string, keys []string) ([]unitfile.Setting, error) {
	where, files := map[string]string{}, []string{}
	for _, dir := range dirs {
		names, err := r.names(dir)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if strings.HasSuffix(name, ".conf") {
				where[name] = dir
			}
		}
	}
	if main != "" {
		files = append(files, main)
	}
	for _, name := range slices.Sorted(maps.Keys(where)) {
		files = append(files, where[name]+"/"+name)
	}
	var all []unitfile.Setting
	for _, file := range files {
		text, err := r.content(file) // systemd also ignores a dangling link
		if err != nil {
			return nil, err
		}
		all = append(all, unitfile.Read("/"+file, text, section, keys)...)
	}
	return all, nil
}

var serviceRules = Check{
	ID: "service-drop-ins", Title: "systemd's drop-ins leave the node's services their rights", Source: "systemd.exec(5); systemd.unit(5): drop-ins for all services",
	Breaks: "The kubelet and the runtime start with fewer rights: volumes are missing in pods, containers do not start, or programs in them fail.",
	Needs:  []string{"serviceRules"}, Run: judgeServiceRules,
}

// ofAll matches the drop-ins for all services, which systemd before 244 ignores.
var ofAll = regexp.MustCompile(`/service\.d/`)

func judgeServiceRules(f *Facts, w *Want) Result {
	runtime := "containerd"
	if w.CRIO {
		runtime = "crio"
	}
	units := map[string][]unitfile.Setting{"systemd": f.ServiceRules.Manager}
	for _, unit := range []string{"kubelet", runtime} {
		units[unit] = slices.DeleteFunc(slices.Clone(f.ServiceRules.Units[unit]), func(s unitfile.Setting) bool {
			return f.Systemd != 0 && f.Systemd < 244 && ofAll.MatchString(s.At)
		})
	}
	status := Pass
	var found, resets []string
	for _, unit := range []string{"systemd", "kubelet", runtime} {
		for _, r := range unitfile.Restrictions(units[unit]) {
			status = worse(status, map[bool]Status{true: Fail, false: Warn}[r.Severe])
			found = append(found, fmt.Sprintf("%s=%s for %s in %s: %s", r.Key, r.Value, unit, r.At, r.Why))
			resets = append(resets, r.Key+"=")
		}
	}
	if status == Pass {
		return pass("no drop-in takes rights from the kubelet or the runtime")
	}
	return Result{status, strings.Join(found, "\n"), "no such settings for the kubelet and the runtime",
		fmt.Sprintf("write [Service] and %s (empty: systemd's default) to /etc/systemd/system/kubelet.service.d/zz-node.conf and /etc/systemd/system/%s.service.d/zz-node.conf, then run systemctl daemon-reload",
			strings.Join(slices.Compact(slices.Sorted(slices.Values(resets))), ", "), runtime)}
}
