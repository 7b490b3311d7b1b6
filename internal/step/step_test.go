package step_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"airgap.dev/airgap/internal/step"
)

// flag is a step whose postcondition is one boolean.
func flag(name string, holds *bool) step.Step {
	return step.Step{
		Name: name,
		Done: func(context.Context) (bool, error) { return *holds, nil },
		Run:  func(context.Context) error { *holds = true; return nil },
	}
}

func quiet(step.Event) {}

func TestSecondRunChangesNothing(t *testing.T) {
	journal := step.OpenJournal(filepath.Join(t.TempDir(), "sub", "journal.jsonl"))
	var a, b bool
	steps := []step.Step{flag("a", &a), flag("b", &b)}
	for run, want := range []step.Result{{Changed: 2}, {Unchanged: 2}} {
		got, err := step.Run(t.Context(), journal, steps, quiet)
		if err != nil || got != want {
			t.Errorf("run %d: %+v, %v; want %+v", run, got, err, want)
		}
	}
	entries, err := journal.Entries()
	if err != nil || len(entries) != 4 {
		t.Fatalf("journal has %d entries (%v), want began and ended for two steps", len(entries), err)
	}
	b = false // something undid it behind our back: the postcondition decides
	if got, err := step.Run(t.Context(), journal, steps, quiet); err != nil || got.Changed != 1 {
		t.Errorf("after drift: %+v, %v; want 1 changed", got, err)
	}
}

// TestTemporaryFailure: the check and the change are repeated after a temporary failure, within the limit. Another
// failure, or one after a long time, ends the run at once.
func TestTemporaryFailure(t *testing.T) {
	silent, refused := errors.New("no answer"), errors.New("refused")
	for name, c := range map[string]struct {
		fails   error
		times   int // of failures, each in the check and in the change
		each    time.Duration
		took    time.Duration
		succeed bool
	}{
		"a moment":        {silent, 3, time.Second, 2 * 3 * 3 * time.Second, true},
		"always":          {silent, 1000, 10 * time.Second, 70 * time.Second, false},
		"refused":         {refused, 1, time.Second, time.Second, false},
		"after minutes":   {silent, 1, 2 * time.Minute, 2 * time.Minute, false},
		"without failure": {nil, 0, 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var holds bool
				checks, runs := 0, 0
				fail := func(n *int) error {
					if *n++; *n > c.times {
						return nil
					}
					time.Sleep(c.each)
					return c.fails
				}
				s := step.Step{
					Name: "grant", Done: func(context.Context) (bool, error) { return holds, fail(&checks) },
					Run: func(context.Context) error { holds = true; return fail(&runs) },
				}
				r := step.Runner{
					Journal: step.OpenJournal(filepath.Join(t.TempDir(), "journal.jsonl")), Observe: quiet,
					Again: func(err error) bool { return errors.Is(err, silent) },
				}
				began := time.Now()
				_, err := r.Run(t.Context(), []step.Step{s})
				if took := time.Since(began); (err == nil) != c.succeed || took != c.took {
					t.Errorf("%v after %v, want %v", err, took, c.took)
				}
			})
		})
	}
}

// TestMay: a step that may not begin ends the run with the error as it is, and the journal has no entry of it. A step
// with its result is not asked.
func TestMay(t *testing.T) {
	journal := step.OpenJournal(filepath.Join(t.TempDir(), "journal.jsonl"))
	enough, a, b, c := errors.New("enough"), false, false, false
	steps := []step.Step{flag("a", &a), flag("b", &b), flag("c", &c)}
	asked := 0
	for i := range steps {
		steps[i].May = func(context.Context) error {
			if asked++; asked > 1 {
				return enough
			}
			return nil
		}
	}
	var stopped []string
	observe := func(e step.Event) {
		if e.Outcome == step.Stopped {
			stopped = append(stopped, e.Step.Name)
		}
	}
	got, err := step.Run(t.Context(), journal, steps, observe)
	if !errors.Is(err, enough) || err.Error() != "enough" || got.Changed != 1 || !a || b || strings.Join(stopped, " ") != "b" {
		t.Errorf("%v, %+v, stopped %q", err, got, stopped)
	}
	if entries, err := journal.Entries(); err != nil || len(entries) != 2 {
		t.Errorf("the journal has %d entries: %v", len(entries), err)
	}
	b, c = true, true
	if _, err := step.Run(t.Context(), journal, steps, observe); err != nil || asked != 2 {
		t.Errorf("%v; asked %d times", err, asked)
	}
}

