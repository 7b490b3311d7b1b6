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
	if advice.Add(nil, "anything") != nil || advice.Of(cause) != "" || advice.Of(nil) != "" {
		t.Error("advice about nothing")
	}
}
