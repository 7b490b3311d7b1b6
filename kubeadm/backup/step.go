package backup

import (
	"context"
	"errors"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// Step creates the key that signs backups, makes the first backup, encrypted to the recipients, and
// enables the Timer for the others. Undo stops the Timer and removes the key and the files of a killed
// run, which are not encrypted yet. Backups are data and stay.
func Step(s Store, recipients []string) step.Step {
	return step.Step{
		Name: "backup", Title: "Back up the control plane, every day",
		Done: func(ctx context.Context) (bool, error) {
			if holds, err := s.Keys.holds(recipients); err != nil || !holds {
				return false, err
			}
			return s.done(ctx)
		},
		Plan: func(context.Context) ([]string, error) {
			changes, err := s.Keys.plan(recipients)
			if err != nil {
				return nil, err
			}
			newest, err := s.Newest()
			if newest == nil {
				changes = append(changes, "take a backup in "+s.Dir)
			}
			return append(changes, "enable and start "+Timer), err
		},
		Run: func(ctx context.Context) error {
			if err := s.Keys.setUp(recipients); err != nil {
				return err
			}
			s.EncryptTo = recipients
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
			if err := s.systemctl(ctx, "stop", service); err != nil { // a running one
				return err
			}
			return errors.Join(s.removeDrafts(), s.Keys.remove(ctx))
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
