package upkeep

import (
	"context"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// Step enables and starts the timers of a host. Undo disables all timers of this package, stops
// the services that they started, and removes metrics, the directory with the last result.
func Step(h host.Host, metrics string, timers []string) step.Step {
	s := system{h}
	return step.Step{
		Name: "upkeep", Title: "Enable daily verification and certificate renewal",
		Done: func(ctx context.Context) (bool, error) { return s.run(ctx, timers) },
		Plan: func(ctx context.Context) (changes []string, err error) {
			for _, timer := range timers {
				runs, err := s.run(ctx, []string{timer})
				if err != nil {
					return nil, err
				}
				if !runs {
					changes = append(changes, "enable and start "+timer)
				}
			}
			return changes, nil
		},
		Run: func(ctx context.Context) error {
			return s.systemctl(ctx, append([]string{"enable", "--now"}, timers...)...)
		},
		Undo: func(ctx context.Context) error {
			if err := s.systemctl(ctx, append([]string{"disable", "--now"}, Timers(true)...)...); err != nil {
				return err
			}
			if err := s.systemctl(ctx, "stop", VerifyService, RenewService); err != nil { // they may be running
				return err
			}
			return host.RemoveTree(metrics)
		},
	}
}

type system struct{ host.Host }

// run reports whether all of the timers are enabled and active.
func (s system) run(ctx context.Context, timers []string) (bool, error) {
	for _, timer := range timers {
		for _, question := range []string{"is-enabled", "is-active"} {
			if err := s.systemctl(ctx, question, "--quiet", timer); err != nil {
				return false, ctx.Err()
			}
		}
	}
	return true, nil
}

func (s system) systemctl(ctx context.Context, args ...string) error {
	_, err := s.Run(ctx, host.Cmd{Name: "systemctl", Args: args})
	return err
}
