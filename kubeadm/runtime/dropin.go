package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"airgap.dev/airgap/internal/host"
)

// The handler name of NVIDIA's runtime in pods, and its program from the package
// nvidia-container-toolkit-base. NVIDIA's own tool writes the whole dump of the runtime, including
// defaults of another version: containerd 2.3 does not start with it, and an earlier version of
// the tool reset the cgroup driver.
const (
	nvidiaName    = "nvidia"
	nvidiaProgram = "/usr/bin/nvidia-container-runtime"
)

// dropIn returns a drop-in of airgap for the runtime's configuration.
func dropIn(settings map[string]any) ([]byte, error) {
	text, err := toml.Marshal(settings)
	if err != nil {
		return nil, fmt.Errorf("write the handler %s: %w", nvidiaName, err)
	}
	return append([]byte(ours), text...), nil
}

// stale reports whether airgap's NVIDIA drop-in exists but is no longer needed.
func (s service) stale(e engine, files map[string][]byte) bool {
	return files[e.nvidia] == nil && isOurs(s.m, e.nvidia)
}

// write writes the files. It writes the NVIDIA drop-in last, and removes it again if it changes any
// other effective setting. It first removes the drop-in with the cgroup driver; overrule writes it
// again if it is still needed.
func (s service) write(ctx context.Context, e engine, files map[string][]byte) error {
	if err := errors.Join(host.Remove(s.m.Path(e.nvidia)), removeOurs(s.m, e.driver)); err != nil {
		return err
	}
	for name, data := range files {
		if name == e.nvidia {
			continue
		}
		if err := host.WriteFile(s.m.Path(name), data, 0o644); err != nil {
			return err
		}
	}
	if files[e.nvidia] == nil {
		return nil
	}
	err := s.add(ctx, e, files[e.nvidia])
	if err != nil {
		err = errors.Join(err, host.Remove(s.m.Path(e.nvidia)))
	}
	return err
}

func (s service) add(ctx context.Context, e engine, text []byte) error {
	before, err := settings(ctx, s.m, e)
	if err != nil {
		return err
	}
	if err := host.WriteFile(s.m.Path(e.nvidia), text, 0o644); err != nil {
		return err
	}
	after, err := settings(ctx, s.m, e)
	if err != nil {
		return err
	}
	var added map[string]any
	if err := toml.Unmarshal(text, &added); err != nil {
		return err
	}
	if err := addsOnly(before, after, flat("", added)); err != nil {
		return &host.Failure{What: "add the handler " + nvidiaName + " to " + e.title, Err: err,
			Next: "another file in " + e.dropIns + " has the same settings: remove it and move its settings to runtime.overrides in airgap.yaml"}
	}
	return nil
}

// settings returns the effective settings by the path of their tables: "plugins.…".
func settings(ctx context.Context, m host.Machine, e engine) (map[string]string, error) {
	dump, err := m.Host.Run(ctx, host.Cmd{Name: m.Path(e.program()), Args: e.dump})
	if err != nil {
		return nil, fmt.Errorf("read the runtime's effective configuration: %w", err)
	}
	var all map[string]any
	if err := toml.Unmarshal(dump, &all); err != nil {
		return nil, fmt.Errorf("read the runtime's effective configuration: %w", err)
	}
	return flat("", all), nil
}

// flat returns the values of nested tables by their path.
func flat(below string, tables map[string]any) map[string]string {
	values := map[string]string{}
	for key, value := range tables {
		if table, is := value.(map[string]any); is {
			maps.Copy(values, flat(below+key+".", table))
			continue
		}
		values[below+key] = fmt.Sprint(value)
	}
	return values
}

// addsOnly returns nil if all previous settings and all added settings are effective. It ignores
// the list of imported files and the version of the format.
func addsOnly(before, after, added map[string]string) error {
	var wrong []string
	for name, was := range before {
		if now, is := after[name]; name != "imports" && (!is || now != was) {
			wrong = append(wrong, fmt.Sprintf("%s would change from %q to %q", name, was, now))
		}
	}
	for name, want := range added {
		if now := after[name]; name != "version" && now != want {
			wrong = append(wrong, fmt.Sprintf("%s would be %q, not %q", name, now, want))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return errors.New(strings.Join(slices.Compact(wrong), "; "))
}
