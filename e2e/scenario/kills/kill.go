// Package kills kills commands at chosen and at random moments, and compares
// what comes of it with an undisturbed cluster.
package kills

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
	"airgap.dev/airgap/e2e/scenario"
)

//go:embed kill.sh
var killScript string

// Moment is when a command is killed: some time after a journal entry, or
// after its start when step is empty.
type Moment struct {
	Step, Event string
	After       time.Duration
	random      bool
	power       bool // the whole server, by its plug
	Children    bool // the programs that it started, too
}

func (at Moment) String() string {
	if at.Step == "" {
		return fmt.Sprintf("start +%.2f s", at.After.Seconds())
	}
	return fmt.Sprintf("%s %s +%.2f s", at.Step, at.Event, at.After.Seconds())
}

// Killing is one command that is killed over and over on one server, and
// started again each time.
type Killing struct {
	E       *scenario.Env
	M       lab.Machine
	Command string
	Steps   []RanStep // of the undisturbed run, in order
	stick   string    // plugged in again after a power cut; "" for none

	random, exact int            // kills at random moments; right after a step's end
	Missed        int            // kills a little later, because the step was over
	In            map[string]int // kills by the step that had begun last
	waited        int            // runs that waited for children of the one before
	Whole         bool           // a run came to its end
}

// RanStep is a step of the journal and how long it took.
type RanStep struct {
	Name string
	took time.Duration
}

// JournalEntry is a line of the journal.
type JournalEntry struct {
	Time        time.Time
	Step, Event string
}

// Journal reads a server's journal.
func Journal(ctx context.Context, m lab.Machine) ([]JournalEntry, error) {
	text, err := lab.Output(ctx, m, "cat", "/var/lib/airgap/journal.jsonl")
	if err != nil {
		return nil, err
	}
	entries, err := entriesOf(text)
	if err != nil {
		return nil, fmt.Errorf("the journal of %s: %w", m.Name(), err)
	}
	return entries, nil
}

// entriesOf leaves out lines that were cut: a kill can end a write between two pages, and airgap
// leaves them out, too. Every whole line must be an entry.
func entriesOf(text string) ([]JournalEntry, error) {
	var entries []JournalEntry
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); !strings.HasSuffix(line, "}") {
			continue
		}
		var j JournalEntry
		if err := json.Unmarshal([]byte(line), &j); err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
		entries = append(entries, j)
	}
	return entries, nil
}

// ran are the steps of an undisturbed run.
func ran(ctx context.Context, m lab.Machine) ([]RanStep, error) {
	entries, err := Journal(ctx, m)
	var steps []RanStep
	for i, j := range entries {
		if j.Event == "ended" && i > 0 {
			steps = append(steps, RanStep{j.Step, j.Time.Sub(entries[i-1].Time)})
		}
	}
	return steps, err
}

// moments puts random ones into every step that is long enough to be hit, one
// right after each step's end, and some while the checks run and while the
// finished host is verified.
func (k *Killing) moments(random *rand.Rand, mostInAStep int) []Moment {
	all := k.around(random, 3, time.Second)
	for _, s := range k.Steps {
		all = append(all, s.moments(random, min(int(s.took/hittable), mostInAStep))...)
		all = append(all, Moment{Step: s.Name, Event: "ended"})
	}
	return append(all, k.around(random, 6, 4*time.Second)...)
}

// moments are n at random in a step, the early ones first: what it has done for
// good it does not do again. dnf and kubeadm go on when airgap alone is killed,
// and then their step is done: that comes last, well before their end.
func (s RanStep) moments(random *rand.Rand, n int) []Moment {
	children := s.Name == "packages" || s.Name == "kubeadm"
	within := s.took / 3 // the next run may be faster, and a step that is over has no end to be hit
	if children {
		within = s.took / 2
	}
	var inside []time.Duration
	for range n {
		inside = append(inside, time.Duration(random.Int64N(int64(within)+1)))
	}
	slices.Sort(inside)
	var all []Moment
	for i, after := range inside {
		all = append(all, Moment{Step: s.Name, Event: "began", After: after, random: true, Children: children && i < n-1})
	}
	return all
}

// hittable is how long a step takes that gets a random moment.
const hittable = 150 * time.Millisecond

// around are moments counted from the command's start.
func (k *Killing) around(random *rand.Rand, n int, within time.Duration) []Moment {
	var all []Moment
	for range n {
		all = append(all, Moment{After: time.Duration(random.Int64N(int64(within))), random: true})
	}
	return all
}

