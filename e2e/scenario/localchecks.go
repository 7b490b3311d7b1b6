package scenario

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/lab"
)

// LocalChecks returns the duration of preflight on a new server with a bundle for it: the
// median of three runs. It includes dnf's dry transaction, but not the test of etcd's disk,
// which always takes three seconds.
func LocalChecks(ctx context.Context, e *Env) (took time.Duration, err error) {
	const timed = `b=$(date +%s%N); airgap preflight ` + LabSkips + `,etcd-fsync ` + lab.StickPath + `/bank >/run/checks 2>&1 || { cat /run/checks; exit 1; }; echo $(($(date +%s%N) - b))`
	err = e.WithServers(ctx, 1, func(l *lab.Lab) error {
		m, stick := l.Machines[0], filepath.Join(e.Work, "checks")
		for _, prepare := range []func() error{
			func() error { return e.Survey(ctx, m) },
			func() error { return e.MakeBundle(ctx, stick) },
			func() error { return e.InstallProgram(ctx, m, stick) },
		} {
			if err := prepare(); err != nil {
				return err
			}
		}
		var all []time.Duration
		for range 3 {
			r, err := e.Must(ctx, m, nil, "sh", "-c", timed)
			if err != nil {
				return err
			}
			ns, err := strconv.ParseInt(strings.TrimSpace(r.Stdout), 10, 64)
			if err != nil {
				return err
			}
			all = append(all, time.Duration(ns))
		}
		slices.Sort(all)
		took = all[1]
		return nil
	})
	return took, err
}
