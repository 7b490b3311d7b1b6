package settings

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// mountsDropIn is the drop-in of a unit that waits for its file systems.
const mountsDropIn = "50-airgap-mounts.conf"

// UnitPaths are the directories that a unit writes to.
type UnitPaths struct {
	Unit  string // "kubelet.service"
	Paths []string
}

// dropInOf is the path of a unit's drop-in.
func dropInOf(unit string) string { return "/etc/systemd/system/" + unit + ".d/" + mountsDropIn }

// waitingUnits are the units that MountsStep may have written a drop-in for.
func waitingUnits() []string {
	return []string{"kubelet.service", "containerd.service", "crio.service"}
}

// MountsStep makes units wait for the file systems of their directories. Without it a unit starts
// while a file system with the options nofail or noauto is missing, and writes to the root disk.
// systemd.unit(5): RequiresMountsFor= also mounts file systems that are marked noauto.
func MountsStep(m host.Machine, units []UnitPaths) step.Step {
	s := mounts{m, units}
	return step.Step{
		Name: "mounts", Title: "Make the kubelet and the runtime wait for their file systems",
		Done: s.done, Plan: s.plan, Run: s.run, Undo: s.undo,
	}
}

type mounts struct {
	m     host.Machine
	units []UnitPaths
}

// files returns the drop-ins by path.
func (s mounts) files() map[string][]byte {
	files := map[string][]byte{}
	for _, u := range s.units {
		var quoted []string
		for _, p := range s.withTargets(u.Paths) {
			quoted = append(quoted, quoteUnit(p))
		}
		files[s.m.Path(dropInOf(u.Unit))] = fmt.Appendf(nil, "# Written by airgap: the unit does not start without the file systems of these directories.\n[Unit]\nRequiresMountsFor=%s\n", strings.Join(quoted, " "))
	}
	return files
}

// withTargets adds the targets of symbolic links: systemd derives mount units from the text of a path.
func (s mounts) withTargets(paths []string) []string {
	all := slices.Clone(paths)
	for _, p := range paths {
		if target := s.target(p); target != "" && !slices.Contains(all, target) {
			all = append(all, target)
		}
	}
	return all
}

// target is a path without symbolic links; the path and some of its parents may not exist yet.
// It is "" if it cannot be read.
func (s mounts) target(p string) string {
	for parent := p; ; parent = path.Dir(parent) {
		resolved, err := filepath.EvalSymlinks(s.m.Path(parent))
		if err == nil {
			inside, err := filepath.Rel(s.m.Path("/"), resolved)
			if err != nil || strings.HasPrefix(inside, "..") {
				return ""
			}
			return path.Join("/", inside, strings.TrimPrefix(p, parent))
		}
		if !os.IsNotExist(err) || parent == "/" {
			return ""
		}
	}
}

// quoteUnit quotes a word for a unit file: systemd expands % and splits at spaces.
func quoteUnit(word string) string {
	word = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`).Replace(word)
	if strings.ContainsAny(word, " \t'\"\\") {
		return `"` + word + `"`
	}
	return word
}

func (s mounts) done(context.Context) (bool, error) {
	for name, want := range s.files() {
		if holds, err := host.FileMatches(name, want, 0o644); err != nil || !holds {
			return false, err
		}
	}
	return true, nil
}

func (s mounts) plan(context.Context) ([]string, error) { return host.PlanFiles(s.files(), 0o644) }

func (s mounts) run(ctx context.Context) error {
	for name, text := range s.files() {
		if err := host.WriteFile(name, text, 0o644); err != nil {
			return err
		}
	}
	return s.m.Run(ctx, "systemctl", "daemon-reload")
}

func (s mounts) undo(ctx context.Context) error {
	for _, unit := range waitingUnits() {
		if err := host.Remove(s.m.Path(dropInOf(unit))); err != nil {
			return err
		}
	}
	return s.m.Run(ctx, "systemctl", "daemon-reload")
}
