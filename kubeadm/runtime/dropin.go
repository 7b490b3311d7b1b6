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

// The handler by which a pod names NVIDIA's runtime, and its program, from the
// package nvidia-container-toolkit-base. NVIDIA's own tool for this writes what the
// runtime dumps, defaults of another version and all: containerd 2.3 does not start
// with it any more, and an earlier one had put the cgroup driver back.
const (
	nvidiaName    = "nvidia"
	nvidiaProgram = "/usr/bin/nvidia-container-runtime"
)

// dropIn is a file of ours beside the runtime's configuration.
func dropIn(settings map[string]any) ([]byte, error) {
	text, err := toml.Marshal(settings)
	if err != nil {
		return nil, fmt.Errorf("write the handler %s: %w", nvidiaName, err)
	}
	return append([]byte(ours), text...), nil
}

// stale reports whether a drop-in of ours is there that is wanted no more.
func (s service) stale(e engine, files map[string][]byte) bool {
	return files[e.nvidia] == nil && isOurs(s.m, e.nvidia)
}

// write puts the files in their place. The drop-in comes last, and goes again
// where it would change anything that is in force without it. One with the driver that
// an earlier run needed is needed anew, or not.
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
			Next: "another file in " + e.dropIns + " sets the same: remove it, and put what it is for into runtime.overrides of airgap.yaml"}
	}
	return nil
}

// settings are what is in force, by the path of their tables: "plugins.…".
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

// flat are the values of nested tables by their path.
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

// addsOnly is nil when all that was in force still is, and all that was added is,
// too. The list of imported files and the version of the format are not settings.
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