// TestOnce: a step without a trace on the host runs once in its undertaking, also over several runs,
// and again in the next one. It runs again after an interruption, or if Done returns false.
func TestOnce(t *testing.T) {
	path, ran, fails, holds := filepath.Join(t.TempDir(), "j"), 0, true, true
	run := func(of string) error {
		s := step.Step{Name: "compare", Once: of, Run: func(context.Context) error {
			ran++
			if fails {
				return errors.New("killed")
			}
			return nil
		}, Done: func(context.Context) (bool, error) { return holds, nil }}
		_, err := step.Run(t.Context(), step.OpenJournal(path), []step.Step{s}, quiet)
		return err
	}
	if err := run("upgrade 1"); err == nil || ran != 1 {
		t.Fatalf("it ran %d times: %v", ran, err)
	}
	fails = false
	for _, want := range []struct {
		of  string
		ran int
	}{{"upgrade 1", 2}, {"upgrade 1", 2}, {"upgrade 2", 3}, {"upgrade 2", 3}} {
		if err := run(want.of); err != nil || ran != want.ran {
			t.Errorf("%s: it ran %d times, want %d: %v", want.of, ran, want.ran, err)
		}
	}
	if ended, err := step.OpenJournal(path).Ended("compare", "upgrade 3"); ended || err != nil {
		t.Errorf("upgrade 3 has not begun: %v, %v", ended, err)
	}
	holds = false
	if err := run("upgrade 2"); err == nil || ran != 4 {
		t.Errorf("its postcondition no longer holds, and it ran %d times: %v", ran, err)
	}
}

// TestStepWithoutEnd: a step has to say when it is done.
func TestStepWithoutEnd(t *testing.T) {
	s := step.Step{Name: "x", Run: func(context.Context) error { t.Error("it ran"); return nil }}
	if _, err := step.Run(t.Context(), step.OpenJournal(filepath.Join(t.TempDir(), "j")), []step.Step{s}, quiet); err == nil {
		t.Error("it is taken")
	}
}

func TestFailuresNameTheStep(t *testing.T) {
	boom := errors.New("boom")
	holds := func(context.Context) (bool, error) { return true, nil }
	not := func(context.Context) (bool, error) { return false, nil }
	for name, tc := range map[string]struct {
		step step.Step
		want string
	}{
		"run":           {step.Step{Name: "x", Done: not, Run: func(context.Context) error { return boom }}, "step x: boom"},
		"check":         {step.Step{Name: "x", Done: func(context.Context) (bool, error) { return false, boom }}, "step x: check: boom"},
		"postcondition": {step.Step{Name: "x", Done: not, Run: func(context.Context) error { return nil }}, "is not in place"},
	} {
		t.Run(name, func(t *testing.T) {
			journal := step.OpenJournal(filepath.Join(t.TempDir(), "j"))
			later := false
			steps := []step.Step{tc.step, {Name: "later", Done: holds, Run: func(context.Context) error { later = true; return nil }}}
			_, err := step.Run(t.Context(), journal, steps, quiet)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if later {
				t.Error("the step after the failed one ran")
			}
		})
	}
}

// TestSettle: a postcondition that asks a service gets the time in Settle.
func TestSettle(t *testing.T) {
	for settle, holds := range map[time.Duration]bool{0: false, time.Minute / 2: true} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			s := step.Step{
				Name: "x", Settle: settle,
				Done: func(context.Context) (bool, error) { asked++; return asked == 4, nil },
				Run:  func(context.Context) error { return nil },
			}
			_, err := step.Run(t.Context(), step.OpenJournal(filepath.Join(t.TempDir(), "j")), []step.Step{s}, quiet)
			if (err == nil) != holds {
				t.Errorf("settles for %s: %v", settle, err)
			}
		})
	}
}

func TestCancelledRunStartsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var a bool
	_, err := step.Run(ctx, step.OpenJournal(filepath.Join(t.TempDir(), "j")), []step.Step{flag("a", &a)}, quiet)
	if !errors.Is(err, context.Canceled) || a {
		t.Errorf("got %v, ran %v", err, a)
	}
}

