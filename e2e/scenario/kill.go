package scenario

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/lab"
)

//go:embed kill.sh
var killScript string

// moment is when a command is killed: some time after a journal entry, or
// after its start when step is empty.
type moment struct {
	step, event string
	after       time.Duration
	random      bool
	power       bool // the whole server, by its plug
	children    bool // the programs that it started, too
}

func (at moment) String() string {
	if at.step == "" {
		return fmt.Sprintf("start +%.2f s", at.after.Seconds())
	}
	return fmt.Sprintf("%s %s +%.2f s", at.step, at.event, at.after.Seconds())
}

// killing is one command that is killed over and over on one server, and
// started again each time.
type killing struct {
	e       *Env
	m       lab.Machine
	command string
	steps   []ranStep // of the undisturbed run, in order
	stick   string    // plugged in again after a power cut; "" for none

	random, exact int            // kills at random moments; right after a step's end
	missed        int            // kills a little later, because the step was over
	in            map[string]int // kills by the step that had begun last
	waited        int            // runs that waited for children of the one before
	whole         bool           // a run came to its end
}

// ranStep is a step of the journal and how long it took.
type ranStep struct {
	name string
	took time.Duration
}

type journalEntry struct {
	Time        time.Time
	Step, Event string
}

// journal reads a server's journal; each line has to be whole.
func journal(ctx context.Context, e *Env, m lab.Machine) ([]journalEntry, error) {
	text, err := lab.Output(ctx, m, "cat", "/var/lib/airgap/journal.jsonl")
	if err != nil {
		return nil, err
	}
	var entries []journalEntry
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var j journalEntry
		if err := json.Unmarshal([]byte(line), &j); err != nil {
			return nil, fmt.Errorf("the journal of %s has the line %q: %w", m.Name(), line, err)
		}
		entries = append(entries, j)
	}
	return entries, nil
}

// ran are the steps of an undisturbed run.
func ran(ctx context.Context, e *Env, m lab.Machine) ([]ranStep, error) {
	entries, err := journal(ctx, e, m)
	var steps []ranStep
	for i, j := range entries {
		if j.Event == "ended" && i > 0 {
			steps = append(steps, ranStep{j.Step, j.Time.Sub(entries[i-1].Time)})
		}
	}
	return steps, err
}

// moments puts random ones into every step that is long enough to be hit, one
// right after each step's end, and some while the checks run and while the
// finished host is verified.
func (k *killing) moments(random *rand.Rand, mostInAStep int) []moment {
	all := k.around(random, 3, time.Second)
	for _, s := range k.steps {
		all = append(all, s.moments(random, min(int(s.took/hittable), mostInAStep))...)
		all = append(all, moment{step: s.name, event: "ended"})
	}
	return append(all, k.around(random, 6, 4*time.Second)...)
}

// moments are n at random in a step, the early ones first: what it has done for
// good it does not do again. dnf and kubeadm go on when airgap alone is killed,
// and then their step is done: that comes last, well before their end.
func (s ranStep) moments(random *rand.Rand, n int) []moment {
	children := s.name == "packages" || s.name == "kubeadm"
	within := s.took / 3 // the next run may be faster, and a step that is over has no end to be hit
	if children {
		within = s.took / 2
	}
	var inside []time.Duration
	for range n {
		inside = append(inside, time.Duration(random.Int64N(int64(within)+1)))
	}
	slices.Sort(inside)
	var all []moment
	for i, after := range inside {
		all = append(all, moment{step: s.name, event: "began", after: after, random: true, children: children && i < n-1})
	}
	return all
}

// hittable is how long a step takes that gets a random moment.
const hittable = 150 * time.Millisecond

// around are moments counted from the command's start.
func (k *killing) around(random *rand.Rand, n int, within time.Duration) []moment {
	var all []moment
	for range n {
		all = append(all, moment{after: time.Duration(random.Int64N(int64(within))), random: true})
	}
	return all
}

// run goes through the moments, each with the same command.
func (k *killing) run(ctx context.Context, moments []moment) error {
	k.in = map[string]int{}
	for i, at := range moments {
		if k.whole && at.step != "" {
			continue // nothing is left to be done, and none of these comes any more
		}
		began := time.Now()
		kill := k.kill
		if at.power {
			kill = k.cut
		}
		how, err := kill(ctx, at)
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		fmt.Fprintf(k.e.Log, "%s: %-30s %-52s %5.1f s\n", k.m.Name(), at, how, time.Since(began).Seconds())
		if i%5 == 0 {
			if _, err := k.e.must(ctx, k.m, nil, "airgap", "status"); err != nil {
				return fmt.Errorf("after a kill: %w", err)
			}
		}
	}
	return nil
}

