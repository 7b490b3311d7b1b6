package validity

import (
	"crypto/x509"
	"testing"
	"time"
)

func TestTrouble(t *testing.T) {
	const day = 24 * time.Hour
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		begins, ends time.Time
		left         time.Duration
		want         string
	}{
		"good":                        {now.Add(-day), now.Add(40 * day), 40 * day, ""},
		"it ends soon":                {now.Add(-day), now.Add(10*day + time.Hour), 10*day + time.Hour, "ends in 10 days, 2026-03-11T13:00:00Z"},
		"it has ended":                {now.Add(-9 * day), now, 0, "ended 2026-03-01T12:00:00Z"},
		"made by a clock ahead":       {now.Add(time.Second), now.Add(400 * day), 0, "is valid only from 2026-03-01T12:00:01Z: the clock was ahead when it was made, or is behind now"},
		"its beginning is not known":  {time.Time{}, now.Add(40 * day), 40 * day, ""},
		"it begins at this very time": {now, now.Add(40 * day), 40 * day, ""},
	} {
		s := Of(&x509.Certificate{NotBefore: test.begins, NotAfter: test.ends})
		if got := s.Trouble(now, 30*day); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if got := s.Left(now); got != test.left {
			t.Errorf("%s: %v left, want %v", name, got, test.left)
		}
	}
}