// Run goes through the moments, each with the same command.
func (k *Killing) Run(ctx context.Context, moments []Moment) error {
	k.In = map[string]int{}
	for i, at := range moments {
		if k.Whole && at.Step != "" {
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
		fmt.Fprintf(k.E.Log, "%s: %-30s %-52s %5.1f s\n", k.M.Name(), at, how, time.Since(began).Seconds())
		if i%5 == 0 {
			if _, err := k.E.Must(ctx, k.M, nil, "airgap", "status"); err != nil {
				return fmt.Errorf("after a kill: %w", err)
			}
		}
	}
	return nil
}

// kill kills the command at one moment. A command that ends by itself before
// has to end well.
func (k *Killing) kill(ctx context.Context, at Moment) (string, error) {
	entry, past, children := "", "", ""
	if at.Children {
		children = "too"
	}
	if at.Step != "" {
		entry, past = Journalled(at.Step, at.Event), k.later(at.Step)
	}
	r, err := k.E.On(ctx, k.M, "", "bash", "-c", killScript, "kill", k.Command, entry, past, fmt.Sprintf("%.3f", at.After.Seconds()), children)
	if err != nil {
		return "", err
	}
	how, said, _ := strings.Cut(r.Stdout, "\n")
	if strings.Contains(said, "waiting for ") {
		k.waited++
	}
	if how == "ended 0" {
		k.Whole = true
		return "had ended well", nil
	}
	if how != "killed" && how != "missed" {
		return "", fmt.Errorf("it %s by itself:\n%s", how, said)
	}
	if at.Children {
		how += " with its children"
	}
	switch {
	case strings.HasPrefix(how, "missed"):
		k.Missed++
	case at.random:
		k.random++
	default:
		k.exact++
	}
	return k.where(ctx, how)
}

// later matches what the journal says of the steps behind one.
func (k *Killing) later(step string) string {
	i := slices.IndexFunc(k.Steps, func(s RanStep) bool { return s.Name == step })
	var names []string
	for _, s := range k.Steps[i+1:] {
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return ""
	}
	return `"step":"(` + strings.Join(names, "|") + `)"`
}

// where adds to how what the journal said last.
func (k *Killing) where(ctx context.Context, how string) (string, error) {
	there, err := k.E.On(ctx, k.M, "", "test", "-e", "/var/lib/airgap/journal.jsonl")
	if err != nil || there.Code != 0 {
		return how + " before the first step", err
	}
	entries, err := Journal(ctx, k.M)
	if err != nil || len(entries) == 0 {
		return how, err
	}
	last := entries[len(entries)-1]
	if last.Event == "began" {
		k.In[last.Step]++
	}
	return how + ", " + last.Step + " had " + last.Event, nil
}

// cut pulls the server's plug at one moment and switches it on again. The
// journal has lost nothing of what it had said by then.
func (k *Killing) cut(ctx context.Context, at Moment) (string, error) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = k.E.On(ctx, k.M, "", strings.Fields(k.Command)...) // it ends with the server
	}()
	const wait = `had=$(grep -c . /var/lib/airgap/journal.jsonl); until tail -n +$((had+1)) /var/lib/airgap/journal.jsonl | grep -q "$0"; do sleep 0.02; done`
	if err := k.E.Script(ctx, k.M, "timeout 120 bash -c '"+wait+"' '"+Journalled(at.Step, at.Event)+"'"); err != nil {
		return "", err
	}
	time.Sleep(at.After)
	before, err := Journal(ctx, k.M)
	if err != nil {
		return "", err
	}
	if err := k.M.Kill(ctx); err != nil {
		return "", err
	}
	<-ended
	if err := k.M.Start(ctx); err != nil {
		return "", err
	}
	if k.stick != "" {
		if err := k.M.AttachStick(ctx, k.stick); err != nil {
			return "", err
		}
	}
	after, err := Journal(ctx, k.M)
	if err != nil || len(after) < len(before) || !slices.Equal(after[:len(before)], before) {
		return "", fmt.Errorf("the power cut left a journal of %d entries, there were %d: %w", len(after), len(before), err)
	}
	if last := before[len(before)-1]; last.Step != at.Step || last.Event != "began" {
		return fmt.Sprintf("power cut, %s had %s", last.Step, last.Event), nil
	}
	k.In[at.Step]++
	if _, err := k.E.Must(ctx, k.M, []string{"interrupted in step " + at.Step}, "airgap", "status"); err != nil {
		return "", err
	}
	return "power cut", nil
}

func (k *Killing) report(what string) {
	fmt.Fprintf(k.E.Log, "%s: %d kills at random moments, %d right after steps, %d a little later; %d reruns waited for children; inside steps: %v\n",
		what, k.random, k.exact, k.Missed, k.waited, k.In)
}

// Journalled is how a journal entry begins after its time.
func Journalled(step, event string) string {
	return fmt.Sprintf(`"step":"%s","event":"%s"`, step, event)
}
