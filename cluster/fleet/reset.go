package fleet

import (
	"context"
	"errors"
	"fmt"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/remote"
	"airgap.dev/airgap/internal/ui"
)

// HostReset is the result of airgap reset on a host.
type HostReset struct {
	Host    string   `json:"host"`
	Undone  int      `json:"undone"` // number of steps
	Deleted []string `json:"deleted,omitempty"`
	Kept    []string `json:"kept,omitempty"`
	Error   string   `json:"error,omitempty"`
}

// Reset runs airgap reset on the other hosts: on the workers, and then on one control-plane host after the other. A
// failure does not stop the other hosts. A host without a connection has its error.
func Reset(ctx context.Context, f *Fleet, wipe bool, p ui.Progress) []HostReset {
	results := map[*Member]*HostReset{}
	lines := map[*Member]ui.Host{}
	var workers, masters []*Member
	for _, m := range f.Members {
		results[m] = &HostReset{Host: m.Node.Name}
		switch {
		case m.Err != nil:
		case m.Node.Has(config.ControlPlane):
			masters = append(masters, m)
		default:
			workers = append(workers, m)
		}
		if m.Err == nil {
			lines[m] = p.Host(m.Node.Name)
		}
	}
	one := func(ctx context.Context, m *Member) error {
		err := resetOne(ctx, f, m, lines[m], results[m], wipe)
		lines[m].End(err)
		return err
	}
	f.Each(ctx, workers, one)
	for _, m := range masters {
		f.Each(ctx, []*Member{m}, one)
	}
	var all []HostReset
	for _, m := range f.Members {
		if m.Err != nil {
			results[m].Error = m.Err.Error()
		}
		all = append(all, *results[m])
	}
	return all
}

// resetOne runs airgap reset again if the connection is lost: completed steps do not run again.
func resetOne(ctx context.Context, f *Fleet, m *Member, line ui.Host, result *HostReset, wipe bool) error {
	args := []string{"reset", "--yes", "--output", "json", "--progress", "json"}
	if wipe {
		args = append(args, "--wipe-data")
	}
	return f.UntilDone(ctx, m, line, func() error {
		run := RemoteRun{Show: line}
		err := m.RunLong(ctx, &run, "", args...)
		if lacksAirgap(err) {
			return m.untouched(ctx)
		}
		if err != nil {
			return err
		}
		return readResult(run.stdout.Bytes(), result)
	})
}

// exitNotFound is the exit code of env if it does not find the program.
const exitNotFound = 127

// errNoProgram is the error of a host without airgap.
var errNoProgram = errors.New("airgap.rpm is not installed: airgap preflight DIR --all-hosts installs it")

func lacksAirgap(err error) bool {
	run, is := errors.AsType[*remoteError](err)
	return is && run.code == exitNotFound
}

// untouched returns an error if a host without airgap has a journal.
func (m *Member) untouched(ctx context.Context) error {
	err := m.within(ctx, queryLimit, "test", func(ctx context.Context) error {
		return m.client.Run(ctx, remote.Command{Args: []string{"test", "!", "-e", site.JournalFile}, Stderr: m.log})
	})
	if exit, is := errors.AsType[*remote.ExitError](err); is && exit.Code == 1 {
		return advice.Add(fmt.Errorf("run airgap reset: airgap.rpm is not installed, but %s shows that airgap has changed the host", site.JournalFile),
			"install airgap.rpm of the bundle on %s, and run the same command again", m.Node.Name)
	}
	return err
}