// kill kills the command at one moment. A command that ends by itself before
// has to end well.
func (k *killing) kill(ctx context.Context, at moment) (string, error) {
	entry, past, children := "", "", ""
	if at.children {
		children = "too"
	}
	if at.step != "" {
		entry, past = journalled(at.step, at.event), k.later(at.step)
	}
	r, err := k.e.On(ctx, k.m, "", "bash", "-c", killScript, "kill", k.command, entry, past, fmt.Sprintf("%.3f", at.after.Seconds()), children)
	if err != nil {
		return "", err
	}
	how, said, _ := strings.Cut(r.Stdout, "\n")
	if strings.Contains(said, "waiting for ") {
		k.waited++
	}
	if how == "ended 0" {
		k.whole = true
		return "had ended well", nil
	}
	if how != "killed" && how != "missed" {
		return "", fmt.Errorf("it %s by itself:\n%s", how, said)
	}
	if at.children {
		how += " with its children"
	}
	switch {
	case strings.HasPrefix(how, "missed"):
		k.missed++
	case at.random:
		k.random++
	default:
		k.exact++
	}
	return k.where(ctx, how)
}

// later matches what the journal says of the steps behind one.
func (k *killing) later(step string) string {
	i := slices.IndexFunc(k.steps, func(s ranStep) bool { return s.name == step })
	var names []string
	for _, s := range k.steps[i+1:] {
		names = append(names, s.name)
	}
	if len(names) == 0 {
		return ""
	}
	return `"step":"(` + strings.Join(names, "|") + `)"`
}

// where adds to how what the journal said last.
func (k *killing) where(ctx context.Context, how string) (string, error) {
	there, err := k.e.On(ctx, k.m, "", "test", "-e", "/var/lib/airgap/journal.jsonl")
	if err != nil || there.Code != 0 {
		return how + " before the first step", err
	}
	entries, err := journal(ctx, k.e, k.m)
	if err != nil || len(entries) == 0 {
		return how, err
	}
	last := entries[len(entries)-1]
	if last.Event == "began" {
		k.in[last.Step]++
	}
	return how + ", " + last.Step + " had " + last.Event, nil
}

// cut pulls the server's plug at one moment and switches it on again. The
// journal has lost nothing of what it had said by then.
func (k *killing) cut(ctx context.Context, at moment) (string, error) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = k.e.On(ctx, k.m, "", strings.Fields(k.command)...) // it ends with the server
	}()
	const wait = `had=$(grep -c . /var/lib/airgap/journal.jsonl); until tail -n +$((had+1)) /var/lib/airgap/journal.jsonl | grep -q "$0"; do sleep 0.02; done`
	if err := k.e.script(ctx, k.m, "timeout 120 bash -c '"+wait+"' '"+journalled(at.step, at.event)+"'"); err != nil {
		return "", err
	}
	time.Sleep(at.after)
	before, err := journal(ctx, k.e, k.m)
	if err != nil {
		return "", err
	}
	if err := k.m.Kill(ctx); err != nil {
		return "", err
	}
	<-ended
	if err := k.m.Start(ctx); err != nil {
		return "", err
	}
	if k.stick != "" {
		if err := k.m.AttachStick(ctx, k.stick); err != nil {
			return "", err
		}
	}
	after, err := journal(ctx, k.e, k.m)
	if err != nil || len(after) < len(before) || !slices.Equal(after[:len(before)], before) {
		return "", fmt.Errorf("the power cut left a journal of %d entries, there were %d: %w", len(after), len(before), err)
	}
	if last := before[len(before)-1]; last.Step != at.step || last.Event != "began" {
		return fmt.Sprintf("power cut, %s had %s", last.Step, last.Event), nil
	}
	k.in[at.step]++
	if _, err := k.e.must(ctx, k.m, []string{"interrupted in step " + at.step}, "airgap", "status"); err != nil {
		return "", err
	}
	return "power cut", nil
}

func (k *killing) report(what string) {
	fmt.Fprintf(k.e.Log, "%s: %d kills at random moments, %d right after steps, %d a little later; %d reruns waited for children; inside steps: %v\n",
		what, k.random, k.exact, k.missed, k.waited, k.in)
}
