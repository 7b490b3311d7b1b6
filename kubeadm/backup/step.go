package backup

import (
	"context"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// Step takes the first backup, and has the Timer take the others. Undo stops the
// Timer; the backups are data, and stay.
func Step(s Store) step.Step {
	return step.Step{
		Name: "backup", Title: "Back up the control plane, every day",
		Done: s.done,
		Plan: func(context.Context) ([]string, error) {
			newest, err := s.Newest()
			if err != nil || newest != nil {
				return []string{"enable and start " + Timer}, err
			}
			return []string{"take a backup in " + s.Dir, "enable and start " + Timer}, nil
		},
		Run: func(ctx context.Context) error {
			newest, err := s.Newest()
			if err == nil && newest == nil {
				_, err = s.Take(ctx)
			}
			if err != nil {
				return err
			}
			return s.systemctl(ctx, "enable", "--now", Timer)
		},
		Undo: func(ctx context.Context) error {
			if err := s.systemctl(ctx, "disable", "--now", Timer); err != nil {
				return err
			}
			return s.systemctl(ctx, "stop", service) // one that is under way
		},
	}
}

func (s Store) done(ctx context.Context) (bool, error) {
	newest, err := s.Newest()
	if err != nil || newest == nil {
		return false, err
	}
	for _, question := range []string{"is-enabled", "is-active"} {
		if err := s.systemctl(ctx, question, "--quiet", Timer); err != nil {
			return false, ctx.Err()
		}
	}
	return true, nil
}

func (s Store) systemctl(ctx context.Context, args ...string) error {
	_, err := s.Host.Run(ctx, host.Cmd{Name: "systemctl", Args: args})
	return err
}

// Once takes one backup, if there is none.
func Once(s Store) step.Step {
	return step.Step{
		Name: "backup-once", Title: "Back up the control plane",
		Done: func(context.Context) (bool, error) {
			newest, err := s.Newest()
			return newest != nil, err
		},
		Plan: func(context.Context) ([]string, error) { return []string{"take a backup in " + s.Dir}, nil },
		Run: func(ctx context.Context) error {
			_, err := s.Take(ctx)
			return err
		},
	}
}
