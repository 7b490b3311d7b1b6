package emulated

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/scenario/faults"
)

// Worker joins an emulated worker: only such a server has its own clock, its own swap,
// and NetworkManager. With a clock that is minutes, hours or days wrong, join must fail before it
// changes anything. While the server is a node, also after a power cut, swap must be off
// and NetworkManager must not manage the pods' interfaces. verify must name a clock that
// moves. After reset the server must be in its earlier state.
func Worker(ctx context.Context, e *scenario.Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.WithServersOf(ctx, []lab.Kind{lab.KindContainer, lab.KindEmulated}, func(l *lab.Lab) error {
		first, worker := l.Machines[0], l.Machines[1]
		var bare scenario.Picture
		var command []string
		clockWrong := func(shift string, says ...string) func() error {
			return func() error { return wrongClock(ctx, e, worker, shift, command, says...) }
		}
		return e.InOrder([]scenario.Part{
			{Title: "swap and NetworkManager", Run: func() error { return errors.Join(swapOn(ctx, e, worker), networkManagerOn(ctx, e, worker)) }},
			{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
			{Title: "bundle", Run: func() error { return e.MakeBundle(ctx, stick, "nodes:\n", "hostSettings: {swap: disable}\nnodes:\n") }},
			{Title: "the program, from the stick", Run: func() error {
				return errors.Join(e.InstallProgram(ctx, first, stick), e.InstallProgram(ctx, worker, stick))
			}},
			{Title: "install", Run: func() error { return e.InstallOnce(ctx, first) }},
			{Title: "a join token", Run: func() (err error) {
				command, err = scenario.TokenFile(ctx, e, first, worker)
				return err
			}},
			{Title: "a picture before", Run: func() (err error) {
				bare, err = e.Picture(ctx, worker)
				return err
			}},
			{Title: "three hours behind", Run: clockWrong("-3 hours", "clock-registry", "2 h 59 min behind 10.88.0.11:5000|3 h 0 min behind 10.88.0.11:5000", "chronyc makestep")},
			{Title: "two hours ahead", Run: clockWrong("+2 hours", "clock-registry", "1 h 59 min ahead of 10.88.0.11:5000|2 h 0 min ahead of 10.88.0.11:5000")},
			{Title: "ten minutes behind", Run: clockWrong("-10 minutes", "clock-registry", "clock is 9 min 5|clock is 10 min ", " behind 10.88.0.11:5000")},
			{Title: "five days behind", Run: clockWrong("-5 days", "this host's clock is 4 d 23 h behind|this host's clock is 5 d 0 h behind", "chronyc makestep")},
			{Title: "nothing was changed", Run: func() error { return e.MatchesPicture(ctx, worker, bare, onlyLock) }},
			{Title: "the right time", Run: func() error {
				_, err := e.Must(ctx, worker, []string{"nothing was changed", "airgap join would run"}, append(command, "--dry-run")...)
				return err
			}},
			{Title: "behind the time of the last run", Run: func() error {
				if err := e.Killed(ctx, worker, strings.Join(command, " "), `grep -qs '"step":"packages"' /var/lib/airgap/journal.jsonl`); err != nil {
					return err
				}
				check := []string{"airgap", "preflight", scenario.LabSkips, lab.StickPath + "/bank"}
				return errors.Join(
					wrongClock(ctx, e, worker, "-2 days", command, "2 d 0 h behind 10.88.0.11:5000|1 d 23 h behind 10.88.0.11:5000"),
					wrongClock(ctx, e, worker, "-6 minutes", check, "clock-sane", "before airgap's last run on this host|when the bundle was created", "set the clock"))
			}},
			{Title: "join", Run: func() error { return joinedWithoutSwap(ctx, e, worker, command) }},
			{Title: "a power cut", Run: func() error {
				if err := errors.Join(worker.Kill(ctx), worker.Start(ctx), swapIs(ctx, e, worker, "")); err != nil {
					return err
				}
				_, err := e.Must(ctx, first, nil, "airgap", "verify", scenario.LabSkips, "--timeout", "10m") // its processor is slow
				return errors.Join(err, unmanaged(ctx, e, worker, "eth0", "flannel.1"))
			}},
			{Title: "verify --watch names a clock that moves", Run: func() error { return clockNamed(ctx, e, first, worker) }},
			{Title: "reset", Run: func() error {
				_, err := e.Must(ctx, worker, []string{"undone: "}, "airgap", "reset", "--yes", "--wipe-data")
				return errors.Join(err, swapIs(ctx, e, worker, "/swap 5\n"), unmanaged(ctx, e, worker, "eth0"))
			}},
			// Kernel modules stay loaded until the reboot.
			{Title: "a reboot", Run: func() error {
				if err := errors.Join(e.Script(ctx, worker, "sync"), worker.Kill(ctx), worker.Start(ctx), swapIs(ctx, e, worker, "/swap 5\n")); err != nil {
					return err
				}
				if err := worker.AttachStick(ctx, stick); err != nil { // it was plugged in when the picture was taken
					return err
				}
				return e.MatchesPicture(ctx, worker, bare, append(scenario.Always(), onlyLock,
					scenario.Exception{Lines: `^[+-] (file|content|run)\t.*/(run|var/lib)/NetworkManager/`, Why: "the time at which NetworkManager last used a connection"},
					scenario.Exception{Lines: `^[+-] file\t.* /var/log/wtmp `, Why: "one more boot"},
					scenario.Exception{Lines: `^[+-] sysctl\t(vm\.user_reserve_kbytes|net\.ipv4\.(tcp|udp)_mem) = `, Why: "the kernel computes it from the free memory at boot"},
				)...)
			}},
		})
	})
}

func joinedWithoutSwap(ctx context.Context, e *scenario.Env, m lab.Machine, command []string) error {
	_, err := e.Must(ctx, m, []string{"joined"}, command...)
	return errors.Join(err, swapIs(ctx, e, m, ""))
}

// clockNamed checks that verify names a node with a clock that moves.
func clockNamed(ctx context.Context, e *scenario.Env, first, worker lab.Machine) error {
	w := &faults.Watch{E: e, M: first}
	if err := w.Start(ctx); err != nil {
		return err
	}
	moves := faults.On(e, worker, "a node's clock moves", "date -s '+40 seconds'", "date -s '-40 seconds'", "clocks", "Node node2", "ahead of")
	if err := w.Finds(ctx, moves); err != nil {
		return err
	}
	return errors.Join(errors.Join(w.Missed...), w.End(ctx))
}

var onlyLock = scenario.Exception{Lines: `^\+ (file|content)\t.* /var/lib/airgap/lock( \d*)?$`, Why: "the lock that allows one command at a time"}

// swapOn creates a swap file that is also active after each boot.
func swapOn(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	return e.Script(ctx, m,
		"dd if=/dev/zero of=/swap bs=1M count=64 status=none && chmod 600 /swap && mkswap /swap",
		"printf '# change 4711\\n/swap none swap sw,pri=5 0 0\\n' >>/etc/fstab && systemctl daemon-reload && swapon -a")
}

// networkManagerOn starts NetworkManager for all interfaces except eth0.
func networkManagerOn(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	return e.Script(ctx, m,
		"printf '[keyfile]\nunmanaged-devices=interface-name:eth0\n' >/etc/NetworkManager/conf.d/bank.conf",
		"systemctl enable --now NetworkManager")
}

// unmanaged restarts NetworkManager, and checks that it does not manage the interfaces.
func unmanaged(ctx context.Context, e *scenario.Env, m lab.Machine, interfaces ...string) error {
	if err := e.Script(ctx, m, "systemctl restart NetworkManager"); err != nil {
		return err
	}
	for _, name := range interfaces {
		if err := e.Script(ctx, m, "timeout 60 sh -c 'until nmcli --terse --fields DEVICE,STATE device | grep -qx "+name+":unmanaged; do sleep 1; done' || { nmcli device >&2; exit 1; }"); err != nil {
			return err
		}
	}
	return nil
}

// swapIs checks the active swap areas, each with its priority.
func swapIs(ctx context.Context, e *scenario.Env, m lab.Machine, want string) error {
	r, err := e.Must(ctx, m, nil, "sh", "-c", "swapon --show=NAME,PRIO --noheadings --raw")
	if err == nil && r.Stdout != want {
		err = fmt.Errorf("%s has swap %q, want %q", m.Name(), r.Stdout, want)
	}
	return err
}

// wrongClock shifts the clock, runs the command and sets the clock right again. The command
// must report the difference and exit as after a failed check. Of words with a bar, one of
// the two must appear: the server is slow.
func wrongClock(ctx context.Context, e *scenario.Env, m lab.Machine, shift string, command []string, says ...string) error {
	if err := e.Script(ctx, m, "date -s '"+shift+"'"); err != nil {
		return err
	}
	r, err := e.On(ctx, m, "", command...)
	if err != nil {
		return err
	}
	opposite := strings.NewReplacer("-", "+", "+", "-").Replace(shift)
	if err := e.Script(ctx, m, "date -s '"+opposite+"'"); err != nil {
		return err
	}
	fmt.Fprint(e.Log, r.Stderr)
	for i, words := range says {
		one, other, _ := strings.Cut(words, "|")
		if other != "" && strings.Contains(r.Stdout+r.Stderr, other) {
			one = other
		}
		says[i] = one
	}
	return r.Want("the clock shifted by "+shift, 3, says...)
}
