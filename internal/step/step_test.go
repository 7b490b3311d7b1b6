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
