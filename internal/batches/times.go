package batches

import (
	"fmt"
	"time"
)

// Times are the times of the batches of a run so far.
type Times struct {
	longest, total time.Duration
	batches        int
}

// Add adds the time of a batch.
func (t *Times) Add(took time.Duration) {
	t.longest, t.total, t.batches = max(t.longest, took), t.total+took, t.batches+1
}

// Next is the expected time of the next batch: the longest so far. It is 0 before the first.
func (t *Times) Next() time.Duration { return t.longest }

// Left is the expected time of so many batches: the mean of those so far.
func (t *Times) Left(batches int) time.Duration {
	if t.batches == 0 {
		return 0
	}
	return t.total / time.Duration(t.batches) * time.Duration(batches)
}

// About writes an expected time: "2 h 10 min", "40 min", "1 min".
func About(d time.Duration) string {
	minutes := int((d + time.Minute - 1) / time.Minute)
	switch hours := minutes / 60; {
	case hours == 0:
		return fmt.Sprintf("%d min", minutes)
	case minutes%60 == 0:
		return fmt.Sprintf("%d h", hours)
	default:
		return fmt.Sprintf("%d h %d min", hours, minutes%60)
	}
}

// Until returns the next moment with this local time, HH:MM.
func Until(clock string, now time.Time) (time.Time, error) {
	at, err := time.Parse("15:04", clock)
	if err != nil || len(clock) != len("15:04") {
		return time.Time{}, fmt.Errorf("want a local time of 24 hours such as 04:00")
	}
	end := time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), 0, 0, now.Location())
	if !end.After(now) {
		end = time.Date(now.Year(), now.Month(), now.Day()+1, at.Hour(), at.Minute(), 0, 0, now.Location())
	}
	return end, nil
}