// A run that was killed between a step's end and the journal's next line leaves
// a step that holds and yet only began: the next run ends it, once.
func TestWhatHoldsIsEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	if err := os.WriteFile(path, []byte(`{"step":"a","event":"began"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	holds := true
	for range 2 {
		got, err := step.Run(t.Context(), step.OpenJournal(path), []step.Step{flag("a", &holds), flag("b", &holds)}, quiet)
		if err != nil || got.Unchanged != 2 {
			t.Fatalf("%+v, %v", got, err)
		}
		entries, err := step.OpenJournal(path).Entries()
		if err != nil || len(entries) != 2 || entries[1].Step != "a" || entries[1].Event != step.Ended {
			t.Errorf("the journal has %+v, %v", entries, err)
		}
	}
}

func TestJournalSurvivesACutLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	whole := `{"time":"2026-01-01T00:00:00Z","step":"a","event":"began"}` + "\n"
	if err := os.WriteFile(path, []byte(whole+`{"time":"2026-01`), 0o600); err != nil {
		t.Fatal(err)
	}
	var a bool
	if _, err := step.Run(t.Context(), step.OpenJournal(path), []step.Step{flag("a", &a)}, quiet); err != nil {
		t.Fatal(err)
	}
	entries, err := step.OpenJournal(path).Entries()
	if err != nil || len(entries) != 3 {
		t.Errorf("%d entries, %v; want the whole line and the two of the new run", len(entries), err)
	}
}

func TestJournalKeepsLongErrors(t *testing.T) {
	journal := step.OpenJournal(filepath.Join(t.TempDir(), "j"))
	long := errors.New(strings.Repeat("dnf said a lot\n", 10_000))
	bad := step.Step{Name: "a", Done: func(context.Context) (bool, error) { return false, nil }, Run: func(context.Context) error { return long }}
	var b bool
	for _, s := range []step.Step{bad, flag("b", &b)} {
		_, _ = step.Run(t.Context(), journal, []step.Step{s}, quiet) // the entries tell
	}
	entries, err := journal.Entries()
	if err != nil || len(entries) != 4 || entries[1].Error != long.Error() {
		t.Errorf("%d entries, %v; want began and how it ended of two steps", len(entries), err)
	}
}

// TestRunsInTheJournal: the journal has who ran which command, and the plan of each step that ran. A run without changes
// leaves no entry.
func TestRunsInTheJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	var a, b bool
	first, second := flag("a", &a), flag("b", &b)
	first.Title = "Write the file"
	first.Plan = func(context.Context) ([]string, error) { return []string{"write /etc/a (new)"}, nil }
	second.Plan = func(context.Context) ([]string, error) {
		return append(make([]string, 150), strings.Repeat("x", 1000)), errors.New("no answer")
	}
	second.Run = func(context.Context) error { return errors.New("disk full") }
	run := func(steps ...step.Step) {
		j := step.OpenJournal(path).Of(step.Invocation{Command: "airgap install", User: "kim as root"})
		_, err := step.Run(t.Context(), j, steps, quiet)
		if endErr := j.End(err); endErr != nil {
			t.Fatal(endErr)
		}
	}
	run(first)
	run(first)
	run(first, second)
	all, err := step.OpenJournal(path).Runs()
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	for _, e := range all {
		events = append(events, strings.TrimSpace(e.Event+" "+e.Step+" "+e.Error))
	}
	want := "run, began a, ended a, end, run, began b, failed b disk full, end  step b: disk full"
	if got := strings.Join(events, ", "); got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
	if by := all[0].Command; by == nil || by.User != "kim as root" || all[1].Title != "Write the file" || all[1].Changes[0] != "write /etc/a (new)" {
		t.Errorf("%+v, %+v", all[0], all[1])
	}
	if c := all[5].Changes; len(c) != 101 || c[100] != "and 52 more" {
		t.Errorf("%d changes, the last %q", len(c), c[len(c)-1])
	}
	if steps, err := step.OpenJournal(path).Entries(); err != nil || len(steps) != 4 {
		t.Errorf("%d entries of steps, want 4: %v", len(steps), err)
	}
}
