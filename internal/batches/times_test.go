package batches_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"airgap.dev/airgap/internal/batches"
)

// TestTimes: whether a batch ends in time is judged by the longest one, and the whole rest by the mean.
func TestTimes(t *testing.T) {
	var times batches.Times
	assert.Zero(t, times.Next())
	assert.Zero(t, times.Left(10))
	times.Add(4 * time.Minute)
	times.Add(8 * time.Minute)
	assert.Equal(t, 8*time.Minute, times.Next())
	assert.Equal(t, time.Hour, times.Left(10))
}

func TestAbout(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 min", time.Second: "1 min", time.Minute: "1 min", 61 * time.Second: "2 min", 40 * time.Minute: "40 min",
		time.Hour: "1 h", 2*time.Hour + 9*time.Minute + time.Second: "2 h 10 min",
	} {
		assert.Equal(t, want, batches.About(d), d)
	}
}

func TestUntil(t *testing.T) {
	seoul := time.FixedZone("KST", 9*3600)
	now := time.Date(2026, 11, 30, 22, 15, 30, 0, seoul)
	for clock, want := range map[string]time.Time{
		"04:00": time.Date(2026, 12, 1, 4, 0, 0, 0, seoul),
		"22:16": time.Date(2026, 11, 30, 22, 16, 0, 0, seoul),
		"22:15": time.Date(2026, 12, 1, 22, 15, 0, 0, seoul),
		"23:59": time.Date(2026, 11, 30, 23, 59, 0, 0, seoul),
		"00:00": time.Date(2026, 12, 1, 0, 0, 0, 0, seoul),
	} {
		got, err := batches.Until(clock, now)
		assert.NoError(t, err)
		assert.True(t, got.Equal(want), "%s: %s", clock, got)
	}
	for _, clock := range []string{"", "4", "4:00", "04:00:00", "24:00", "04:60", "4 am", "04.00", "tomorrow", "2026-12-01T04:00"} {
		_, err := batches.Until(clock, now)
		assert.Error(t, err, clock)
	}
}
