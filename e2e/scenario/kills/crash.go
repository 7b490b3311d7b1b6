package kills

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

// Crash kills install and join, at random moments and after every step, and cuts the power.
// In the end the hosts and the cluster must be the same as after an undisturbed
// installation.
func Crash(ctx context.Context, e *scenario.Env) error {
	return e.WithServers(ctx, 2, func(l *lab.Lab) error {
		c := &crashed{Env: e, first: l.Machines[0], worker: l.Machines[1], stick: filepath.Join(e.Work, "stick")}
		c.install = "airgap install " + scenario.LabSkips + " " + lab.StickPath + "/bank"
		return e.InOrder([]scenario.Part{
			{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
			{Title: "bundle", Run: func() error { return e.MakeBundle(ctx, c.stick) }},
			{Title: "the program, from the stick", Run: func() error {
				return errors.Join(e.InstallProgram(ctx, c.first, c.stick), e.InstallProgram(ctx, c.worker, c.stick))
			}},
			{Title: "a dry run on a bare host", Run: func() error { return dryRunBare(ctx, e, c.first) }},
			{Title: "install, undisturbed; a second install at the same time", Run: func() error { return c.twoAtOnce(ctx) }},
			{Title: "a dry run on a finished host", Run: func() error { return dryRunDone(ctx, e, c.first, strings.Fields(c.install)[1:]...) }},
			{Title: "join, undisturbed", Run: func() error { return c.joinOnce(ctx) }},
			{Title: "status", Run: func() error {
				return errors.Join(checkStatus(ctx, e, c.first, "/var/lib/airgap/store"), checkStatus(ctx, e, c.worker, "/var/lib/airgap/index"))
			}},
			{Title: "pictures", Run: func() error { return c.remember(ctx) }},
			{Title: "five things drift", Run: func() error { return driftRepaired(ctx, e, c.first) }},
			{Title: "reset", Run: func() error { return c.reset(ctx) }},
			{Title: "install, killed repeatedly", Run: func() error { return c.killInstall(ctx) }},
			{Title: "join, killed repeatedly", Run: func() error { return c.killJoin(ctx) }},
			{Title: "the same cluster", Run: func() error { return c.same(ctx) }},
		})
	})
}

// crashed is the state of the scenario, with the results of the undisturbed run.
type crashed struct {
	*scenario.Env
	first, worker               lab.Machine
	install, stick              string
	firstSteps, workerSteps     []Step
	firstPicture, workerPicture scenario.Picture
	clusterPicture              scenario.Picture
	tooFew                      error // returned last: other errors of the cluster are more useful
}

// twoAtOnce starts a second installation during the first one. The second must wait for the end of the first,
// and change nothing.
func (c *crashed) twoAtOnce(ctx context.Context) error {
	const script = `$0 >/tmp/first 2>&1 & pid=$!
until grep -qs '"step":"packages"' /var/lib/airgap/journal.jsonl; do kill -0 $pid || exit 9; sleep 0.05; done
$0; second=$?
wait $pid || { cat /tmp/first >&2; exit 8; }; rm /tmp/first
exit $second`
	r, err := c.On(ctx, c.first, "", "bash", "-c", script, c.install)
	if err != nil {
		return err
	}
	if err := r.Want("a second install at the same time", 0, "still works on this host; waiting for its end", "nothing to do, all"); err != nil {
		return err
	}
	c.firstSteps, err = journalSteps(ctx, c.first)
	return err
}

func (c *crashed) joinOnce(ctx context.Context) error {
	command, err := scenario.TokenFile(ctx, c.Env, c.first, c.worker)
	if err != nil {
		return err
	}
	if _, err := dryRun(ctx, c.Env, c.worker, command[1:]...); err != nil {
		return err
	}
	if _, err := c.Must(ctx, c.worker, []string{"joined"}, command...); err != nil {
		return err
	}
	c.workerSteps, err = journalSteps(ctx, c.worker)
	return errors.Join(err, c.Verified(ctx, c.first))
}

func (c *crashed) remember(ctx context.Context) (err error) {
	if c.clusterPicture, err = scenario.Cluster(ctx, c.Env, c.first); err != nil {
		return err
	}
	if c.firstPicture, err = scenario.LivePicture(ctx, c.Env, c.first); err != nil {
		return err
	}
	c.workerPicture, err = scenario.LivePicture(ctx, c.Env, c.worker)
	return err
}

func (c *crashed) reset(ctx context.Context) error {
	for _, m := range []lab.Machine{c.worker, c.first} {
		if _, err := c.Must(ctx, m, []string{"undone: "}, "airgap", "reset", "--yes", "--wipe-data"); err != nil {
			return err
		}
	}
	return nil
}

// dice returns a source of random moments. To repeat a run, set seed to the value in its log.
func (c *crashed) dice(command string) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	fmt.Fprintf(c.Log, "%s: seed %d\n", command, seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// randomMoments is the minimum number of kills at random moments. Three quarters of the kills directly after
// a step must come before the next step: on a loaded machine, some come too late.
const randomMoments = 30

func (c *crashed) killInstall(ctx context.Context) error {
	k := &Killing{E: c.Env, M: c.first, Command: c.install, Steps: c.firstSteps, stick: c.stick}
	dice := c.dice("install")
	moments := powered(k.moments(dice, 5), dice, "packages", "kubeadm")
	if err := k.Run(ctx, moments); err != nil {
		return err
	}
	if _, err := c.Must(ctx, c.first, []string{"the cluster is verified"}, strings.Fields(c.install)...); err != nil {
		return err
	}
	k.report("install")
	if k.random < randomMoments || 4*k.exact < 3*len(c.firstSteps) || k.In["packages"] < 2 || k.In["kubeadm"] < 3 || k.waited == 0 {
		c.tooFew = fmt.Errorf("too few kills came at their moments: %+v", k.In)
	}
	return nil
}

// powered adds a power cut during each of the steps, before the first moment in that step.
func powered(moments []Moment, dice *rand.Rand, steps ...string) []Moment {
	var all []Moment
	for _, at := range moments {
		if i := slices.Index(steps, at.Step); i >= 0 {
			all = append(all, Moment{Step: at.Step, Event: "began", After: time.Second + time.Duration(dice.Int64N(int64(2*time.Second))), power: true})
			steps = slices.Delete(steps, i, i+1)
		}
		all = append(all, at)
	}
	return all
}

func (c *crashed) killJoin(ctx context.Context) error {
	command, err := scenario.TokenFile(ctx, c.Env, c.first, c.worker)
	if err != nil {
		return err
	}
	k := &Killing{E: c.Env, M: c.worker, Command: strings.Join(command, " "), Steps: c.workerSteps, stick: c.stick}
	dice := c.dice("join")
	if err := k.Run(ctx, powered(k.moments(dice, 2), dice, "kubeadm")); err != nil {
		return err
	}
	if _, err := c.Must(ctx, c.worker, nil, command...); err != nil {
		return err
	}
	k.report("join")
	return nil
}

// same checks that verify, status, hosts and cluster are the same as after the undisturbed
// installation, and that another run changes nothing.
func (c *crashed) same(ctx context.Context) error {
	if err := c.Verified(ctx, c.first); err != nil {
		return err
	}
	if _, err := c.Must(ctx, c.first, []string{"nothing to do"}, strings.Fields(c.install)...); err != nil {
		return err
	}
	return errors.Join(
		c.tooFew,
		checkStatus(ctx, c.Env, c.first, "/var/lib/airgap/store"), checkStatus(ctx, c.Env, c.worker, "/var/lib/airgap/index"),
		scenario.AsCluster(ctx, c.Env, c.first, c.clusterPicture),
		scenario.AsInstalled(ctx, c.Env, c.first, c.firstPicture), scenario.AsInstalled(ctx, c.Env, c.worker, c.workerPicture))
}
