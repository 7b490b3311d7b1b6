package gpu

import (
	"context"
	"fmt"
	"slices"

	"airgap.dev/airgap/internal/host"
)

// unitBefore is the state of a unit before this package enabled and started it.
type unitBefore struct {
	Name    string `json:"name"`
	Enabled bool   `json:"enabled"`
	Active  bool   `json:"active"`
}

// enable starts units now and at every boot. It records their previous state first.
func (s Setup) enable(ctx context.Context, units []string) error {
	before, err := host.ReadJSON[[]unitBefore](s.path(unitsUndo))
	if err != nil {
		return err
	}
	for _, name := range units {
		if slices.ContainsFunc(before, func(u unitBefore) bool { return u.Name == name }) {
			continue
		}
		was, err := s.unit(ctx, name)
		if err != nil {
			return err
		}
		before = append(before, was)
	}
	if err := host.WriteJSON(s.path(unitsUndo), before); err != nil {
		return err
	}
	for _, name := range units {
		if err := s.run(ctx, "systemctl", "enable", "--now", name); err != nil {
			return s.explainUnit(ctx, name, err)
		}
	}
	return nil
}

func (s Setup) unit(ctx context.Context, name string) (u unitBefore, err error) {
	u.Name = name
	if u.Enabled, err = s.unitIs(ctx, "is-enabled", name); err != nil {
		return u, err
	}
	u.Active, err = s.unitIs(ctx, "is-active", name)
	return u, err
}

// explainUnit adds the last log lines of the unit and a hint.
func (s Setup) explainUnit(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f := &Failure{What: "start " + name, Err: err, Next: "read the log: journalctl -u " + name}
	if name == FabricUnit {
		f.Next = "check that the fabric manager has exactly the driver's version: rpm -q nvidia-fabricmanager; " + f.Next
	}
	said, journal := s.Host.Run(ctx, host.Cmd{Name: "journalctl", Args: []string{"-u", name, "-n", "8", "--no-pager", "-o", "cat"}})
	if journal == nil && len(said) > 0 {
		f.Log = "last log lines of " + name + ":\n" + lastLines(string(said), 8)
	}
	return f
}

// hasUnit reports whether the unit is installed.
func (s Setup) hasUnit(name string) bool {
	return s.has("usr/lib/systemd/system/"+name) || s.has("etc/systemd/system/"+name)
}

// disable restores the previous state of the units. It skips units that are no longer installed.
func (s Setup) disable(ctx context.Context) error {
	before, err := host.ReadJSON[[]unitBefore](s.path(unitsUndo))
	if err != nil {
		return err
	}
	for _, u := range before {
		for _, back := range []struct {
			was  bool
			verb string
		}{{u.Active, "stop"}, {u.Enabled, "disable"}} {
			if back.was || !s.hasUnit(u.Name) {
				continue
			}
			if err := s.run(ctx, "systemctl", back.verb, u.Name); err != nil {
				return fmt.Errorf("%s %s: %w", back.verb, u.Name, err)
			}
		}
	}
	return host.Remove(s.path(unitsUndo))
}
