package step_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/step"
)

func names(steps []step.Step) []string {
	var all []string
	for _, s := range steps {
		all = append(all, s.Name)
	}
	return all
}

// TestUndo runs three of four steps, the third to a failure, and takes them
// back with a failure on the way.
func TestUndo(t *testing.T) {
	journal := step.OpenJournal(filepath.Join(t.TempDir(), "j"))
	var holds [4]bool
	var undone []string
	stuck := errors.New("busy")
	steps := []step.Step{flag("a", &holds[0]), flag("b", &holds[1]), flag("c", &holds[2]), flag("never", &holds[3])}
	for i := range steps {
		steps[i].Undo = func(context.Context) error { undone = append(undone, steps[i].Name); return nil }
	}
	steps[2].Run = func(context.Context) error { return errors.New("half-way") }
	if _, err := step.Run(t.Context(), journal, steps, quiet); err == nil {
		t.Fatal("step c did not fail")
	}
	standing, err := journal.Undoable(steps)
	if err != nil || !slices.Equal(names(standing), []string{"a", "b", "c"}) {
		t.Fatalf("standing: %v, %v", names(standing), err)
	}

	back := standing[1].Undo
	standing[1].Undo = func(context.Context) error { return stuck }
	err = step.Undo(t.Context(), journal, standing, quiet)
	if !errors.Is(err, stuck) || !strings.Contains(err.Error(), "undo b: ") || !slices.Equal(undone, []string{"c"}) {
		t.Errorf("got %v after %v; steps before b must stay", err, undone)
	}
	standing[1].Undo = back
	if standing, err = journal.Undoable(steps); err != nil || !slices.Equal(names(standing), []string{"a", "b"}) {
		t.Fatalf("standing after the failure: %v, %v", names(standing), err)
	}
	if err := step.Undo(t.Context(), journal, standing, quiet); err != nil || !slices.Equal(undone, []string{"c", "b", "a"}) {
		t.Errorf("got %v after %v", err, undone)
	}
	if standing, err = journal.Undoable(steps); err != nil || len(standing) > 0 {
		t.Errorf("still standing: %v, %v", names(standing), err)
	}
	// Run again, it stands again.
	holds[0] = false
	if _, err := step.Run(t.Context(), journal, steps[:1], quiet); err != nil {
		t.Fatal(err)
	}
	if standing, _ = journal.Undoable(steps); !slices.Equal(names(standing), []string{"a"}) {
		t.Errorf("standing after another run: %v", names(standing))
	}
}

func TestCancelledUndoTouchesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := step.Step{Name: "a", Undo: func(context.Context) error { t.Error("it was undone"); return nil }}
	if err := step.Undo(ctx, step.OpenJournal(filepath.Join(t.TempDir(), "j")), []step.Step{s}, quiet); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
