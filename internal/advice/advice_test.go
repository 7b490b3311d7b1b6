package advice_test

import (
	"errors"
	"fmt"
	"testing"

	"airgap.dev/airgap/internal/advice"
)

func TestAdvice(t *testing.T) {
	cause := errors.New("no route")
	err := fmt.Errorf("ask etcd: %w", advice.Add(cause, "open port %d", 2379))
	if err.Error() != "ask etcd: no route" || !errors.Is(err, cause) || advice.Of(err) != "open port 2379" {
		t.Errorf("%v, advice %q", err, advice.Of(err))
	}
	if advice.Add(nil, "anything") != nil || advice.Replace(nil, "anything") != nil || advice.Of(cause) != "" || advice.Of(nil) != "" {
		t.Error("advice about nothing")
	}
}

// TestNearestAdvice: the code nearest to the fault gives the next step, unless a caller replaces it.
func TestNearestAdvice(t *testing.T) {
	near := advice.Add(errors.New("no route"), "open the port")
	far := advice.Add(fmt.Errorf("step etcd: %w", near), "run it again")
	if got := advice.Of(far); got != "open the port" {
		t.Errorf("added twice: %q", got)
	}
	if got := advice.Of(advice.Replace(far, "%s. Run it again", advice.Of(far))); got != "open the port. Run it again" {
		t.Errorf("replaced: %q", got)
	}
	if got := advice.Of(advice.Add(silent{near}, "run it again")); got != "open the port" {
		t.Errorf("around an error without advice: %q", got)
	}
	if got := advice.Of(advice.Add(silent{errors.New("no route")}, "run it again")); got != "run it again" {
		t.Errorf("none further in: %q", got)
	}
}

// silent can give advice and has none.
type silent struct{ error }

func (s silent) Unwrap() error { return s.error }
func (s silent) Hint() string  { return "" }
