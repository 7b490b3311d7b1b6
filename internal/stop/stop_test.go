package stop_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"airgap.dev/airgap/internal/stop"
)

// TestAsk: the first request is kept for the work in hand. Without work, and the second time, the command ends at once.
func TestAsk(t *testing.T) {
	ctx, signal := stop.With(t.Context())
	assert.False(t, signal.Ask(), "no work")
	assert.False(t, stop.IsAsked(ctx))

	first, second := stop.Finish(ctx), stop.Finish(ctx)
	first()
	first() // once
	derived, cancel := context.WithCancel(ctx)
	defer cancel()
	assert.True(t, signal.Ask())
	assert.True(t, stop.IsAsked(derived))
	<-stop.Asked(derived)
	assert.False(t, signal.Ask(), "the second time")

	second()
	assert.False(t, signal.Ask(), "after the work")
}

// TestNobodyAsks: a context without a signal, as in a service, has no request.
func TestNobodyAsks(t *testing.T) {
	stop.Finish(t.Context())()
	assert.False(t, stop.IsAsked(t.Context()))
	assert.Nil(t, stop.Asked(t.Context()))
}
