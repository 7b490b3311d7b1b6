package scenario

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/e2e/lab"
)

// clock sets the clock of a server that is to join, which only an emulated one
// has of its own: hours and days off, it is told so before anything is changed;
// and a clock that went back since airgap's last run is told as well.
func clock(ctx context.Context, e *Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.BankOf(ctx, []lab.Kind{lab.KindContainer, lab.KindEmulated}, func(l *lab.Lab) error {
		first, worker := l.Machines[0], l.Machines[1]
		var command []string
		return e.inOrder([]part{
			{"survey", func() error { return e.survey(ctx, l) }},
			{"bundle", func() error { return e.makeBundle(ctx, stick) }},
			{"the program, from the stick", func() error {
				if err := e.begin(ctx, first, stick); err != nil {
					return err
				}
				return e.begin(ctx, worker, stick)
			}},
			{"install", func() error { return e.installOnce(ctx, first) }},
			{"a code", func() error {
				line, err := e.joinLine(ctx, first, worker.Name())
				if err != nil {
					return err
				}
				command = append([]string{"airgap"}, append(line.args(), "--code-file", "/root/code")...)
				r, err := e.On(ctx, worker, line.Code, "sh", "-c", "umask 077; cat >/root/code")
				if err != nil {
					return err
				}
				return r.want("write the code", 0)
			}},
			{"three hours behind", func() error {
				return e.atAnotherTime(ctx, worker, "-3 hours", command, "clock-registry", "2 h 59 min behind that of 10.88.0.11:5000|3 h 0 min behind that of 10.88.0.11:5000", "chronyc makestep")
			}},
			{"two hours ahead", func() error {
				return e.atAnotherTime(ctx, worker, "+2 hours", command, "clock-registry", "1 h 59 min ahead of that of 10.88.0.11:5000|2 h 0 min ahead of that of 10.88.0.11:5000")
			}},
			{"five days behind", func() error {
				return e.atAnotherTime(ctx, worker, "-5 days", command, "this host's clock is 4 d 23 h behind|this host's clock is 5 d 0 h behind", "chronyc makestep")
			}},
			{"the right time", func() error {
				_, err := e.must(ctx, worker, []string{"nothing was changed", "airgap join would run"}, append(command, "--dry-run")...)
				return err
			}},
			{"back since the last run", func() error {
				if err := e.killed(ctx, worker, strings.Join(command, " "), `grep -qs '"step":"packages"' /var/lib/airgap/journal.jsonl`); err != nil {
					return err
				}
				return e.timeTold(ctx, worker, "-2 days", command, "clock-sane", "before airgap was last at work on this host", "airgap reset")
			}},
		})
	})
}

// atAnotherTime is timeTold of a server that is then as it was.
func (e *Env) atAnotherTime(ctx context.Context, m lab.Machine, shift string, command []string, says ...string) error {
	before, err := e.picture(ctx, m)
	if err != nil {
		return err
	}
	if err := e.timeTold(ctx, m, shift, command, says...); err != nil {
		return err
	}
	return e.asBefore(ctx, m, before, exception{`^\+ (file|content)\t.* /var/lib/airgap/lock( \d*)?$`, "the lock of one command at a time"})
}

// timeTold shifts the clock, wants the command to say so and to end as a failed
// check does, and sets the clock right again. Words with a bar are one or the
// other, since the server is slow.
func (e *Env) timeTold(ctx context.Context, m lab.Machine, shift string, command []string, says ...string) error {
	if err := e.script(ctx, m, "date -s '"+shift+"'"); err != nil {
		return err
	}
	r, err := e.On(ctx, m, "", command...)
	if err != nil {
		return err
	}
	opposite := strings.NewReplacer("-", "+", "+", "-").Replace(shift)
	if err := e.script(ctx, m, "date -s '"+opposite+"'"); err != nil {
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
	return r.want("the clock shifted by "+shift, 3, says...)
}
