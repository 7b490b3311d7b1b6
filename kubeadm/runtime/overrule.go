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

// overrule gives the runtime the driver want again where somebody else's drop-in has
// changed it, restarts it, and reports whether it had to. Theirs stays as it is, for it
// may be what a card's toolkit writes at every start: a drop-in of ours is read after it.
// Where that does not help, it is taken away again, and the error names their files.
func overrule(ctx context.Context, m host.Machine, e engine, want Driver) (bool, error) {
	found, err := readEffective(ctx, m, e)
	if err != nil || found.Driver == want {
		return false, err
	}
	if err := driveBy(ctx, m, e, found, want); err != nil {
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

// driveBy writes our drop-in, which stays where the driver is want with it.
func driveBy(ctx context.Context, m host.Machine, e engine, found effective, want Driver) error {
	settings := e.drives(found, want)
	if settings == nil {
		return overruled(m, e, found.Driver, want)
	}
	others, err := strangers(m, e)
	if err != nil {
		return err
	}
	text, err := toml.Marshal(settings)
	if err != nil {
		return fmt.Errorf("write the driver of %s: %w", e.title, err)
	}
	why := fmt.Sprintf("# The cgroup driver that this host needs, after what others have set here: %s\n", strings.Join(others, ", "))
	if err := host.WriteFile(m.Path(e.driver), append([]byte(ours+why), text...), 0o644); err != nil {
		return err
	}
	now, err := readEffective(ctx, m, e)
	if err == nil && now.Driver == want {
		return nil
	}
	if err == nil {
		err = overruled(m, e, now.Driver, want)
	}
	if gone := host.Remove(m.Path(e.driver)); gone != nil {
		return gone
	}
	return err
}

// overruled says that a drop-in of somebody else's is stronger than ours.
func overruled(m host.Machine, e engine, has, want Driver) error {
	files, err := strangers(m, e)
	if err != nil {
		return err
	}
	named := "a file in " + e.dropIns
	if len(files) > 0 {
		named = strings.Join(files, ", ")
	}
	return &host.Failure{
		What: "configure " + e.title,
		Err:  fmt.Errorf("cgroup drivers disagree: the host needs %s, and with %s, which airgap has not written, %s uses %s", want, named, e.title, has),
		Next: "take " + named + " out of " + e.dropIns + ": what a file of the site's there is to change belongs into runtime.overrides of airgap.yaml. Then the same command again",
	}
}

// strangers are the drop-ins that are not ours and speak of drivers or of the default
// runtime, by path; where none does, all that are not ours.
func strangers(m host.Machine, e engine) ([]string, error) {
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

// containerdDrives are the settings of the default runtime, whoever has named it; with its
// type, so that it is a whole one also when their file goes. Only runc and what stands in
// for it has a driver. Up to 1.7 they would displace all others of the plug-in.
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
