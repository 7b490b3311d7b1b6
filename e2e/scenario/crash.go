package scenario

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
)

// crash kills install and join, at random moments and after every step, cuts
// the power, and wants what an undisturbed installation gives.
func crash(ctx context.Context, e *Env) error {
	return e.Bank(ctx, 2, func(l *lab.Lab) error {
		c := &crashed{Env: e, first: l.Machines[0], worker: l.Machines[1], stick: filepath.Join(e.Work, "stick")}
		c.install = "airgap install " + labSkips + " " + lab.StickPath + "/bank"
		return e.inOrder([]part{
			{"survey", func() error { return e.survey(ctx, l.Machines...) }},
			{"bundle", func() error { return e.makeBundle(ctx, c.stick) }},
			{"the program, from the stick", func() error { return errors.Join(e.begin(ctx, c.first, c.stick), e.begin(ctx, c.worker, c.stick)) }},
			{"a dry run on a bare host", func() error { return dryRunBare(ctx, e, c.first) }},
			{"install, undisturbed; a second one", func() error { return c.twoAtOnce(ctx) }},
			{"a dry run on a finished host", func() error { return dryRunDone(ctx, e, c.first, strings.Fields(c.install)[1:]...) }},
			{"join, undisturbed", func() error { return c.joinOnce(ctx) }},
			{"status", func() error {
				return errors.Join(stands(ctx, e, c.first, "/var/lib/airgap/store"), stands(ctx, e, c.worker, "/var/lib/airgap/index"))
			}},
			{"pictures", func() error { return c.remember(ctx) }},
			{"five things drift", func() error { return driftMended(ctx, e, c.first) }},
			{"reset", func() error { return c.reset(ctx) }},
			{"install, killed over and over", func() error { return c.killInstall(ctx) }},
			{"join, killed over and over", func() error { return c.killJoin(ctx) }},
			{"the same cluster", func() error { return c.same(ctx) }},
		})
	})
}

// crashed is the scenario's memory.
type crashed struct {
	*Env
	first, worker       lab.Machine
	install, stick      string
	firstRan, workerRan []ranStep
	firstIs, workerIs   picture
	clusterIs           picture
	tooFew              error // told last: what was seen of the cluster says more
}

// twoAtOnce installs, and while that runs asks for another installation: it is
// refused at once, and the first goes on.
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
	if err := r.want("a second install meanwhile", 1, "another airgap command is changing this host"); err != nil {
		return err
	}
	if r.Stdout != "" {
		return fmt.Errorf("the second install said %q", r.Stdout)
	}
	c.firstRan, err = ran(ctx, c.Env, c.first)
	return err
}

func (c *crashed) joinOnce(ctx context.Context) error {
	command, err := codeFile(ctx, c.Env, c.first, c.worker)
	if err != nil {
		return err
	}
	if _, err := rehearse(ctx, c.Env, c.worker, command[1:]...); err != nil {
		return err
	}
	if _, err := c.must(ctx, c.worker, []string{"joined"}, command...); err != nil {
		return err
	}
	c.workerRan, err = ran(ctx, c.Env, c.worker)
	return errors.Join(err, c.verified(ctx, c.first))
}

func (c *crashed) remember(ctx context.Context) (err error) {
	if c.clusterIs, err = cluster(ctx, c.Env, c.first); err != nil {
		return err
	}
	if c.firstIs, err = livePicture(ctx, c.Env, c.first); err != nil {
		return err
	}
	c.workerIs, err = livePicture(ctx, c.Env, c.worker)
	return err
}

func (c *crashed) reset(ctx context.Context) error {
	for _, m := range []lab.Machine{c.worker, c.first} {
		if _, err := c.must(ctx, m, []string{"taken back"}, "airgap", "reset", "--yes", "--wipe-data"); err != nil {
			return err
		}
	}
	return nil
}

// seed can be set to repeat a run.
func (c *crashed) dice(what string) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	fmt.Fprintf(c.Log, "%s: seed %d\n", what, seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// randomMoments is how many at least have to hit.
const randomMoments = 30

func (c *crashed) killInstall(ctx context.Context) error {
	k := &killing{e: c.Env, m: c.first, command: c.install, steps: c.firstRan, stick: c.stick}
	dice := c.dice("install")
	moments := powered(k.moments(dice, 5), dice, "packages", "kubeadm")
	if err := k.run(ctx, moments); err != nil {
		return err
	}
	if _, err := c.must(ctx, c.first, []string{"the cluster is verified"}, strings.Fields(c.install)...); err != nil {
		return err
	}
	k.report("install")
	if k.random < randomMoments || k.exact < len(c.firstRan)-2 || k.in["packages"] < 2 || k.in["kubeadm"] < 3 || k.waited == 0 {
		c.tooFew = fmt.Errorf("too few kills hit where they were meant: %+v", k.in)
	}
	return nil
}

// powered makes the first moment in each of the steps a power cut in its midst.
func powered(moments []moment, dice *rand.Rand, steps ...string) []moment {
	var all []moment
	for _, at := range moments {
		if i := slices.Index(steps, at.step); i >= 0 {
			all = append(all, moment{step: at.step, event: "began", after: time.Second + time.Duration(dice.Int64N(int64(2*time.Second))), power: true})
			steps = slices.Delete(steps, i, i+1)
		}
		all = append(all, at)
	}
	return all
}

func (c *crashed) killJoin(ctx context.Context) error {
	command, err := codeFile(ctx, c.Env, c.first, c.worker)
	if err != nil {
		return err
	}
	k := &killing{e: c.Env, m: c.worker, command: strings.Join(command, " "), steps: c.workerRan, stick: c.stick}
	dice := c.dice("join")
	if err := k.run(ctx, powered(k.moments(dice, 2), dice, "kubeadm")); err != nil {
		return err
	}
	if _, err := c.must(ctx, c.worker, nil, command...); err != nil {
		return err
	}
	k.report("join")
	return nil
}

// same wants verify, status, hosts and cluster to be what they were after the
// undisturbed installation, and a further run to change nothing.
func (c *crashed) same(ctx context.Context) error {
	if err := c.verified(ctx, c.first); err != nil {
		return err
	}
	if _, err := c.must(ctx, c.first, []string{"nothing to do"}, strings.Fields(c.install)...); err != nil {
		return err
	}
	return errors.Join(
		c.tooFew,
		stands(ctx, c.Env, c.first, "/var/lib/airgap/store"), stands(ctx, c.Env, c.worker, "/var/lib/airgap/index"),
		asCluster(ctx, c.Env, c.first, c.clusterIs),
		asInstalled(ctx, c.Env, c.first, c.firstIs), asInstalled(ctx, c.Env, c.worker, c.workerIs))
}
