package nodereport

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// Service is the systemd unit on a host.
type Service struct {
	Host         host.Host
	SettingsFile string
	Settings     []byte // the unit reads them when it starts
	// Reported gets this node's report from the cluster, with the node's identity.
	Reported func(context.Context) (*NodeReport, error)
	Wait     time.Duration // how long the first report may take; 0 is 2 minutes
}

// ServiceStep starts the unit and waits until the cluster has a report since the last boot of the
// host. Undo stops and disables the unit; the report is deleted with the Node.
func ServiceStep(s Service) step.Step {
	return step.Step{
		Name: "node-report-unit", Title: "Start the service that reports the state of this host",
		Done: s.done, Plan: s.plan, Run: s.start, Undo: s.stop,
	}
}

func (s Service) done(ctx context.Context) (bool, error) {
	if same, err := host.FileMatches(s.SettingsFile, s.Settings, 0o644); err != nil || !same {
		return false, err
	}
	for _, question := range []string{"is-enabled", "is-active"} {
		if err := s.systemctl(ctx, question, "--quiet", UnitName); err != nil {
			return false, ctx.Err()
		}
	}
	err := s.reported(ctx)
	if errors.Is(err, errNotReported) {
		return false, nil
	}
	return err == nil, err
}

func (s Service) plan(context.Context) ([]string, error) {
	change, err := host.PlanFile(s.SettingsFile, s.Settings, 0o644)
	changes := []string{"enable and start " + UnitName}
	if change != "" {
		changes = append([]string{change}, changes...)
	}
	return changes, err
}

// start restarts the unit, so that a running one reads the new settings.
func (s Service) start(ctx context.Context) error {
	if err := host.WriteFile(s.SettingsFile, s.Settings, 0o644); err != nil {
		return err
	}
	for _, args := range [][]string{{"daemon-reload"}, {"enable", UnitName}, {"restart", UnitName}} {
		if err := s.systemctl(ctx, args...); err != nil {
			return err
		}
	}
	return s.await(ctx)
}

func (s Service) stop(ctx context.Context) error {
	if err := s.systemctl(ctx, "disable", "--now", UnitName); err != nil {
		return err
	}
	return host.Remove(s.SettingsFile)
}

func (s Service) systemctl(ctx context.Context, args ...string) error {
	_, err := s.Host.Run(ctx, host.Cmd{Name: "systemctl", Args: args})
	return err
}

// errNotReported means that the cluster has no report, or one from before the last boot.
var errNotReported = errors.New("the cluster has no report of this host since its last boot")

func (s Service) reported(ctx context.Context) error {
	boot, err := BootID(s.Host)
	if err != nil {
		return err
	}
	r, err := s.Reported(ctx)
	if apierrors.IsNotFound(err) || err == nil && r.Report.BootID != boot {
		return errNotReported
	}
	return err
}

func (s Service) await(ctx context.Context) error {
	limit := s.Wait
	if limit == 0 {
		limit = 2 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	last := errNotReported
	for {
		err := s.reported(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err // more useful than "deadline exceeded"
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for this host's report (see journalctl -u %s): %w", UnitName, last)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
