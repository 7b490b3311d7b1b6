package runtime

import (
	"context"
	"fmt"
	"os"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"airgap.dev/airgap/internal/host"
)

// overrule sets the runtime's cgroup driver to want if a foreign drop-in has changed it, restarts the
// runtime, and reports whether it did. It writes a drop-in that the runtime reads last, and does
// not change the foreign one: a GPU toolkit may write that at every start. If this does not help,
// it removes its drop-in again, and the error names the foreign files.
func overrule(ctx context.Context, m host.Machine, e engine, want Driver) (bool, error) {
	found, err := readEffective(ctx, m, e)
	if err != nil || found.Driver == want {
		return false, err
	}
	if err := writeDriver(ctx, m, e, found, want); err != nil {
		return false, err
	}
	if err := m.Run(ctx, "systemctl", "restart", e.name); err != nil {
		return false, Explain(ctx, m, host.Failure{What: "start " + e.title, Err: err, Unit: e.name})
	}
	if err := awaitSocket(ctx, m, e, 30*time.Second); err != nil {
		return false, Explain(ctx, m, host.Failure{What: "start " + e.title, Err: err, Unit: e.name})
	}
	return true, nil
}

// writeDriver writes airgap's drop-in, and removes it again if the effective driver is not want.
func writeDriver(ctx context.Context, m host.Machine, e engine, found effective, want Driver) error {
	settings := e.drives(found, want)
	if settings == nil {
		return cannotOverrule(m, e, found.Driver, want)
	}
	others, err := foreignDropIns(m, e)
	if err != nil {
		return err
	}
	text, err := toml.Marshal(settings)
	if err != nil {
		return fmt.Errorf("write the cgroup driver of %s: %w", e.title, err)
	}
	why := fmt.Sprintf("# The cgroup driver that this host needs. It overrides: %s\n", strings.Join(others, ", "))
	if err := host.WriteFile(m.Path(e.driver), append([]byte(ours+why), text...), 0o644); err != nil {
		return err
	}
	now, err := readEffective(ctx, m, e)
	if err == nil && now.Driver == want {
		return nil
	}
	if err == nil {
		err = cannotOverrule(m, e, now.Driver, want)
	}
	if gone := host.Remove(m.Path(e.driver)); gone != nil {
		return gone
	}
	return err
}

// cannotOverrule returns the error for a foreign drop-in that airgap's drop-in cannot override.
func cannotOverrule(m host.Machine, e engine, has, want Driver) error {
	files, err := foreignDropIns(m, e)
	if err != nil {
		return err
	}
	named := "a file in " + e.dropIns
	if len(files) > 0 {
		named = strings.Join(files, ", ")
	}
	return &host.Failure{
		What: "configure " + e.title,
		Err:  fmt.Errorf("cgroup drivers differ: the host needs %s, but because of %s, which airgap has not written, %s uses %s", want, named, e.title, has),
		Next: "remove " + named + " from " + e.dropIns + ", move its settings to runtime.overrides in airgap.yaml, and run the same command again",
	}
}

// foreignDropIns returns the paths of the drop-ins that airgap has not written and that set a driver
// or the default runtime. If none does, it returns all drop-ins that airgap has not written.
func foreignDropIns(m host.Machine, e engine) ([]string, error) {
	entries, err := os.ReadDir(m.Path(e.dropIns))
	if host.IgnoreMissing(err) != nil {
		return nil, err
	}
	drives := regexp.MustCompile(`SystemdCgroup|default_runtime|cgroup_manager`)
	var all, some []string
	for _, entry := range entries {
		name := path.Join(e.dropIns, entry.Name())
		if entry.IsDir() || path.Ext(name) != path.Ext(e.driver) || name == e.config || isOurs(m, name) {
			continue
		}
		text, err := os.ReadFile(m.Path(name))
		if err != nil {
			return nil, err
		}
		if all = append(all, name); drives.Match(text) {
			some = append(some, name)
		}
	}
	if len(some) > 0 {
		return some, nil
	}
	return all, nil
}

// containerdDrives returns the settings of the default runtime handler. They include its type, so
// that the handler stays valid without the foreign drop-in. Only runc and compatible programs have
// a driver. Up to 1.7 a drop-in would replace all other settings of the plugin.
func containerdDrives(found effective, want Driver) map[string]any {
	if found.Version < 3 || found.Type != runcType {
		return nil
	}
	runs := map[string]any{"runtime_type": found.Type, "options": map[string]any{"SystemdCgroup": want == Systemd}}
	return map[string]any{"version": 3, "plugins": map[string]any{"io.containerd.cri.v1.runtime": map[string]any{
		"containerd": map[string]any{"runtimes": map[string]any{found.Default: runs}},
	}}}
}

func crioDrives(_ effective, want Driver) map[string]any {
	return map[string]any{"crio": map[string]any{"runtime": map[string]any{"cgroup_manager": string(want), "conmon_cgroup": "pod"}}}
}
