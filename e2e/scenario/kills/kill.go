// Package kills kills commands at chosen and at random moments, and compares the result with
// an undisturbed cluster.
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

// Moment is the time at which a command is killed: After a journal entry, or after the
// start of the command when Step is empty.
type Moment struct {
	Step, Event string
	After       time.Duration
	random      bool
	power       bool // cut the power of the server instead
	Children    bool // also kill the programs that the command started
}

func (at Moment) String() string {
	if at.Step == "" {
		return fmt.Sprintf("start +%.2f s", at.After.Seconds())
	}
	return fmt.Sprintf("%s %s +%.2f s", at.Step, at.Event, at.After.Seconds())
}

// Killing is one command on one server that is killed and started again, repeatedly.
type Killing struct {
	E       *scenario.Env
	M       lab.Machine
	Command string
	Steps   []Step // of the undisturbed run, in order
	stick   string // plugged in again after a power cut; "" for none

	random, exact int            // kills at random moments; directly after the end of a step
	Missed        int            // kills that came too late, when the step was over
	In            map[string]int // kills by the last step that began
	waited        int            // runs that waited for children of the previous run
	Done          bool           // a run completed
}

// Step is a step of the journal, with its duration.
type Step struct {
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
		return nil, fmt.Errorf("read the journal of %s: %w", m.Name(), err)
	}
	return entries, nil
}

// entriesOf skips incomplete lines, as airgap does: a kill can end a write between two pages. Every
// complete line must be an entry.
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

// journalSteps returns the steps of an undisturbed run.
func journalSteps(ctx context.Context, m lab.Machine) ([]Step, error) {
	entries, err := Journal(ctx, m)
	var steps []Step
	for i, j := range entries {
		if j.Event == "ended" && i > 0 {
			steps = append(steps, Step{j.Step, j.Time.Sub(entries[i-1].Time)})
		}
	}
	return steps, err
}

// moments returns random moments in every step that takes long enough, one moment directly
// after the end of each step, and some during the checks and during the verification of
// the finished host.
func (k *Killing) moments(random *rand.Rand, mostInAStep int) []Moment {
	all := k.around(random, 3, time.Second)
	for _, s := range k.Steps {
		all = append(all, s.moments(random, min(int(s.took/hittable), mostInAStep))...)
		all = append(all, Moment{Step: s.Name, Event: "ended"})
	}
	return append(all, k.around(random, 6, 4*time.Second)...)
}

// moments returns n random moments in a step, in order of time, because a later run does not
// repeat finished work. dnf and kubeadm continue when only airgap is killed, and then their
// step is done. The last moment in their steps is of this kind.
func (s Step) moments(random *rand.Rand, n int) []Moment {
	children := s.Name == "packages" || s.Name == "kubeadm"
	within := s.took / 3 // the next run may be faster, and a kill must come before the end of the step
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

// hittable is the shortest duration of a step with a random moment.
const hittable = 150 * time.Millisecond

// around returns n random moments within a time after the command's start.
func (k *Killing) around(random *rand.Rand, n int, within time.Duration) []Moment {
	var all []Moment
	for range n {
		all = append(all, Moment{After: time.Duration(random.Int64N(int64(within))), random: true})
	}
	return all
}

// Run runs the command once for each moment, and kills it then.
func (k *Killing) Run(ctx context.Context, moments []Moment) error {
	k.In = map[string]int{}
	for i, at := range moments {
		if k.Done && at.Step != "" {
			continue // no steps are left, so no journal entry will come
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

// priority is the difference in niceness between the killing script and the command. On a
// machine with other scenarios, 15 of 33 kills came too late without it.
const priority = "11"

// kill kills the command at one moment. It returns an error when the command fails before.
func (k *Killing) kill(ctx context.Context, at Moment) (string, error) {
	entry, past, children := "", "", ""
	if at.Children {
		children = "too"
	}
	if at.Step != "" {
		entry, past = EntryPattern(at.Step, at.Event), k.later(at.Step)
	}
	r, err := k.E.On(ctx, k.M, "", "nice", "-n", "-"+priority, "bash", "-c", killScript, "kill", k.Command, entry, past, fmt.Sprintf("%.3f", at.After.Seconds()), children, priority)
	if err != nil {
		return "", err
	}
	how, output, _ := strings.Cut(r.Stdout, "\n")
	if strings.Contains(output, "waiting for ") {
		k.waited++
	}
	if how == "ended 0" {
		k.Done = true
		return "had succeeded", nil
	}
	if how != "killed" && how != "missed" {
		return "", fmt.Errorf("the command %s before the kill:\n%s", how, output)
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

// later returns a regular expression for journal entries of the steps after one.
func (k *Killing) later(step string) string {
	i := slices.IndexFunc(k.Steps, func(s Step) bool { return s.Name == step })
	var names []string
	for _, s := range k.Steps[i+1:] {
		names = append(names, s.Name)
	}
	if len(names) == 0 {
		return ""
	}
	return `"step":"(` + strings.Join(names, "|") + `)"`
}

// where returns how with the last journal entry.
func (k *Killing) where(ctx context.Context, how string) (string, error) {
	exists, err := k.E.On(ctx, k.M, "", "test", "-e", "/var/lib/airgap/journal.jsonl")
	if err != nil || exists.Code != 0 {
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

// cut cuts the server's power at one moment and starts it again. The journal must still have
// all entries from before.
func (k *Killing) cut(ctx context.Context, at Moment) (string, error) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = k.E.On(ctx, k.M, "", strings.Fields(k.Command)...) // it fails when the power is cut
	}()
	const wait = `had=$(grep -c . /var/lib/airgap/journal.jsonl); until tail -n +$((had+1)) /var/lib/airgap/journal.jsonl | grep -q "$0"; do sleep 0.02; done`
	if err := k.E.Script(ctx, k.M, "timeout 120 bash -c '"+wait+"' '"+EntryPattern(at.Step, at.Event)+"'"); err != nil {
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
		return "", fmt.Errorf("after the power cut the journal has %d entries, want the %d from before: %w", len(after), len(before), err)
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

func (k *Killing) report(command string) {
	fmt.Fprintf(k.E.Log, "%s: %d kills at random moments, %d directly after steps, %d too late; %d runs waited for children; kills by step: %v\n",
		command, k.random, k.exact, k.Missed, k.waited, k.In)
}

// EntryPattern returns the text with which a journal entry begins after its time.
func EntryPattern(step, event string) string {
	return fmt.Sprintf(`"step":"%s","event":"%s"`, step, event)
}
